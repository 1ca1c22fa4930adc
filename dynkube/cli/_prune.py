"""The ApplySet to prune, from ``--prune``, ``--applyset`` and ``--tooling``."""

from __future__ import annotations

from dataclasses import replace

from dynkube.cli._run import CommandFailed
from dynkube.errors import InvalidInput
from dynkube.manifests import ApplySet


def read_prune(prune: bool, name: str | None, tooling: str | None, namespace: str | None) -> ApplySet | None:
    """Return the ApplySet to prune, or ``None``.

    Raises:
        CommandFailed: one of the options was given without the other, or is invalid.
    """
    if prune != (name is not None):
        raise CommandFailed("--prune and --applyset NAME require each other: pass both, or none")
    if name is None:
        if tooling is not None:
            raise CommandFailed("--tooling requires --prune and --applyset NAME: it is recorded in the ApplySet")
        return None
    option = "--applyset"
    try:
        found = ApplySet.parse(name, namespace=namespace)
        option = "--tooling"
        return replace(found, tooling=tooling or "")
    except InvalidInput as error:
        raise CommandFailed(f"{option}: {error}") from error
