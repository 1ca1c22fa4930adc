"""Splitting of a log into lines with timestamps."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.pods._logs.lines import LineReader, LogLine, rfc3339

NOON = 1_795_521_600_000_000_000
STAMP = b"2026-11-24T12:00:00.000000001Z "


def read(*chunks: bytes, max_line: int = 1 << 20) -> list[tuple[int | None, bytes, bool]]:
    reader = LineReader(max_line)
    return [line for chunk in chunks for line in reader.feed(chunk)] + reader.finish()


@given(st.lists(st.binary(max_size=60).filter(lambda text: b"\n" not in text)), st.randoms(use_true_random=False))
def test_chunks_may_end_anywhere(lines, random) -> None:  # type: ignore[no-untyped-def]
    data, chunks = b"".join(STAMP + line + b"\n" for line in lines), []
    while data:
        size = random.randint(1, 40)
        chunks.append(data[:size])
        data = data[size:]

    assert read(*chunks) == [(NOON + 1, line, False) for line in lines]


@pytest.mark.parametrize(
    ("stamp", "nanoseconds"),
    [
        ("2026-11-24T12:00:00Z", NOON),
        ("2026-11-24T12:00:00.5Z", NOON + 500_000_000),
        ("2026-11-24T14:00:00.123456789+02:00", NOON + 123_456_789),
        ("2026-11-24T07:30:00.000000007-04:30", NOON + 7),
    ],
)
def test_timestamps_have_nanoseconds_and_any_zone(stamp: str, nanoseconds: int) -> None:
    assert read(f"{stamp} text\n".encode()) == [(nanoseconds, b"text", False)]
    assert rfc3339(nanoseconds).startswith("2026-11-24T12:00:00.")


@pytest.mark.parametrize(
    "line",
    [
        b"rpc error: no such container",
        b"2026-13-24T12:00:00Z x",
        b"0001-01-01T00:00:00+14:00 x",
        b"0001-01-01T00:00:00Z x",
        b"9999-12-31T23:59:59-23:59 x",
        b" 1",
        b"",
    ],
)
def test_a_line_without_a_timestamp_has_that_of_the_line_before(line: bytes) -> None:
    assert read(STAMP + b"one\n" + line + b"\n") == [(NOON + 1, b"one", False), (NOON + 1, line, False)]
    assert read(line + b"\n") == [(None, line, False)]


def test_a_last_line_needs_no_newline() -> None:
    assert read(STAMP + b"one\n" + STAMP + b"tw") == [(NOON + 1, b"one", False), (NOON + 1, b"tw", False)]


@given(st.integers(1, 400), st.integers(1, 50))
def test_a_long_line_is_split_with_a_mark(size: int, chunk: int) -> None:
    data = STAMP + bytes(97 + place % 26 for place in range(size)) + b"\n" + STAMP + b"next\n"
    chunks = [data[place : place + chunk] for place in range(0, len(data), chunk)]

    *parts, last = read(*chunks, max_line=100)

    assert b"".join(part for _, part, _ in parts) == data[31 : 31 + size]
    assert [continues for _, _, continues in parts] == [True] * (len(parts) - 1) + [False]
    assert all(len(part) <= 100 and time == NOON + 1 for time, part, _ in parts)
    assert last == (NOON + 1, b"next", False)


def test_what_is_no_utf8_is_replaced_in_the_text_only() -> None:
    line = LogLine(raw=b"caf\xe9", pod="web", namespace="shop", container="app", timestamp_ns=NOON + 1500)

    assert (str(line), line.raw) == ("caf\N{REPLACEMENT CHARACTER}", b"caf\xe9")
    assert line.timestamp == datetime(2026, 11, 24, 12, 0, 0, 1, tzinfo=UTC)
