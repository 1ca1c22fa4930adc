"""Checks of options that several commands share; the messages name the option."""

from __future__ import annotations

from dynkube.cli._run import CommandFailed
from dynkube.errors import InvalidInput
from dynkube.fields import FieldPath


def check_namespace(namespace: str | None, otherwise: str) -> None:
    """Reject what is not the name of a namespace.

    Args:
        namespace: the value of ``-n``, or ``None`` without one.
        otherwise: what the command uses without ``-n``.

    Raises:
        CommandFailed: it is empty, or ``*``.
    """
    if namespace == "":
        raise CommandFailed(f"-n is empty: pass the name of a namespace, or leave it out for {otherwise}")
    if namespace == "*":
        raise CommandFailed(f"-n '*' is not the name of a namespace: pass one, or leave it out for {otherwise}")


def read_paths(option: str, texts: list[str] | None) -> list[FieldPath]:
    """Parse the values of an option that names fields.

    Raises:
        CommandFailed: one is not a field path.
    """
    try:
        return [FieldPath.parse(text) for text in texts or ()]
    except InvalidInput as error:
        raise CommandFailed(f"{option}: {error}") from error
