"""Bodies that arrive in many small pieces are read in few large ones; single pieces are not delayed."""

from __future__ import annotations

import ssl
from collections.abc import Iterable

import httpcore2
import pytest
import trio
import trustme

from dynkube.config import ClientConfig, TLSSettings
from dynkube.rest._bursts import PAUSE, Burst
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request
from dynkube.rest._tap import TappedStream
from tests.rest.sockets import respond_with, serving

PIECE = 4096
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Arrivals(httpcore2.AsyncNetworkStream):
    """Pieces that arrive at given times; a read waits for the next one and returns all that have arrived."""

    def __init__(self, times: Iterable[float]) -> None:
        self._times = list(times)
        self._begin = trio.current_time()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if not self._times:
            return b""
        await trio.sleep_until(self._begin + self._times[0])
        elapsed = trio.current_time() - self._begin + 1e-9
        arrived = sum(time <= elapsed for time in self._times[: max_bytes // PIECE])
        del self._times[:arrived]
        return b"x" * PIECE * arrived

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        pass

    def get_extra_info(self, info: str) -> object:
        return None


def one_by_one(times: Iterable[float]) -> object:
    """Return what :func:`reads` returns if each piece is read when it arrives."""
    return [(pytest.approx(time), 1) for time in times]


async def reads(times: Iterable[float]) -> list[tuple[float, int]]:
    """Return the time of each read of a body, and how many pieces it returned."""
    tap, begin = TappedStream(Arrivals(times), max_head=0), trio.current_time()
    found = []
    while data := await tap.read_body():
        found.append((trio.current_time() - begin, len(data) // PIECE))
    return found


async def test_many_small_pieces_are_read_together() -> None:
    found = await reads(number * 0.0001 for number in range(10_000))

    assert sum(pieces for _, pieces in found) == 10_000
    assert len(found) < 600


async def test_the_last_piece_of_a_burst_is_delayed_by_one_pause_at_most() -> None:
    times = [number * 0.0001 for number in range(1_000)]

    assert (await reads(times))[-1][0] <= times[-1] + PAUSE


@pytest.mark.parametrize("interval", [0.001, 0.1, 60])
async def test_pieces_that_arrive_one_by_one_are_not_delayed(interval: float) -> None:
    times = [number * interval for number in range(100)]

    assert await reads(times) == one_by_one(times)


async def test_the_first_pieces_of_a_burst_are_not_delayed() -> None:
    assert await reads([0.0] * 60) == [(0.0, 60)]
    times = [number * 0.0001 for number in range(8)]
    assert await reads(times) == one_by_one(times)


async def test_a_burst_ends_when_a_read_has_to_wait() -> None:
    burst = [number * 0.0001 for number in range(100)]
    later = [1 + number * 0.01 for number in range(10)]

    found = await reads([*burst, *later])

    assert found[-10:] == one_by_one(later)


async def test_the_next_response_is_read_without_a_pause() -> None:
    tap = TappedStream(Arrivals(number * 0.0001 for number in range(100)), max_head=0)
    while await tap.read_body():
        pass
    begin = trio.current_time()
    await tap.write(b"GET / HTTP/1.1")
    await tap.read_body()

    assert trio.current_time() == begin


@pytest.mark.real_time
async def test_several_tls_records_are_read_together() -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    tls = TLSSettings(ca_data=authority.cert_pem.bytes())
    body = b"%x\r\n%s\r\n" % (1 << 20, b"x" * (1 << 20)) + b"0\r\n\r\n"
    async with (
        serving(respond_with(HEAD + body), tls=context) as server,
        RESTClient(ClientConfig(server=server.url("https"), tls=tls)) as client,
        client.stream(Request(method="GET", path="/"), watch=False) as stream,
    ):
        sizes = [len(chunk) async for chunk in stream]

    assert sum(sizes) == 1 << 20
    assert max(sizes) > 16 << 10, "the size of the largest TLS record"


def test_the_first_32_kb_of_each_burst_are_read_without_a_pause() -> None:
    burst = Burst()

    for _ in range(2):
        assert burst.pause_after(PIECE, waited=1.0) == 0  # the piece that begins it
        pauses = [burst.pause_after(PIECE, waited=0.0) for _ in range(9)]
        assert pauses == [0.0] * 8 + [PAUSE]
        assert burst.pause_after(1, waited=1.0) == 0
        assert burst.pause_after((32 << 10) + 1, waited=0.0) == PAUSE
