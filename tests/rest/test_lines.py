"""Splitting chunks into lines."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dynkube.errors import InvalidInput, ProtocolError
from dynkube.rest._lines import LineSplitter


@given(st.lists(st.binary(max_size=12).map(lambda part: part.replace(b"x", b"\n"))))
def test_lines_are_the_same_wherever_the_bytes_are_split(parts: list[bytes]) -> None:
    splitter = LineSplitter(1000)

    lines = [line for part in parts for line in splitter.feed(part)]

    assert [*lines, splitter.finish()] == b"".join(parts).split(b"\n")


@pytest.mark.scenario("F19")
@given(st.lists(st.sampled_from([b"", b"ab", b"\n", b"abcde\nab", b"abcdef", b"ab\nabc\n"])))
@example([b"abcd", b"ef\n\n"])  # the first line is too long, but neither the last one nor any chunk
def test_a_line_raises_if_and_only_if_it_is_over_the_limit(parts: list[bytes]) -> None:
    splitter = LineSplitter(max_line=5)
    too_long = any(len(line) > 5 for line in b"".join(parts).split(b"\n"))

    with pytest.raises(ProtocolError, match="max_line") if too_long else nullcontext():
        for part in parts:
            splitter.feed(part)


def test_an_unterminated_line_is_returned_once_by_finish() -> None:
    splitter = LineSplitter(1000)

    assert splitter.feed(b'{"a":1}\n{"b"') == [b'{"a":1}']
    assert splitter.finish() == b'{"b"'
    assert splitter.finish() == b""


def test_empty_lines_and_carriage_returns_are_kept() -> None:
    assert LineSplitter(1000).feed(b"a\r\n\nb\n") == [b"a\r", b"", b"b"]


def test_a_limit_of_zero_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="max_line"):
        LineSplitter(max_line=0)
