"""From what happens to an exit code, and to the one line that says why."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from cyclopts import App, CycloptsError

from dynkube._display import printable
from dynkube.cli._notes import note
from dynkube.errors import DynkubeError

FAILED = 1
USAGE = 2
INTERRUPTED = 130  # 128 + SIGINT, as a shell has it
READER_LEFT = 141  # 128 + SIGPIPE


# What stands for a lone "-" among the arguments: cyclopts takes that for an option, and not for a value of the one
# before it (``is_option_like`` in 5.4), unless that option takes every option after it for its values too.
STDIN = "<stdin>"


class CommandFailed(Exception):
    """A command cannot go on, and its message is all there is to say. For what no DynkubeError describes."""


def run(app: App, arguments: Sequence[str]) -> int:
    """Run a command line to its end and return the exit code.

    Errors that are the user's to solve become ``error: ...`` on stderr; a bug keeps its traceback.
    """
    try:
        code = app([STDIN if argument == "-" else argument for argument in arguments])
        # What is still buffered may find its reader gone: better here than while the interpreter shuts down.
        if sys.__stdout__ is not None:  # None where the process was started without one
            sys.stdout.flush()
    except CycloptsError as error:
        _complain(f"{str(error).rstrip('.')}; see '{' '.join([*app.name, *(error.command_chain or ()), '--help'])}'")
        return USAGE
    except BaseException as error:
        ended = exit_code(error)
        if ended is None:
            raise
        return ended
    return int(code)


def exit_code(error: BaseException, *, failed: int = FAILED) -> int | None:
    """With what a command ends that raised ``error``; ``None`` for a bug.

    What is the user's to solve is said on stderr.

    Args:
        error: what was raised, a group perhaps.
        failed: what the command ends with where it fails.
    """
    causes = list(_leaves(error))
    if any(isinstance(cause, KeyboardInterrupt) for cause in causes):
        return INTERRUPTED
    if any(isinstance(cause, BrokenPipeError) for cause in causes):
        _silence_stdout()
        return READER_LEFT
    if not all(isinstance(cause, DynkubeError | CommandFailed) for cause in causes):
        return None
    _complain(*dict.fromkeys(str(cause) for cause in causes))
    return failed


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The exceptions themselves, out of the groups that trio's nurseries put them into."""
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from _leaves(member)
    else:
        yield error


def _complain(*messages: str) -> None:
    for message in messages:
        shown = printable(message, keep="\n")
        note(f"error: {shown}")


def _silence_stdout() -> None:
    """Let the interpreter's last flush go nowhere, instead of reporting the broken pipe again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
