"""Servers before Kubernetes 1.30, which speak v4.channel.k8s.io only: stdin cannot be closed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

import dynkube
from dynkube.errors import PodError
from dynkube_testing import APIServer, ContainerSession
from tests.pods.kit import run_in, upper

V4 = "v4.channel.k8s.io"


class OldServer(httpx2.AsyncBaseTransport):
    """A server that knows nothing of v5.channel.k8s.io, and refuses clients that offer nothing else."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        offered = request.headers.get("sec-websocket-protocol", V4)
        if V4 not in offered:
            return httpx2.Response(403)
        if "sec-websocket-protocol" in request.headers:
            request.headers["sec-websocket-protocol"] = V4
        return await self._inner.handle_async_request(request)


@pytest.fixture
async def web(server: APIServer) -> AsyncIterator[dynkube.Pod]:
    async with dynkube.connect(url=server.url, transport=OldServer(server.transport())) as client:
        yield client.pod("web")


async def test_a_command_runs(server: APIServer, web: dynkube.Pod) -> None:
    server.containers.on_exec(lambda session: " ".join(session.command))

    assert (await web.exec(["echo", "a"])).text == "echo a"


async def test_a_command_that_would_wait_for_its_input_for_ever_is_not_started(
    server: APIServer, web: dynkube.Pod
) -> None:
    server.containers.on_exec(lambda _: pytest.fail("it was started"))

    with pytest.raises(PodError, match=r"it speaks none of v5\.channel\.k8s\.io"):
        await web.exec(["cat"], stdin="a")


async def test_a_command_that_knows_the_end_of_its_input_runs(server: APIServer, web: dynkube.Pod) -> None:
    async def head(session: ContainerSession) -> bytes:
        return bytes(await session.stdin.receive_some(5))

    server.containers.on_exec(head)
    async with web.open_exec(["head", "-c5"], stdin=True) as process:
        assert process.stdin is not None
        await process.stdin.send_all(b"hello")

        assert (process.protocol, await process.stdout.receive_some(), await process.wait()) == (V4, b"hello", 0)
        await process.stdin.aclose()  # it has ended


async def test_closing_stdin_says_what_to_do(server: APIServer, web: dynkube.Pod) -> None:
    server.containers.on_exec(upper)

    async with web.open_exec(["tr"], stdin=True) as process:
        assert process.stdin is not None
        with pytest.raises(PodError, match=r"stdin cannot be closed: .* such as head -c N"):
            await process.stdin.aclose()


@pytest.mark.real_time
async def test_files_are_copied(server: APIServer, web: dynkube.Pod, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "file").write_bytes(b"x" * 100_000)
    server.containers.on_exec(run_in(tmp_path / "inside"))

    await web.copy_to(tmp_path / "file", "/folder/")
    await web.copy_from("/folder/file", tmp_path / "back")

    assert (tmp_path / "back").read_bytes() == (tmp_path / "file").read_bytes()
