"""Exit codes and error messages of commands."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
import trio
from cyclopts import App

from dynkube.cli._run import CommandFailed, run
from dynkube.errors import ConnectFailed, InvalidJSONPath, NoMatch


def ending_with(error: BaseException) -> App:
    """Return a command line with one command, which fails inside a nursery."""
    app = App(name="dynkube", backend="trio", exit_on_error=False, print_error=False, suppress_keyboard_interrupt=False)

    @app.default
    async def command() -> None:
        async def fail() -> None:
            raise error

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)

    return app


@pytest.mark.parametrize("error", [NoMatch("no such thing"), CommandFailed("no such thing")])
def test_an_error_is_one_line_on_stderr_and_exit_code_1(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ending_with(error), []) == 1

    assert capsys.readouterr() == ("", "error: no such thing\n")


def test_the_same_error_of_several_tasks_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    group = ExceptionGroup("two", [ConnectFailed("refused"), ExceptionGroup("one", [ConnectFailed("refused")])])

    assert run(ending_with(group), []) == 1

    assert capsys.readouterr().err == "error: refused\n"


def test_an_error_with_a_marked_position_keeps_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ending_with(InvalidJSONPath("unclosed", text="{.a", position=2)), []) == 1

    assert capsys.readouterr().err == "error: unclosed\n  {.a\n    ^\n"


def test_control_characters_in_messages_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ending_with(NoMatch("a\x1b[2Jb\rc")), []) == 1

    assert capsys.readouterr().err == "error: a\\x1b[2Jb\\rc\n"


def test_ctrl_c_is_exit_code_130_without_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ending_with(KeyboardInterrupt()), []) == 130

    assert capsys.readouterr() == ("", "")


def test_an_unexpected_exception_keeps_its_traceback() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        run(ending_with(ZeroDivisionError("oops")), [])

    assert caught.group_contains(ZeroDivisionError)


def test_an_unexpected_exception_in_a_group_is_not_hidden_by_an_expected_one() -> None:
    with pytest.raises(ExceptionGroup):
        run(ending_with(ExceptionGroup("both", [NoMatch("x"), ZeroDivisionError("oops")])), [])


@pytest.mark.parametrize(("result", "code"), [(lambda: 3, 3), (lambda: None, 0)])
def test_the_return_value_of_a_command_is_the_exit_code(result: Callable[[], int | None], code: int) -> None:
    app = App(name="dynkube", result_action="return_int_as_exit_code_else_zero")
    app.default(result)

    assert run(app, []) == code


def test_a_closed_pipe_ends_the_command_without_an_error_message() -> None:
    script = (
        "import sys; from cyclopts import App; from dynkube.cli._run import run\n"
        "app = App()\n"
        "@app.default\n"
        "def talk():\n"
        "    while True: print('still here')\n"
        "sys.exit(run(app, []))"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()

    _, errors = process.communicate()

    assert (process.returncode, errors) == (141, b"")
