"""Our decoder of the chunked transfer coding, tested with bodies that h11 has written."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.rest._chunked import ChunkDecoder


def chunked(parts: list[bytes]) -> bytes:
    """Return a body as h11 writes it, without its head."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    while connection.next_event() is not h11.PAUSED:
        if connection.their_state is h11.DONE:
            break
    connection.send(h11.Response(status_code=200, headers=[("Transfer-Encoding", "chunked")]))
    body = b"".join(connection.send(h11.Data(data=part)) or b"" for part in parts)
    return body + (connection.send(h11.EndOfMessage()) or b"")


@given(st.lists(st.binary(max_size=40)), st.lists(st.integers(1, 30)))
def test_the_payload_is_decoded_wherever_the_bytes_are_split(parts: list[bytes], cuts: list[int]) -> None:
    wire = chunked(parts)
    decoder = ChunkDecoder()
    payload = b""

    while decoder.rest is None:
        size = cuts.pop() if cuts else len(wire)
        payload += decoder.feed(wire[:size])
        wire = wire[size:]

    assert payload == b"".join(parts)
    assert decoder.rest + wire == b"0\r\n\r\n"


def test_extensions_of_a_chunk_are_ignored() -> None:
    decoder = ChunkDecoder()

    assert decoder.feed(b'5;name="value" \r\nhello\r\nA \r\n0123456789') == b"hello0123456789"


def test_a_split_size_line_may_have_4096_bytes() -> None:
    decoder = ChunkDecoder()

    assert decoder.feed(b"5;" + b"x" * 4094) == b""
    assert decoder.feed(b"\r\nhello") == b"hello"
    assert decoder.fault == ""


def test_bytes_after_the_last_chunk_are_not_consumed() -> None:
    decoder = ChunkDecoder()

    assert decoder.feed(b"1\r\na\r\n0\r\nTrailer: x\r\n\r\n") == b"a"
    assert decoder.rest == b"0\r\nTrailer: x\r\n\r\n"


@pytest.mark.parametrize(
    "wire",
    [
        b"xyz\r\n",
        b"-1\r\na",
        b"0x5\r\nhello",
        b"\r\n5\r\nhello",
        b"5\nhello",
        b"2\r\nabc\r\n",
        b"2\r\nab5\r\nhello",
        b"2\r\nab\r\n\n",
        b"1" * 5000,
        b"1" * 16 + b"\r\n",
        b"5;" + b"x" * 4095,
    ],
)
def test_an_invalid_chunk_size_is_a_fault(wire: bytes) -> None:
    decoder = ChunkDecoder()

    decoder.feed(wire)

    assert "is not a valid chunk size" in decoder.fault


def test_data_before_a_fault_is_returned() -> None:
    decoder = ChunkDecoder()

    assert decoder.feed(b"5\r\nhello\r\nnonsense\r\n") == b"hello"
    assert "nonsense" in decoder.fault
