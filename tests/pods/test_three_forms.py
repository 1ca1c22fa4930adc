"""The same session in blocking code and in asyncio."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import dynkube.aio
import dynkube.sync
from dynkube.errors import ClosedError, CommandFailed
from dynkube_testing import ContainerSession, ServerThread, serve_in_thread
from tests.aio.kit import in_asyncio, trio_tasks
from tests.pods.kit import add, run_in, running_pod, upper
from tests.pods.test_ports import echo

pytestmark = pytest.mark.real_time


@pytest.fixture
def cluster() -> Iterator[ServerThread]:
    with serve_in_thread() as cluster:
        cluster.run(add, cluster.server, running_pod("web"))
        cluster.server.containers.on_exec(upper)
        cluster.server.containers.on_port_forward(echo)
        yield cluster


def test_blocking(cluster: ServerThread) -> None:
    with dynkube.sync.connect(url=cluster.url) as k:
        web = k.pod("web")
        with pytest.raises(CommandFailed, match="exit code 3"):
            web.exec(["tr"], stdin="a")
        with web.open_exec(["tr"], stdin=True) as process:
            assert process.stdin is not None
            process.stdin.send_all(b"hello")
            assert process.stdout.receive_some() == b"HELLO"
            process.stdin.close()
            assert (b"".join(process.stdout), b"".join(process.stderr), process.wait()) == (b"", b"tr", 3)
        with pytest.raises(ClosedError, match="not open"):
            web.open_exec(["tr"]).wait()


@in_asyncio
async def test_asyncio(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        web = client.pod("web")
        result = await web.exec(["tr"], stdin="a", check=False)
        assert (result.exit_code, result.text) == (3, "A")
        async with web.open_exec(["tr"], stdin=True) as process:
            assert process.stdin is not None
            async with process.stdin as stdin:
                await stdin.send_all(b"hello")
            assert [data async for data in process.stdout] == [b"HELLO"]
            assert await process.wait() == 3


def test_ports_blocking(cluster: ServerThread) -> None:
    with dynkube.sync.connect(url=cluster.url) as k:
        with k.pod("web").connect(80) as stream:
            assert stream.receive_some() == b"80:"
            stream.send_all(b"ping")
            assert next(stream) == b"ping"
        with k.pod("web").port_forward(80) as forward, socket.create_connection(("127.0.0.1", forward.port)) as client:
            assert client.recv(3) == b"80:"
        assert forward.errors == 0


@in_asyncio
async def test_ports_asyncio(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        async with client.pod("web").connect(80) as stream:
            assert await stream.receive_some() == b"80:"
            await stream.send_all(b"ping")
            assert await anext(stream) == b"ping"
        async with client.pod("web").port_forward(80) as forward:
            reader, writer = await asyncio.open_connection("127.0.0.1", forward.port)
            assert await reader.read(3) == b"80:"
            writer.close()
            await writer.wait_closed()


def test_copies_blocking(cluster: ServerThread, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "file").write_bytes(b"x" * 1000)
    cluster.server.containers.on_exec(run_in(tmp_path / "inside"))
    with dynkube.sync.connect(url=cluster.url) as k:
        assert k.pod("web").copy_to(tmp_path / "file", "/copy").size == 1000
        assert k.pod("web").copy_from("/copy", tmp_path / "back").size == 1000


@in_asyncio
async def test_copies_asyncio_call_progress_in_the_loop(cluster: ServerThread, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "file").write_bytes(b"x" * 1000)
    cluster.server.containers.on_exec(run_in(tmp_path / "inside"))
    threads: set[str] = set()
    async with dynkube.aio.connect(url=cluster.url) as client:
        web = client.pod("web")
        await web.copy_to(tmp_path / "file", "/copy", progress=lambda _: threads.add(threading.current_thread().name))
        assert (await web.copy_from("/copy", tmp_path / "back")).size == 1000
    assert threads == {threading.current_thread().name}


@in_asyncio
async def test_a_cancelled_call_ends_the_command(cluster: ServerThread) -> None:
    began, ended = threading.Event(), threading.Event()

    async def wait(session: ContainerSession) -> None:
        began.set()
        try:
            await session.stdin.receive_some()
        finally:
            ended.set()

    async with dynkube.aio.connect(url=cluster.url) as client:
        tasks = trio_tasks()
        cluster.server.containers.on_exec(wait)
        async with client.pod("web").open_exec(["wait"], stdin=True) as process:
            await asyncio.to_thread(began.wait)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await process.wait()
        assert await asyncio.to_thread(ended.wait, 10)
        assert trio_tasks() == tasks
