"""The console entry: checks that the ``cli`` extra is there, then runs the command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from dynkube.cli._notes import note

# cyclopts loads rich only when it has something to print: asked for here, so that it fails before anything ran.
_EXTRA = ("cyclopts", "rich")
_CANNOT_RUN = 2  # not 1, with which dynkube diff says that something differs


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ``dynkube`` command.

    Blocks until it ends; starts its own trio run, so it cannot be called from inside one.

    Args:
        arguments: what follows the command's name; ``None`` takes them from ``sys.argv``.

    Returns:
        The exit code: 0 done, 1 failed, 2 wrong usage or the extra is missing, 130 ended by Ctrl-C, 141 the reader of
        its output left.
    """
    for package in _EXTRA:
        try:
            import_module(package)
        except ModuleNotFoundError as missing:
            if missing.name != package:
                raise
            # Without the extra there is nothing to format with, and nothing else to do.
            note(f"error: the dynkube command needs {package}: pip install 'dynkube[cli]'")
            return _CANNOT_RUN
    from dynkube.cli._app import build_app
    from dynkube.cli._run import run

    return run(build_app(), sys.argv[1:] if arguments is None else arguments)
