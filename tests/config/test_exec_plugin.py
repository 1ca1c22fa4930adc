"""Exec plugins as processes: their input, the checks of their output, and how they end."""

from __future__ import annotations

import functools
import io
import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from dynkube.config import ExecCommand, ExecPlugin, _exec_process
from dynkube.config._exec_process import ProcessOutcome
from dynkube.errors import CredentialError

pytestmark = pytest.mark.real_time

Write = Callable[..., ExecCommand]
in_thread = functools.partial(trio.to_thread.run_sync, abandon_on_cancel=True)


async def test_the_plugin_gets_arguments_environment_and_exec_info(
    plugin: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "kept")
    source = "respond(token=json.dumps([info, os.environ['MINE'], os.environ['OURS'], sys.argv[1:]]).encode().hex())"
    command = plugin(source, env={"MINE": "$OURS"}, cluster={"server": "https://api", "config": {"a": 1}})
    command = ExecCommand(
        command=command.command,
        args=(*command.args, "a b", "$HOME;"),
        env=command.env,
        api_version=command.api_version,
        interactive_mode="Never",
        cluster=command.cluster,
    )

    credential = await ExecPlugin(command).current()

    received = json.loads(bytes.fromhex(credential.headers["Authorization"].removeprefix("Bearer ")))
    info = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://api", "config": {"a": 1}}},
    }
    assert received == [info, "$OURS", "kept", ["a b", "$HOME;"]]


async def test_without_provide_cluster_info_the_plugin_gets_no_cluster(plugin: Write) -> None:
    credential = await ExecPlugin(plugin("respond(token=','.join(info['spec']))")).current()

    assert credential.headers == {"Authorization": "Bearer interactive"}


async def test_a_failing_plugin_is_an_error_with_its_last_output(plugin: Write) -> None:
    source = "print(*range(20), 'please \\x1b[31mlog in', sep='\\n', file=sys.stderr)\nsys.exit(3)"

    with pytest.raises(CredentialError) as caught:
        await ExecPlugin(plugin(source)).current()

    message = str(caught.value)
    assert message.startswith("kubeconfig: users[name=u].user.exec: plugin ")
    assert "failed with exit code 3" in message
    assert message.endswith("last output:\n  16\n  17\n  18\n  19\n  please \\x1b[31mlog in")


async def test_a_plugin_killed_by_a_signal_is_an_error(plugin: Write) -> None:
    with pytest.raises(CredentialError, match="failed with signal 9"):
        await ExecPlugin(plugin(f"os.kill(os.getpid(), {int(signal.SIGKILL)})")).current()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("pass", "printed nothing"),
        ("print('s3cret garbage')", "printed 15 bytes that are not JSON"),
        ("respond()", "printed neither status.token nor"),
        ("sys.stdout.write('s3cret' * 1000000)", "printed more output than a credential can have"),
    ],
)
async def test_invalid_output_is_an_error_that_does_not_contain_it(plugin: Write, source: str, message: str) -> None:
    with pytest.raises(CredentialError, match=message) as caught:
        await ExecPlugin(plugin(source)).current()

    assert "s3cret" not in str(caught.value)


@pytest.mark.scenario("F24", "F26")
async def test_a_hanging_plugin_is_stopped_at_the_timeout(plugin: Write) -> None:
    with pytest.raises(CredentialError, match=r"timed out after 0\.2 s and was stopped.*exec_timeout="):
        await ExecPlugin(plugin("time.sleep(3600)"), timeout=0.2).current()


async def test_a_hanging_plugin_is_stopped_on_windows_which_has_no_sigkill(
    plugin: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_exec_process, "os", SimpleNamespace(name="nt"))
    monkeypatch.setattr(_exec_process, "signal", SimpleNamespace(SIGTERM=signal.SIGTERM))

    with pytest.raises(CredentialError, match=r"timed out"):
        await ExecPlugin(plugin("time.sleep(60)"), timeout=0.2).current()


async def test_a_background_process_of_the_plugin_does_not_delay_the_result(plugin: Write) -> None:
    source = "import subprocess\nsubprocess.Popen(['sleep', '20'])\nrespond(token='t')"

    with trio.fail_after(15):
        credential = await ExecPlugin(plugin(source)).current()

    assert credential.headers == {"Authorization": "Bearer t"}


