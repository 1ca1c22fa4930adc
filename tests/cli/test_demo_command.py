"""``dynkube demo`` as a process: its exit code, and what it writes to what is no terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from dynkube.cli import _demo, main
from dynkube.cli._story import STORY

COMMAND = [sys.executable, "-m", "dynkube.cli", "demo", "--fast"]


def test_it_holds_and_says_so_in_plain_text() -> None:
    ended = subprocess.run(COMMAND, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith("All checks passed.\n")
    assert "\x1b" not in ended.stdout
    assert all(line == line.rstrip() for line in ended.stdout.splitlines())


def test_it_is_written_where_only_ascii_can_be() -> None:
    ended = subprocess.run(COMMAND, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=False)

    assert ended.returncode == 0
    assert ended.stdout.isascii()


def test_a_step_that_does_not_hold_is_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_demo, "STORY", [replace(step, shown=("ghost",)) for step in STORY])

    assert main(["demo", "--fast"]) == 1

    assert "  FAILED  list: expected [ghost], found []\n" in capsys.readouterr().out


def test_a_reader_that_leaves_ends_it_in_silence() -> None:
    with subprocess.Popen(
        [*COMMAND[:-1]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None

        assert (process.stderr.read(), process.wait()) == (b"", 141)


@pytest.mark.parametrize("package", ["h11", "trustme", "kubernetes"])
def test_it_needs_no_extra_but_its_own(package: str) -> None:
    script = (
        f"import sys; sys.modules[{package!r}] = None; from dynkube.cli import main; sys.exit(main(['demo', '--fast']))"
    )

    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
