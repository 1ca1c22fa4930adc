"""``dynkube demo`` as a process: its exit code, and its output if stdout is not a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from dynkube.cli import _demo, main
from dynkube.cli._story import STORY

COMMAND = [sys.executable, "-m", "dynkube.cli", "demo", "--fast"]


def test_the_output_to_a_pipe_is_plain_text() -> None:
    ended = subprocess.run(COMMAND, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith("All checks passed.\n")
    assert "\x1b" not in ended.stdout
    assert all(line == line.rstrip() for line in ended.stdout.splitlines())


def test_the_output_can_be_ascii() -> None:
    ended = subprocess.run(COMMAND, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=False)

    assert ended.returncode == 0
    assert ended.stdout.isascii()


def test_a_failed_check_is_exit_code_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(_demo, "STORY", [replace(step, shown=("ghost",)) for step in STORY])

    assert main(["demo", "--fast"]) == 1

    assert "  FAILED  list: expected [ghost], found []\n" in capsys.readouterr().out


def test_a_closed_pipe_ends_the_demo_without_an_error_message() -> None:
    with subprocess.Popen(
        [*COMMAND[:-1]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None

        assert (process.stderr.read(), process.wait()) == (b"", 141)


@pytest.mark.parametrize("package", ["trustme", "kubernetes"])
def test_packages_for_tls_and_kubeconfigs_are_not_imported(package: str) -> None:
    script = (
        f"import sys; sys.modules[{package!r}] = None; from dynkube.cli import main; sys.exit(main(['demo', '--fast']))"
    )

    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