@pytest.mark.scenario("F37")
@pytest.mark.parametrize("stubborn", [False, True])
async def test_cancellation_kills_the_plugin_and_its_child_processes(
    plugin: Write, tmp_path: Path, stubborn: bool
) -> None:
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    source = (
        f"import signal\nheld = os.open({fifo!r}, os.O_WRONLY)\nif os.fork() == 0:\n"
        f"    signal.signal(signal.SIGTERM, signal.{'SIG_IGN' if stubborn else 'SIG_DFL'})\n"
        "    os.write(held, b'ready\\n')\ntime.sleep(60)"
    )

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ExecPlugin(plugin(source)).current)
        alive = await in_thread(open, fifo, "rb")
        assert await in_thread(alive.readline) == b"ready\n"
        nursery.cancel_scope.cancel()

    with trio.fail_after(20):
        assert await in_thread(alive.read) == b""  # at the end of both processes
    alive.close()


async def test_a_plugin_that_is_stopped_may_clean_up(
    plugin: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_exec_process, "_GRACE", 30)
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    source = (
        f"import signal\nheld = os.open({fifo!r}, os.O_WRONLY)\n"
        "signal.signal(signal.SIGTERM, lambda *_: (os.write(held, b'cleaned up'), os._exit(0)))\n"
        "os.write(held, b'ready\\n')\ntime.sleep(60)"
    )

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ExecPlugin(plugin(source)).current)
        written = await in_thread(open, fifo, "rb")
        assert await in_thread(written.readline) == b"ready\n"
        nursery.cancel_scope.cancel()

    assert await in_thread(written.read) == b"cleaned up"
    written.close()


async def test_a_missing_plugin_is_an_error_with_the_install_hint() -> None:
    command = ExecCommand(
        command="no-such-plugin-anywhere",
        api_version="v1",
        install_hint="brew install it\x1b]0;evil\x07",
        where="k: exec",
    )

    with pytest.raises(CredentialError) as caught:
        await ExecPlugin(command).current()

    assert str(caught.value) == (
        "k: exec: plugin 'no-such-plugin-anywhere' was not found or is not executable: install it or correct the path\n"
        "brew install it\\x1b]0;evil\\x07"
    )


async def test_a_file_that_is_not_executable_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "plugin"
    path.write_bytes(b"\x7fELF, but not really")
    path.chmod(0o755)

    with pytest.raises(CredentialError, match="failed to start: Exec format error\nbrew install it"):
        await ExecPlugin(ExecCommand(command=str(path), api_version="v1", install_hint="brew install it")).current()


async def test_the_error_of_a_plugin_that_was_started_has_no_install_hint(plugin: Write) -> None:
    with pytest.raises(CredentialError, match=r"failed with exit code 3$"):
        await ExecPlugin(plugin("sys.exit(3)", install_hint="brew install it")).current()


async def test_a_plugin_that_needs_a_terminal_is_not_run_without_one(
    plugin: Write, runs: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)

    with pytest.raises(CredentialError, match="requires a terminal"):
        await ExecPlugin(plugin("respond(token='t')", interactive_mode="Always")).current()

    assert runs() == 0


@pytest.mark.parametrize(("mode", "expected"), [("Never", "False"), ("IfAvailable", "True"), ("Always", "True")])
async def test_at_a_terminal_the_interactive_mode_decides(
    plugin: Write, mode: str, expected: str, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    source = "print('Password:', file=sys.stderr)\nrespond(token=str(info['spec']['interactive']))"

    credential = await ExecPlugin(plugin(source, interactive_mode=mode)).current()

    assert credential.headers == {"Authorization": f"Bearer {expected}"}
    assert ("Password:" in capfd.readouterr().err) == (expected == "True")


async def test_a_prompt_without_a_newline_is_shown_at_once(plugin: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(shown, line_buffering=True))
    source = "sys.stderr.write('Password: ')\nrespond(token='t')"

    await ExecPlugin(plugin(source, interactive_mode="Always")).current()

    assert shown.getvalue() == b"Password: "


async def test_stderr_of_a_plugin_is_logged_without_a_terminal(plugin: Write, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="dynkube"):
        await ExecPlugin(plugin("print('visit https://login', file=sys.stderr)\nrespond(token='t')")).current()

    assert "visit https://login" in caplog.messages


def test_the_outcome_of_a_run_does_not_show_its_output() -> None:
    outcome = ProcessOutcome(0, stdout=bytearray(b"s3cret"), stderr=b"s3cret")

    assert "s3cret" not in repr(outcome)
