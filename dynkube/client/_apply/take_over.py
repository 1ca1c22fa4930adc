"""``force`` for paths: take over some fields from their managers, and no others.

The API can force only a whole apply. So a dry run determines which fields a forced apply would take over. Only if all
of them are within the given paths, the forced apply is sent, with the resourceVersion of the dry run as precondition. A
concurrent write causes a 409, and the procedure is repeated. A webhook that treats the dry run differently is not
detected.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from dynkube.client._apply.planned import Application
from dynkube.client._apply.threads import run_in_thread_if_large
from dynkube.client._target import as_answered
from dynkube.errors import ApplyConflict, Conflict, FieldConflict, InvalidInput
from dynkube.fields import FieldPath, PathLike, Values, managed
from dynkube.fields._conflicts import Side, conflict_at, taken
from dynkube.fields._printed_paths import meant
from dynkube.meta import Unstructured
from dynkube.rest import Answer

_ATTEMPTS = 5


def read_force(force: bool | Iterable[PathLike]) -> tuple[bool, tuple[FieldPath, ...]]:
    """Parse the argument ``force``.

    Returns:
        Whether to take over all conflicting fields, and the paths to take over otherwise.

    Raises:
        InvalidInput: ``force`` is neither a bool nor paths.
    """
    if isinstance(force, bool):
        return force, ()
    if isinstance(force, str | FieldPath):
        raise InvalidInput(f"force must be True or False, or a list of paths to take over: force=[{str(force)!r}]")
    try:
        return False, tuple(map(FieldPath.parse, force))
    except TypeError:
        raise InvalidInput(f"force must be True or False, or a list of paths to take over, not {force!r}") from None


async def apply_taking(application: Application, paths: tuple[FieldPath, ...]) -> Answer:
    """Apply, and take over conflicting fields within ``paths``.

    Raises:
        ApplyConflict: fields outside of ``paths`` are in conflict; ``conflicts`` has only these fields.
        Conflict: concurrent writes in each of five attempts.
        Forbidden: RBAC does not allow get.
    """
    last: Conflict | None = None
    for _ in range(_ATTEMPTS):
        try:
            return await application.send(force=False, dry_run=application.options.dry_run)
        except ApplyConflict as error:
            conflict = last = error
        live = await application.read()
        if live is None:  # deleted in the meantime: no conflicts are left
            continue
        try:
            return await _forced(application, paths, live, conflict)
        except ApplyConflict:
            raise
        except Conflict as error:
            if application.body.resource_version:
                raise  # the caller set a resourceVersion, which a retry cannot change
            last = error
    assert last is not None, "no attempt was made"
    raise last


async def _forced(
    application: Application, paths: tuple[FieldPath, ...], live: Unstructured, conflict: ApplyConflict
) -> Answer:
    """Send the forced apply if it takes over nothing outside of ``paths``."""
    version, options = live.resource_version, application.options
    trial = await application.send(force=True, dry_run=True, resource_version=version)
    answered = as_answered(trial)
    remaining = await run_in_thread_if_large(partial(_beyond, paths, application, live, answered), live, answered)
    if not await run_in_thread_if_large(partial(managed, live), live):
        # Without managedFields (an object that was never applied to, or a Scale) only the server knows the conflicts.
        reported = await application.conflicts(version)
        remaining = await run_in_thread_if_large(
            partial(_reported_beyond, paths, reported, application.body, answered), answered
        )
    if remaining:
        raise ApplyConflict(conflict.status, request=conflict.request, conflicts=remaining)
    if options.dry_run:
        return trial
    return await application.send(force=True, dry_run=False, resource_version=version)


def _beyond(
    paths: tuple[FieldPath, ...], application: Application, live: Unstructured, trial: Unstructured
) -> list[FieldConflict]:
    """Return the fields outside of ``paths`` that a forced apply takes over.

    They are computed from managedFields.

    Args:
        paths: the paths that may be taken over.
        application: the object to be applied.
        live: the live object.
        trial: the response to a forced dry-run apply.
    """
    manager = application.options.field_manager
    lost = taken(live, trial, manager=manager, subresource=application.subresource)
    mine, theirs = Side(application.body), Side(live)
    return [conflict_at(path, its, mine, theirs) for its, fields in lost.items() for path in fields.without(*paths)]


def _reported_beyond(
    paths: tuple[FieldPath, ...], reported: Iterable[FieldConflict], ours: Unstructured, trial: Unstructured
) -> list[FieldConflict]:
    """Return the conflicts outside of ``paths`` among those that the server reported.

    The server's paths are ambiguous for names with dots; they are resolved by the managedFields of ``trial`` and the
    values of ``ours``.
    """
    known = {path.as_server(): path for entry in managed(trial) for path in entry.fields}
    values = Values(ours)
    found = [(known.get(each.path) or meant(each.path, values), each) for each in reported]
    return [replace(each, path=str(path)) for path, each in found if not any(path.is_within(at) for at in paths)]
