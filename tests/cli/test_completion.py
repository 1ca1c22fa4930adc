"""``dynkube completion``: shell scripts that complete commands, options and paths."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dynkube.cli import main

BASH = shutil.which("bash")


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_has_all_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(shell, capsys)

    for command in ("apply", "watch", "logs", "upgrade-managed-fields", "completion"):
        assert command in text


def test_the_script_for_zsh_begins_with_compdef(capsys: pytest.CaptureFixture[str]) -> None:
    text = script("zsh", capsys)

    assert text.startswith("#compdef dynkube\n")
    assert "\n_cyclopts_dynkube() {\n" in text, "the help suggests the file name _cyclopts_dynkube"


@pytest.mark.skipif(BASH is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["ap"], {"apply"}),
        (["rel"], {"release"}),
        (["apply", "--kubec"], {"--kubeconfig"}),
        (["apply", "-f", "mani"], {"manifests"}),
        (["watch", "-o", ""], {"table", "json", "name"}),
        (["logs", "-o", ""], {"text", "raw", "json"}),
        (["rollout", "re"], {"restart", "resume"}),
        (["top", "pods", "--sort-by", ""], {"cpu", "memory", "name"}),
        (["completion", ""], {"bash", "zsh", "fish"}),
    ],
)
def test_bash_completes(words: list[str], found: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "script").write_text(script("bash", capsys))
    complete = 'source ./script; COMP_WORDS=(dynkube "$@"); COMP_CWORD=$#; _dynkube; echo "${COMPREPLY[@]}"'

    done = subprocess.run(
        [str(BASH), "-c", complete, "bash", *words], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert set(done.stdout.split()) == found
    assert done.stderr == ""


def test_an_unknown_shell_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "csh"]) == 2

    assert "bash" in capsys.readouterr().err
