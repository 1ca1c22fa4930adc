"""``force`` for paths: take over some fields from their managers, and no others.

The API can force only a whole apply. So a dry run determines what a forced apply would take over; the forced apply is
sent only if all of that is within the paths, with the resourceVersion of the dry run as precondition. A concurrent
write causes a 409, and all is repeated. A webhook that treats the dry run differently is not detected.
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
    """Return whether to take over everything, or else which paths.

    Raises:
        InvalidInput: neither a bool nor paths.
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
        ApplyConflict: fields outside of ``paths`` are in conflict; ``conflicts`` has these.
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
                raise  # a retry cannot fulfil the caller's own precondition
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
        # Never applied to, or a Scale: only the server can determine the conflicts.
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
    """Return what a forced apply takes over outside of ``paths``, according to managedFields."""
    manager = application.options.field_manager
    lost = taken(live, trial, manager=manager, subresource=application.subresource)
    mine, theirs = Side(application.body), Side(live)
    return [conflict_at(path, its, mine, theirs) for its, fields in lost.items() for path in fields.without(*paths)]


def _reported_beyond(
    paths: tuple[FieldPath, ...], reported: Iterable[FieldConflict], ours: Unstructured, trial: Unstructured
) -> list[FieldConflict]:
    """Return the same according to the server, whose paths are ambiguous for names with dots."""
    known = {path.as_server(): path for entry in managed(trial) for path in entry.fields}
    values = Values(ours)
    found = [(known.get(each.path) or meant(each.path, values), each) for each in reported]
    return [replace(each, path=str(path)) for path, each in found if not any(path.is_within(at) for at in paths)]
