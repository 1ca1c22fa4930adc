"""Lines out of chunks."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dynkube.errors import InvalidInput, ProtocolError
from dynkube.rest._lines import LineSplitter


@given(st.lists(st.binary(max_size=12).map(lambda part: part.replace(b"x", b"\n"))))
def test_however_a_text_is_cut_its_lines_are_the_same(parts: list[bytes]) -> None:
    splitter = LineSplitter(1000)

    lines = [line for part in parts for line in splitter.feed(part)]

    assert [*lines, splitter.finish()] == b"".join(parts).split(b"\n")


@pytest.mark.scenario("F19")
@given(st.lists(st.sampled_from([b"", b"ab", b"\n", b"abcde\nab", b"abcdef", b"ab\nabc\n"])))
@example([b"abcd", b"ef\n\n"])  # the first line is too long, and neither the last one nor the chunk
def test_a_line_raises_if_and_only_if_it_is_over_the_bound(parts: list[bytes]) -> None:
    splitter = LineSplitter(max_line=5)
    too_long = any(len(line) > 5 for line in b"".join(parts).split(b"\n"))

    with pytest.raises(ProtocolError, match="max_line") if too_long else nullcontext():
        for part in parts:
            splitter.feed(part)


def test_a_line_without_an_end_is_given_at_the_finish_and_only_once() -> None:
    splitter = LineSplitter(1000)

    assert splitter.feed(b'{"a":1}\n{"b"') == [b'{"a":1}']
    assert splitter.finish() == b'{"b"'
    assert splitter.finish() == b""


def test_empty_lines_and_carriage_returns_are_kept() -> None:
    assert LineSplitter(1000).feed(b"a\r\n\nb\n") == [b"a\r", b"", b"b"]


def test_a_bound_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidInput, match="max_line"):
        LineSplitter(max_line=0)
