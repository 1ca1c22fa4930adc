"""Runs the app, and maps exceptions to exit codes and error messages.

Imports the library only to show an error: help and version take a fifth of the time without it.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from cyclopts import App, CycloptsError

from dynkube.cli._notes import note

FAILED = 1
USAGE = 2
INTERRUPTED = 130  # 128 + SIGINT, as in a shell
READER_LEFT = 141  # 128 + SIGPIPE


# Replaces a lone "-" among the arguments: cyclopts parses that as an option, not as the value of the option before it
# (``is_option_like`` in 5.4), unless that option also accepts all following options as values.
STDIN = "<stdin>"


class CommandFailed(Exception):
    """The command failed, and the message says why.

    For failures that are not a DynkubeError.
    """


def run(app: App, arguments: Sequence[str]) -> int:
    """Run a command line and return the exit code.

    Errors that a user can fix are printed on stderr as ``error: ...``; unexpected exceptions are raised.
    """
    try:
        with _insecurity_as_note():
            code = app([STDIN if argument == "-" else argument for argument in arguments])
        # Flushed here to get a BrokenPipeError now, and not while the interpreter shuts down.
        if sys.__stdout__ is not None:  # None if the process was started without one
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
    """Return the exit code for an exception; ``None`` for an unexpected one (a bug).

    Prints the messages of errors that a user can fix on stderr.

    Args:
        error: the exception, possibly a group.
        failed: the exit code for such errors.
    """
    causes = list(_leaves(error))
    if any(isinstance(cause, KeyboardInterrupt) for cause in causes):
        return INTERRUPTED
    if any(isinstance(cause, BrokenPipeError) for cause in causes):
        _silence_stdout()
        return READER_LEFT
    from dynkube.errors import DynkubeError

    if not all(isinstance(cause, DynkubeError | CommandFailed) for cause in causes):
        return None
    _complain(*dict.fromkeys(str(cause) for cause in causes))
    return failed


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions inside the groups that trio's nurseries raise."""
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from _leaves(member)
    else:
        yield error


def _complain(*messages: str) -> None:
    from dynkube._text.tables import printable
    from dynkube.cli._flags import in_flags

    for message in messages:
        shown = printable(in_flags(message), keep="\n")
        note(f"error: {shown}")


@contextmanager
def _insecurity_as_note() -> Iterator[None]:
    """Print InsecureTLSWarning as a line of the command, without the module and line that emit it."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            from dynkube._text.tables import printable
            from dynkube.cli._flags import in_flags
            from dynkube.config import InsecureTLSWarning

            if issubclass(category, InsecureTLSWarning):
                note(f"warning: {printable(in_flags(str(message)))}")
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


def _silence_stdout() -> None:
    """Redirect stdout to the null device, so that the interpreter's final flush does not report the broken pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
