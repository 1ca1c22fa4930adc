"""``dynkube exec``: streams, exit codes, terminals, arguments."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from dynkube.cli import main
from dynkube_testing import APIServer, ContainerSession
from tests.cli.processes import dynkube
from tests.pods.kit import add, failing, running_pod, upper

OFFLINE = ["--url", "http://127.0.0.1:1"]


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer() as server:
        add(server, running_pod("web"))
        yield server


def set_size(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


async def sizes(session: ContainerSession) -> int:
    """Write each size of the terminal, until a key is pressed."""

    async def report() -> None:
        while True:
            columns, rows = await session.next_size()
            await session.stdout.send_all(f"{columns}x{rows}\r\n".encode())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(report)
        key = await session.stdin.receive_some()
        nursery.cancel_scope.cancel()
    await session.stdout.send_all(repr(bytes(key)).encode() + b"\r\n")
    return 7


async def until(terminal: int, text: bytes) -> bytes:
    """Return what is written to a terminal, up to a text."""
    found = b""
    with trio.fail_after(40):
        while text not in found:
            await trio.lowlevel.wait_readable(terminal)
            found += os.read(terminal, 1000)
    return found


@pytest.mark.real_time
@pytest.mark.parametrize("given", ["pipe", "file"])
async def test_streams_and_the_exit_code_are_passed_on(server: APIServer, given: str, tmp_path: Path) -> None:
    server.containers.on_exec(upper)
    path = tmp_path / "input"
    path.write_bytes(b"hello\n" * 50_000)

    with path.open("rb") as file:
        async with server.serve() as endpoint:
            command = [sys.executable, "-m", "dynkube.cli", "exec", "pod/web", "-i", "--url", endpoint.url]
            done = await trio.run_process(
                [*command, "--", "tr", "-", "-n"],
                stdin=file.read() if given == "pipe" else file,
                capture_stdout=True,
                capture_stderr=True,
                check=False,
            )

    assert (done.returncode, done.stdout == b"HELLO\n" * 50_000, done.stderr) == (3, True, b"tr - -n")


@pytest.mark.real_time
async def test_a_command_with_a_terminal_gets_keys_and_sizes(server: APIServer) -> None:
    server.containers.on_exec(sizes)
    terminal, inside = os.openpty()
    set_size(terminal, 80, 24)
    before = termios.tcgetattr(inside)

    async with server.serve() as endpoint:
        command = [sys.executable, "-m", "dynkube.cli", "exec", "web", "-it", "--url", endpoint.url, "--", "sh"]
        process = await trio.lowlevel.open_process(command, stdin=inside, stdout=inside, stderr=subprocess.PIPE)
        await until(terminal, b"80x24\r\n")
        set_size(terminal, 100, 30)
        process.send_signal(signal.SIGWINCH)  # the kernel sends it to the foreground processes of a terminal only
        await until(terminal, b"100x30\r\n")
        os.write(terminal, b"\x03")
        await until(terminal, rb"b'\x03'")
        with trio.fail_after(40):
            code = await process.wait()

    assert (code, termios.tcgetattr(inside)) == (7, before)
    os.close(terminal)
    os.close(inside)


@pytest.mark.real_time
async def test_sigterm_leaves_the_terminal_in_its_mode(server: APIServer) -> None:
    server.containers.on_exec(sizes)
    terminal, inside = os.openpty()
    set_size(terminal, 80, 24)
    before = termios.tcgetattr(inside)

    async with server.serve() as endpoint:
        command = [sys.executable, "-m", "dynkube.cli", "exec", "web", "-it", "--url", endpoint.url, "--", "sh"]
        process = await trio.lowlevel.open_process(command, stdin=inside, stdout=inside, stderr=subprocess.PIPE)
        await until(terminal, b"80x24\r\n")
        assert termios.tcgetattr(inside) != before
        process.terminate()
        with trio.fail_after(40):
            code = await process.wait()

    assert (code, termios.tcgetattr(inside)) == (1, before)
    os.close(terminal)
    os.close(inside)


@pytest.mark.real_time
async def test_a_terminal_is_ignored_without_one(server: APIServer) -> None:
    server.containers.on_exec(lambda session: f"tty={session.tty}\n")

    async with server.serve() as endpoint, dynkube("exec", "web", "-it", "--url", endpoint.url, "--", "sh") as command:
        assert await command.ended() == (0, "tty=False\n", "standard input is not a terminal: -t is ignored\n")


@pytest.mark.real_time
async def test_a_command_that_is_not_in_the_image_is_an_error(server: APIServer) -> None:
    server.containers.on_exec(failing('exec: "nosuch": executable file not found in $PATH'))

    async with server.serve() as endpoint, dynkube("exec", "web", "--url", endpoint.url, "--", "nosuch") as command:
        code, out, err = await command.ended()

    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert "there is no such command in the container's image" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["web"], "no command is given: pass it after --, like dynkube exec web -- ls -l"),
        (["web", "-t", "--", "sh"], "-t requires -i: pass -it"),
        (["deploy/", "--", "sh"], "'deploy/' is not an object: pass KIND/NAME"),
        (["web", "-n", "", "--", "sh"], "-n is empty"),
    ],
)
def test_invalid_arguments_are_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exec", *OFFLINE, *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")
