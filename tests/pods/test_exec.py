"""Commands in containers, played by functions of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import trio
import trio.lowlevel

import dynkube
from dynkube.errors import (
    CommandFailed,
    CommandLost,
    CommandNotStarted,
    ConnectionLost,
    DeadlineExceeded,
    InvalidInput,
    OutputTooLong,
    PodError,
)
from dynkube_testing import APIServer, ContainerSession
from tests.pods.kit import add, failing, running_pod, upper


async def test_the_result_has_output_errors_and_exit_code(server: APIServer, web: dynkube.Pod) -> None:
    server.containers.on_exec(upper)

    result = await web.exec(["tr", "a-z"], stdin="hello", check=False)

    assert (result.exit_code, result.text, result.stdout, result.stderr) == (3, "HELLO", b"HELLO", b"tr a-z")


async def test_another_exit_code_than_0_raises_with_the_end_of_stderr(server: APIServer, web: dynkube.Pod) -> None:
    server.containers.on_exec(upper)

    with pytest.raises(CommandFailed, match="pod default/web: 'tr a-z' ended with exit code 3: tr a-z") as caught:
        await web.exec(["tr", "a-z"], stdin=b"x")

    assert (caught.value.exit_code, caught.value.stdout, caught.value.stderr) == (3, b"X", b"tr a-z")


async def test_stdin_may_be_an_iterable_that_the_command_does_not_read_to_its_end(
    server: APIServer, web: dynkube.Pod
) -> None:
    async def head(session: ContainerSession) -> bytes:
        return bytes(await session.stdin.receive_some(4))

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"y\n" * 10_000
            await trio.lowlevel.checkpoint()

    server.containers.on_exec(head)
    assert (await web.exec(["head", "-c4"], stdin=endless())).text == "y\ny\n"


async def test_stdin_that_yields_nothing_more_does_not_hold_up_a_command_that_has_ended(
    server: APIServer, web: dynkube.Pod
) -> None:
    async def typed() -> AsyncIterator[bytes]:
        yield b"one line\n"
        await trio.sleep_forever()

    async def head(session: ContainerSession) -> bytes:
        return bytes(await session.stdin.receive_some())

    server.containers.on_exec(head)
    assert (await web.exec(["head", "-n1"], stdin=typed(), timeout=60)).text == "one line\n"


async def test_stdin_that_is_the_output_of_another_process_and_breaks_off_is_an_error(
    server: APIServer, web: dynkube.Pod
) -> None:
    async def count(session: ContainerSession) -> bytes:
        return str(len([data async for data in session.stdin])).encode()

    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionLost("pod default/source: the server ended the connection")

    server.containers.on_exec(count)
    with pytest.raises(ConnectionLost, match="pod default/source: the server ended") as caught:
        await web.exec(["wc"], stdin=broken(), timeout=60)

    assert type(caught.value) is ConnectionLost, "the command itself was not lost"


async def test_large_output_is_complete(server: APIServer, web: dynkube.Pod) -> None:
    output = bytes(range(256)) * 20_000
    server.containers.on_exec(lambda _: output)

    assert (await web.exec(["cat"])).stdout == output


async def test_output_is_limited(server: APIServer, web: dynkube.Pod) -> None:
    server.containers.on_exec(lambda _: b"x" * 1000)

    with pytest.raises(OutputTooLong, match=r"more than 999 bytes \(max_output\)") as caught:
        await web.exec(["yes"], max_output=999)

    assert caught.value.stdout == b"x" * 999


async def test_a_command_that_takes_too_long_is_given_up(server: APIServer, web: dynkube.Pod) -> None:
    cancelled = trio.Event()

    async def sleep(_: ContainerSession) -> None:
        try:
            await trio.sleep_forever()
        finally:
            cancelled.set()

    server.containers.on_exec(sleep)
    with pytest.raises(DeadlineExceeded, match="'sleep' did not end within 5 s"):
        await web.exec(["sleep"], timeout=5)

    await cancelled.wait()


async def test_a_cut_stream_is_an_error_with_what_was_received(server: APIServer, web: dynkube.Pod) -> None:
    async def write(session: ContainerSession) -> None:
        await session.stdout.send_all(b"half")
        await session.stderr.send_all(b"errors")
        await trio.sleep(1)
        server.drop_connections()

    server.containers.on_exec(write)
    with pytest.raises(CommandLost) as caught:
        await web.exec(["cat"])

    assert (caught.value.stdout, caught.value.stderr) == (b"half", b"errors")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ('exec: "nope": executable file not found in $PATH', "there is no such command in the container's image"),
        ('exec: "/etc": permission denied', "the command may not be executed"),
        ("the runtime is not well", "the runtime is not well"),
    ],
)
async def test_a_command_that_cannot_start_says_why(
    server: APIServer, web: dynkube.Pod, said: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    server.containers.on_exec(failing(said))

    with pytest.raises(CommandNotStarted, match="command 'nope': ") as caught:
        await web.exec(["nope"])

    assert text in str(caught.value)
    assert said.partition(" ")[0] in str(caught.value)


async def test_a_command_that_ran_and_whose_exit_code_is_not_known_was_started(
    server: APIServer, web: dynkube.Pod, caplog: pytest.LogCaptureFixture
) -> None:
    async def ends_badly(session: ContainerSession) -> int:
        await session.stdout.send_all(b"half")
        raise RuntimeError("the runtime is not well")

    server.containers.on_exec(ends_badly)

    with pytest.raises(PodError, match=r"has ended, and its exit code is not known: .*not well") as caught:
        await web.exec(["make"])

    assert not isinstance(caught.value, CommandNotStarted)


async def test_a_container_that_has_terminated_is_named(
    server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    terminated = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
    add(server, running_pod("gone", app=terminated))
    server.containers.on_exec(failing('container not found ("app")'))

    with pytest.raises(CommandNotStarted, match="container 'app' has terminated: OOMKilled, exit code 137"):
        await client.pod("gone").exec(["ls"])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"command": "ls -l"}, "pass a list of words"),
        ({"command": []}, "must be a list of strings"),
        ({"command": ["ls", 1]}, "must be a list of strings"),
        ({"command": ["ls"], "stdin": 1}, "stdin is 1"),
        ({"command": ["ls"], "timeout": 0}, "timeout must be"),
        ({"command": ["ls"], "max_output": 0}, "max_output must be"),
    ],
)
async def test_wrong_arguments_are_refused(web: dynkube.Pod, arguments: dict[str, object], text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        await web.exec(**arguments)  # type: ignore[arg-type]  # wrong on purpose


async def test_a_pickled_error_keeps_what_was_received() -> None:
    import pickle

    error: CommandLost = pickle.loads(pickle.dumps(CommandLost("lost", stdout=b"half")))

    assert isinstance(error, ConnectionLost)
    assert (str(error), error.stdout) == ("lost", b"half")
