"""The console entry point: checks for the ``cli`` extra and runs the command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from dynkube.cli._notes import note

# cyclopts imports rich only when it prints; checked here, so that a missing package fails before the command runs.
_EXTRA = ("cyclopts", "rich")
_HELP_FLAGS = ("--help", "-h")
_CANNOT_RUN = 2  # not 1, which dynkube diff uses for differences


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ``dynkube`` command.

    Blocks until the command ends. It starts its own trio run, so it cannot be called inside one.

    Args:
        arguments: the command-line arguments, without the program's name; ``None`` for those of ``sys.argv``.

    Returns:
        The exit code: 0 success, 1 failure, 2 usage error or missing extra, 130 Ctrl-C, 141 the reader of stdout has
        closed the pipe.
    """
    for package in _EXTRA:
        try:
            import_module(package)
        except ModuleNotFoundError as missing:
            if missing.name != package:
                raise
            # Plain output, as cyclopts and rich may be missing.
            note(f"error: the dynkube command requires {package}: pip install 'dynkube[cli]'")
            return _CANNOT_RUN
    from dynkube.cli._app import build_app
    from dynkube.cli._run import run

    arguments = sys.argv[1:] if arguments is None else arguments
    return run(build_app(listing=not arguments or arguments[0] in _HELP_FLAGS), arguments)
