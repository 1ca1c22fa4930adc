"""Telling a missing extra apart from a broken installation."""

from __future__ import annotations

from dynkube.cli._run import CommandFailed


def missing_package(error: BaseException | None) -> str | None:
    """The package outside of dynkube whose absence is behind ``error``."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("dynkube"):
            return error.name.partition(".")[0]
        error = error.__cause__
    return None


def explain_missing(command: str, error: ImportError) -> CommandFailed | None:
    """What to say of ``error`` where an extra is not installed; ``None`` where that is not what it is about."""
    missing = missing_package(error)
    return None if missing is None else CommandFailed(f"{command} needs {missing}: pip install 'dynkube[cli,serve]'")
