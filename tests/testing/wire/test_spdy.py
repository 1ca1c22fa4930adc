"""SPDY: malformed input ends a connection, and nothing that a client sends is unbounded."""

from __future__ import annotations

import struct
import zlib
from collections.abc import AsyncIterator

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from dynkube_testing._containers.pipes import open_stream_pair
from dynkube_testing._wire import spdy
from dynkube_testing._wire.spdy import SpdyConnection, SpdyError, SpdyStream


class Client:
    """The client's side of a connection, and the streams that the server has accepted."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.transport, server = open_stream_pair()
        self.streams: list[SpdyStream] = []
        self.error: SpdyError | None = None
        self.ended = trio.Event()
        self._deflate = zlib.compressobj(zdict=spdy._DICTIONARY)
        nursery.start_soon(self._serve, SpdyConnection(server))

    async def _serve(self, connection: SpdyConnection) -> None:
        try:
            await connection.run(self._accept)
        except SpdyError as error:
            self.error = error
        self.ended.set()

    def _accept(self, stream: SpdyStream) -> bool:
        self.streams.append(stream)
        return True

    def headers(self, **headers: str) -> bytes:
        """Return a compressed block of headers."""
        texts = [text.encode() for pair in headers.items() for text in pair]
        block = struct.pack("!I", len(headers)) + b"".join(struct.pack("!I", len(text)) + text for text in texts)
        return self._deflate.compress(block) + self._deflate.flush(zlib.Z_SYNC_FLUSH)

    async def control(self, kind: int, payload: bytes, flags: int = 0) -> None:
        """Send a control frame."""
        await self.transport.send_all(struct.pack("!HHI", 0x8003, kind, flags << 24 | len(payload)) + payload)

    async def open(self, number: int, **headers: str) -> None:
        """Open a stream."""
        await self.control(1, struct.pack("!IIH", number, 0, 0) + self.headers(**headers))

    async def data(self, number: int, data: bytes, flags: int = 0) -> None:
        """Send data of a stream."""
        await self.transport.send_all(struct.pack("!II", number, flags << 24 | len(data)) + data)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with trio.open_nursery() as nursery:
        yield Client(nursery)
        nursery.cancel_scope.cancel()


async def test_streams_have_headers_and_data_until_the_client_ends_them(client: Client) -> None:
    await client.open(1, streamType="data", port="80")
    await client.data(1, b"hello")
    await client.data(1, b"", flags=1)
    await client.transport.receive_some()

    stream = client.streams[0]

    assert stream.headers == {"streamtype": "data", "port": "80"}
    assert b"".join([data async for data in stream.received]) == b"hello"


async def test_a_ping_is_sent_back(client: Client) -> None:
    await client.control(6, struct.pack("!I", 7))

    assert await client.transport.receive_some() == struct.pack("!HHII", 0x8003, 6, 4, 7)


async def test_streams_end_when_the_client_disconnects(client: Client) -> None:
    await client.open(1)
    await client.transport.receive_some()
    await client.transport.aclose()
    await client.ended.wait()

    assert await client.streams[0].received.receive_some() == b""
    assert client.error is None


async def test_a_frame_may_come_in_pieces(client: Client) -> None:
    frame = struct.pack("!HHII", 0x8003, 6, 4, 7)
    for byte in frame:
        await client.transport.send_all(bytes([byte]))

    assert await client.transport.receive_some() == frame


async def test_too_many_streams_are_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spdy, "_MAX_STREAMS", 1)
    await client.open(1)
    await client.transport.receive_some()
    await client.open(3)

    assert await client.transport.receive_some() == struct.pack("!HHIII", 0x8003, 3, 8, 3, 3)


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (struct.pack("!HHI", 0x8003, 1, 2 << 20), "a frame of 2097152 bytes"),
        (struct.pack("!HHI", 0x8002, 1, 0), "a control frame of version 2"),
        (struct.pack("!HHI", 0x8003, 1, 14) + bytes(10) + b"junk", "malformed headers"),
    ],
)
async def test_malformed_input_ends_the_connection(client: Client, sent: bytes, message: str) -> None:
    await client.transport.send_all(sent)
    await client.ended.wait()

    assert message in str(client.error)


async def test_headers_that_expand_to_much_end_the_connection(client: Client) -> None:
    await client.open(1, port="0" * 1_000_000)
    await client.ended.wait()

    assert str(client.error) == "headers of more than 65536 bytes"


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_any_bytes_are_frames_or_an_error(data: bytes, block: bytes) -> None:
    parser = spdy._Parser()
    try:
        for frame in parser.feed(data):
            assert len(frame.payload) <= len(data)
        parser.headers(block)
    except SpdyError:
        pass
