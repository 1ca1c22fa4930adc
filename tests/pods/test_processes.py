"""Commands with streams to and from them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio

import dynkube
from dynkube.errors import ClosedError, ConnectionLost, InvalidInput
from dynkube_testing import APIServer, ContainerSession
from tests.pods.kit import upper
from tests.rest.websockets import InMemory, Peer


async def test_streams_are_connected_while_the_command_runs(server: APIServer, web: dynkube.Pod) -> None:
    server.containers.on_exec(upper)

    async with web.open_exec(["tr", "a-z"], stdin=True) as process:
        assert process.stdin is not None
        await process.stdin.send_all(b"one")
        assert (await process.stdout.receive_some(2), await process.stdout.receive_some()) == (b"ON", b"E")
        await process.stdin.send_all(b"two")
        assert await process.stdout.receive_some() == b"TWO"
        assert process.exit_code is None
        await process.stdin.aclose()

        assert await process.wait() == process.exit_code == 3
        assert (await process.stdout.receive_some(), await process.stderr.receive_some()) == (b"", b"tr a-z")


@pytest.mark.parametrize("wrong", [0, -1, 2.0, True, "3"])
async def test_at_least_one_byte_is_received(server: APIServer, web: dynkube.Pod, wrong: int) -> None:
    server.containers.on_exec(upper)
    async with web.open_exec(["tr"], stdin=True) as process:
        with pytest.raises(InvalidInput, match=f"max_bytes must be an integer >= 1, or None, not {wrong!r}"):
            await process.stdout.receive_some(wrong)


async def test_a_terminal_is_resized(server: APIServer, web: dynkube.Pod) -> None:
    async def size(session: ContainerSession) -> str:
        assert session.tty
        return f"{await session.next_size()} {await session.next_size()}"

    server.containers.on_exec(size)
    async with web.open_exec(["sh"], stdin=True, tty=True) as process:
        await process.resize(80, 24)
        await process.resize(columns=120, rows=40)

        assert await process.stdout.receive_some() == b"(80, 24) (120, 40)"
        with pytest.raises(InvalidInput, match="rows must be an int between 1 and 65535, not 0"):
            await process.resize(80, 0)


async def test_without_a_terminal_there_is_no_size(server: APIServer, web: dynkube.Pod) -> None:
    server.containers.on_exec(upper)
    async with web.open_exec(["sh"], stdin=True) as process:
        with pytest.raises(InvalidInput, match="open it with tty=True"):
            await process.resize(80, 24)


async def test_a_command_waits_for_its_reader(server: APIServer, web: dynkube.Pod) -> None:
    written = 0

    async def write(session: ContainerSession) -> None:
        nonlocal written
        while written < 3000:
            await session.stdout.send_all(b"x" * 1000)
            written += 1

    server.containers.on_exec(write)
    async with web.open_exec(["yes"]) as process:
        await trio.sleep(60)
        waiting = written
        received = [len(data) async for data in process.stdout]

        assert await process.wait() == 0
    assert (waiting < 1500, sum(received)) == (True, 3_000_000)


async def test_output_that_follows_the_exit_code_waits_for_its_reader(nursery: trio.Nursery) -> None:
    async def play(peer: Peer) -> None:
        await peer.send(b'\3{"status": "Success"}')
        for _ in range(40):
            await peer.send(b"\1line\n")
        await peer.close()

    transport = InMemory(nursery, play, **{"sec-websocket-protocol": "v5.channel.k8s.io"})
    async with (
        dynkube.connect(url="http://cluster", transport=transport) as client,
        client.pod("web").open_exec(["cat"]) as process,
    ):
        received = b""
        async for data in process.stdout:
            received += data
            await trio.sleep(1)

        assert (received, await process.wait()) == (b"line\n" * 40, 0)


async def test_a_closed_stream_discards_what_is_written(server: APIServer, web: dynkube.Pod) -> None:
    async def write(session: ContainerSession) -> bytes:
        for _ in range(1000):
            await session.stderr.send_all(b"x" * 10_000)
        return b"done"

    server.containers.on_exec(write)
    async with web.open_exec(["noisy"]) as process:
        await process.stderr.aclose()

        assert await process.stdout.receive_some() == b"done"


async def test_leaving_the_block_ends_the_connection_and_who_waits(server: APIServer, web: dynkube.Pod) -> None:
    ended = trio.Event()

    async def sleep(_: ContainerSession) -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    server.containers.on_exec(sleep)
    async with web.open_exec(["sleep"]) as process:
        await trio.sleep(1)
    await ended.wait()

    with pytest.raises(ClosedError, match="its block has ended"):
        await process.wait()
    with pytest.raises(ClosedError, match="its block has ended"):
        await process.stdout.receive_some()


async def test_what_came_before_a_cut_is_read_first(server: APIServer, web: dynkube.Pod) -> None:
    async def write(session: ContainerSession) -> None:
        await session.stdout.send_all(b"half")
        await trio.sleep(1)
        server.drop_connections()

    server.containers.on_exec(write)
    async with web.open_exec(["cat"], stdin=True) as process:
        with pytest.raises(ConnectionLost):
            await process.wait()

        assert await process.stdout.receive_some() == b"half"
        with pytest.raises(ConnectionLost):
            await process.stdout.receive_some()


async def test_each_waiter_gets_an_exception_of_its_own(server: APIServer, web: dynkube.Pod) -> None:
    async def sleep(_: ContainerSession) -> None:
        await trio.sleep_forever()

    server.containers.on_exec(sleep)
    async with web.open_exec(["sleep"]) as process:
        await trio.sleep(1)

    caught: list[pytest.ExceptionInfo[ClosedError]] = []
    waits: list[Callable[[], Awaitable[object]]] = [
        process.wait,
        process.stdout.receive_some,
        process.stderr.receive_some,
    ]
    for wait in waits * 2:
        with pytest.raises(ClosedError, match="its block has ended") as raised:
            await wait()
        caught.append(raised)

    assert len({id(each.value) for each in caught}) == 6
    assert [len(each.traceback) for each in caught[:3]] == [len(each.traceback) for each in caught[3:]]


async def test_one_stream_is_needed(web: dynkube.Pod) -> None:
    with pytest.raises(InvalidInput, match="one of stdin, stdout and stderr"):
        async with web.open_exec(["ls"], stdout=False, stderr=False):
            raise AssertionError
