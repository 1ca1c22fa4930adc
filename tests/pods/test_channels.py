"""The channels of messages, wherever these are split, and the Status at the end of a command."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import Status
from dynkube.pods._channels import Demultiplexer, exit_code_of, framed
from dynkube.rest._websocket import Piece

MESSAGES = st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=20)), max_size=8)


def pieces(message: bytes, cuts: list[int]) -> list[Piece]:
    """Return a message in parts, of which some may be empty."""
    ends = [*sorted(cut % (len(message) + 1) for cut in cuts), len(message)]
    starts = [0, *ends[:-1]]
    last = len(ends) - 1
    return [
        Piece(message[start:end], number == 0, number == last)
        for number, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]


@given(MESSAGES, st.lists(st.integers(0, 1000), max_size=4))
def test_data_is_that_of_its_channel(messages: list[tuple[int, bytes]], cuts: list[int]) -> None:
    demultiplexer = Demultiplexer()
    received = b""
    for channel, data in messages:
        for piece in pieces(framed(channel, data), cuts):
            found, part = demultiplexer.feed(piece)
            assert found == channel or (found, part) == (-1, b"")
            received += part

    assert received == b"".join(data for _, data in messages)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ({"status": "Success"}, 0),
        (
            {
                "status": "Failure",
                "reason": "NonZeroExitCode",
                "details": {"causes": [{"reason": "ExitCode", "message": "137"}]},
            },
            137,
        ),
    ],
)
def test_exit_codes(status: object, code: int) -> None:
    assert exit_code_of(json.dumps(status).encode()) == code


@pytest.mark.parametrize(
    "status",
    [
        b"",
        b"[]",
        b"plain text",
        b"\xff",
        b'{"status": "Failure", "reason": "NonZeroExitCode"}',
        b'{"reason": "NonZeroExitCode", "details": {"causes": [{"reason": "ExitCode", "message": "x"}]}}',
        b'{"status": "Failure", "reason": "InternalError", "message": "no runtime"}',
    ],
)
def test_what_has_no_exit_code_is_a_status(status: bytes) -> None:
    assert isinstance(exit_code_of(status), Status)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_status_or_a_code(status: bytes) -> None:
    assert isinstance(exit_code_of(status), int | Status)
