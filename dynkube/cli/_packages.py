"""Errors for packages that a command requires and that are not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dynkube.cli._run import CommandFailed

_DISTRIBUTIONS = {"dynkube_testing": "dynkube-testing"}


@contextmanager
def embedded_server_required(command: str) -> Iterator[None]:
    """Turn the error for a missing package into one that says what to install.

    Args:
        command: the command that runs an embedded server inside the block.

    Raises:
        CommandFailed: the distribution with the server, or a package that it requires, is not installed.
    """
    try:
        yield
    except ImportError as error:
        missing = _missing_package(error)
        if missing is None:
            raise
        missing = _DISTRIBUTIONS.get(missing, missing)
        raise CommandFailed(f"dynkube {command} requires {missing}: pip install 'dynkube[cli,testing]'") from error


def _missing_package(error: BaseException | None) -> str | None:
    """Return the missing package that caused ``error``; ``None`` if it is not a package of another distribution."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name:
            package = error.name.partition(".")[0]
            own = package in {"dynkube", *_DISTRIBUTIONS} and error.name != package  # a module that should be there
            if not own:
                return package
        error = error.__cause__
    return None
