"""The ``dynkube`` command as a whole: help, version, invalid usage, missing extras."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.metadata import version

import pytest

from dynkube.cli import main
from dynkube.cli._app import _COMMANDS


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_the_commands_are_listed_with_what_they_do(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0

    assert "Run a small in-memory Kubernetes" in capsys.readouterr().out


def test_the_list_has_the_first_line_of_each_docstring() -> None:
    docstrings = {}
    for command in _COMMANDS:
        module, _, function = command.partition(":")
        docstrings[command] = getattr(import_module(f"dynkube.cli.{module}"), function).__doc__.splitlines()[0]

    assert dict(_COMMANDS) == docstrings


def test_the_help_of_a_command_has_its_whole_docstring(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "--help"]) == 0

    assert "ABSENT while its CRD is not installed" in capsys.readouterr().out


def test_the_list_is_printed_without_loading_the_library() -> None:
    script = "import sys; from dynkube.cli import main; main([]); print(*sys.modules)"

    modules = subprocess.check_output([sys.executable, "-c", script], text=True).splitlines()[-1].split()

    assert "dynkube.cli._app" in modules
    assert not {"trio", "dynkube.config", "dynkube.errors", "rich.markdown"} & set(modules)


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0

    assert capsys.readouterr().out == f"dynkube {version('dynkube')}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch"], "see 'dynkube --help'"),
        (["serve", "--bogus"], "see 'dynkube serve --help'"),
        (["serve", "--port", "many"], '--port: unable to convert "many" into int'),
        (["serve", "--port", "70000"], 'Invalid value "70000" for --port'),
        (["serve", "--port"], "see 'dynkube serve --help'"),
        (["serve", "surplus"], "see 'dynkube serve --help'"),
    ],
)
def test_invalid_usage_is_a_one_line_error_with_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize("package", ["cyclopts", "rich"])
def test_without_the_extra_the_error_says_how_to_install_it(package: str) -> None:
    script = f"import sys; sys.modules[{package!r}] = None; from dynkube.cli import main; sys.exit(main([]))"

    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"error: the dynkube command requires {package}: pip install 'dynkube[cli]'\n"


def test_other_import_errors_keep_their_traceback() -> None:
    script = (
        "import sys; sys.modules['dynkube.errors'] = None; from dynkube.cli import main; main(['owners', 'a', 'b'])"
    )

    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert "ModuleNotFoundError: import of dynkube.errors halted" in ended.stderr


@pytest.mark.parametrize("module", ["dynkube", "dynkube.cli"])
def test_the_command_runs_as_a_module(module: str) -> None:
    command = [sys.executable, "-m", module, "--version"]

    ended = subprocess.run(command, capture_output=True, text=True, check=True)

    assert ended.stdout == f"dynkube {version('dynkube')}\n"
