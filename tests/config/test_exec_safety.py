"""Security of exec plugins: which program is run, which of its output is shown, and how long a prompt may take."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.config import CredentialTimeout, ExecCommand, ExecPlugin, load_config
from dynkube.config._redact import redacted, secrets_among
from dynkube.errors import CredentialError, InvalidInput

Write = Callable[..., ExecCommand]
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl"
KEY = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIBlks3cret\n-----END EC PRIVATE KEY-----"


@pytest.mark.real_time
@pytest.mark.parametrize("path", [".", ""])
async def test_a_program_in_the_working_directory_is_not_run_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    script = tmp_path / "kubelogin"
    script.write_text("#!/bin/sh\ntouch ran\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path + os.pathsep + "/nowhere")

    with pytest.raises(CredentialError, match=r"only in the working directory|was not found"):
        await ExecPlugin(ExecCommand(command="kubelogin", api_version="v1", where="k: exec")).current()

    assert not (tmp_path / "ran").exists()


@pytest.mark.real_time
async def test_the_command_and_its_arguments_are_not_passed_to_a_shell(tmp_path: Path) -> None:
    nasty = tmp_path / "a;touch ran"
    source = "import json, sys\nprint(json.dumps(sys.argv[1:]), file=sys.stderr)\nsys.exit(1)"
    nasty.write_text(f"#!{sys.executable} -IS\n{source}")
    nasty.chmod(0o755)
    args = ("$(touch ran)", "`touch ran`", "| touch ran", "> ran", "a\nb", "*")

    with pytest.raises(CredentialError) as caught:
        await ExecPlugin(ExecCommand(command=str(nasty), args=args, api_version="v1")).current()

    assert '["$(touch ran)", "`touch ran`", "| touch ran", "> ran", "a\\nb", "*"]' in str(caught.value)
    assert os.listdir(tmp_path) == ["a;touch ran"]  # noqa: PTH208 - a Path's counts as blocking


@pytest.mark.real_time
@pytest.mark.parametrize(
    "output",
    [
        f"error: got {JWT}",
        "Authorization: Bearer s3cret-of-ours",
        "password = 's3cret-of-ours'",
        '{"client_secret":"s3cret-of-ours"}',
        "https://me:s3cret-of-ours@proxy/",
        KEY,
        "the variable has s3cret-of-the-variable",
        "the argument has s3cret-of-the-argument",
        "what I printed is s3cret-of-the-output",
    ],
)
async def test_the_last_output_is_shown_without_secrets(
    plugin: Write, output: str, caplog: pytest.LogCaptureFixture
) -> None:
    source = (
        f"print('s3cret-of-the-output')\nprint('please log in', {output!r}, sep='\\n', file=sys.stderr)\nsys.exit(1)"
    )
    command = plugin(source, env={"APP_TOKEN": "s3cret-of-the-variable"})
    args = (*command.args, "--client-secret=s3cret-of-the-argument")
    command = ExecCommand(command=command.command, args=args, env=command.env, api_version="v1", where="k: exec")

    with caplog.at_level(logging.DEBUG), pytest.raises(CredentialError) as caught:
        await ExecPlugin(command).current()

    shown = str(caught.value) + "".join(record.getMessage() for record in caplog.records if "output" not in output)
    assert "please log in" in shown
    assert "s3cret" not in shown
    assert JWT not in shown


@pytest.mark.parametrize(
    "text",
    [
        "To sign in, open https://microsoft.com/devicelogin and enter the code F6K2QRLT9",
        "Unable to locate credentials. You can configure credentials by running 'aws configure'.",
        "The config profile (production) could not be found",
        "token has expired, run: gcloud auth login",
    ],
)
def test_instructions_for_the_user_are_not_redacted(text: str) -> None:
    assert redacted(text, secrets_among((), {"AWS_PROFILE": "production"})) == text


@given(secret=st.from_regex(r"[A-Za-z0-9._~+/-]{8,60}", fullmatch=True), around=st.text(max_size=30))
def test_a_known_secret_is_always_redacted(secret: str, around: str) -> None:
    assert secret not in redacted(f"{around}{secret}{around}", [secret]).replace("<hidden>", "\0")


@pytest.mark.parametrize(
    ("mode", "terminal", "credential_timeout"),
    [
        ("Never", True, (60, False)),
        ("IfAvailable", False, (60, False)),
        ("IfAvailable", True, (300, True)),
        ("Always", True, (300, True)),
    ],
)
def test_an_interactive_plugin_has_five_minutes(
    mode: str, terminal: bool, credential_timeout: tuple[float, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Input:
        def isatty(self) -> bool:
            return terminal

    monkeypatch.setattr(sys, "stdin", Input())
    command = ExecCommand(command="x", api_version="v1", interactive_mode=mode)

    assert ExecPlugin(command).credential_timeout == CredentialTimeout(*credential_timeout)
    assert ExecPlugin(command, timeout=7).credential_timeout == CredentialTimeout(7, credential_timeout[1])


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_an_invalid_timeout_is_rejected(seconds: float) -> None:
    with pytest.raises(InvalidInput, match="exec_timeout must be a positive number"):
        load_config(exec_timeout=seconds)
