"""Pods of a real control plane by dynkube's own methods, on a node that KWOK plays.

KWOK 0.8 reports every exit code but 0 as an internal error, and does not close a command's standard input, so a command
that reads it to its end never ends: exit codes and closed input are tested with the embedded server only
(``tests/pods``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import httpx2
import pytest
import trio

import dynkube
from dynkube.errors import BadRequest, CommandNotStarted, PortUnavailable
from dynkube_testing import ControlPlane
from tests.testing.control_plane.kwok import node, write_settings
from tests.testing.control_plane.test_nodes import POD, answer

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(300)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of this machine in which the container's commands run."""
    (tmp_path / "container").mkdir()
    return tmp_path / "container"


@pytest.fixture
async def web(plane: ControlPlane, assets: Path, tmp_path: Path, folder: Path) -> AsyncIterator[dynkube.Pod]:
    if not (assets / "kwok").exists():
        pytest.skip(f"no kwok in {assets}: `make control-plane` builds it")
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, answer, 0, host="127.0.0.1"))
        settings = write_settings(tmp_path / "kwok.yaml", folder, {80: listeners[0].socket.getsockname()[1], 81: 1})
        async with node(plane, assets / "kwok", settings) as client:
            pods = client.resource("pods")
            await pods.create(POD)
            await pods.wait_for("web", "condition=Ready", timeout=60)
            yield client.pod("web", namespace="default")
            await pods.delete("web", grace_period_seconds=0)
            await pods.wait_for("web", "delete", timeout=60)
        nursery.cancel_scope.cancel()


async def test_a_command_runs_in_the_container(web: dynkube.Pod, folder: Path) -> None:
    result = await web.exec(["sh", "-c", "pwd; echo oops >&2"])

    assert (result.exit_code, result.text, result.stderr) == (0, f"{folder}\n", b"oops\n")


async def test_large_output_is_complete(web: dynkube.Pod, folder: Path) -> None:
    data = bytes(range(256)) * 100_000
    (folder / "data").write_bytes(data)

    assert (await web.exec(["cat", "data"], max_output=len(data))).stdout == data


async def test_stdin_is_sent(web: dynkube.Pod) -> None:
    async with web.open_exec(["head", "-c5"], stdin=True) as process:
        assert process.stdin is not None
        await process.stdin.send_all(b"hello, and more")

        assert await process.stdout.receive_some() == b"hello"


async def test_a_terminal_is_resized(web: dynkube.Pod) -> None:
    async with web.open_exec(["sh"], stdin=True, tty=True) as process:
        assert process.stdin is not None
        await process.resize(columns=120, rows=40)
        await process.stdin.send_all(b"until stty size | grep '^40 .20'; do sleep 0.1; done\r")

        output = b""
        async for data in process.stdout:
            output += data
            if b"40 120" in output:  # not read to its end, as KWOK loses what a command writes just before it exits
                break

    assert b"40 120" in output


async def test_what_cannot_be_done_says_why(web: dynkube.Pod) -> None:
    with pytest.raises(BadRequest, match="has no container 'ap'; it has app"):
        await web.exec(["ls"], container="ap")
    with pytest.raises(CommandNotStarted, match="there is no such command in the container's image"):
        await web.exec(["no-such-command"])


async def test_a_folder_is_copied_there_and_back(web: dynkube.Pod, folder: Path, tmp_path: Path) -> None:
    data = bytes(range(256)) * 40_000
    (tmp_path / "site" / "deep").mkdir(parents=True)
    (tmp_path / "site" / "deep" / "data").write_bytes(data)

    there = await web.copy_to(tmp_path / "site", "www")
    back = await web.copy_from("www", tmp_path / "back")

    assert (there.size, back.size) == (len(data), len(data))
    assert (folder / "www" / "deep" / "data").read_bytes() == (tmp_path / "back" / "deep" / "data").read_bytes() == data


async def test_requests_to_a_forwarded_port_are_answered(web: dynkube.Pod) -> None:
    async with web.port_forward(80) as forward, httpx2.AsyncClient(base_url=f"http://127.0.0.1:{forward.port}") as http:
        answers = [(await http.get(f"/{number}")).text for number in range(100)]

    assert answers == [f"/{number}" for number in range(100)]
    assert forward.errors == 0


async def test_a_port_without_a_listener(web: dynkube.Pod) -> None:
    async with web.connect(81) as stream:
        with pytest.raises(PortUnavailable, match="refused"):
            await stream.receive_some()
