"""Take some fields from their managers, and no others: ``force`` for paths.

An apply is forced as a whole or not at all. So the server is asked in a dry run what a forced one takes, and the
forced one is sent only if that is all within the paths, and only to the object as it was in that dry run (its
resourceVersion is a precondition). Whatever somebody writes in between makes a 409 of it, and all begins anew.
A webhook that answers a dry run otherwise than the real one is not noticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from dynkube.client._apply.application import Application
from dynkube.client._apply.beside import calculated
from dynkube.client._apply.conflicts import Side, conflict_at, taken
from dynkube.client._apply.printed import meant
from dynkube.client._target import as_answered
from dynkube.errors import ApplyConflict, Conflict, FieldConflict, InvalidInput
from dynkube.fields import FieldPath, PathLike, Values, managed
from dynkube.meta import Unstructured
from dynkube.rest import Answer

_ATTEMPTS = 5


def read_force(force: bool | Iterable[PathLike]) -> tuple[bool, tuple[FieldPath, ...]]:
    """Whether to take everything, or else which paths.

    Raises:
        InvalidInput: it is neither a bool nor paths.
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
    """Apply, and take over what others own within ``paths``.

    Raises:
        ApplyConflict: others own further fields with other values: those are its ``conflicts``.
        Conflict: again and again somebody wrote meanwhile.
        Forbidden: the object may not be read.
    """
    last: Conflict | None = None
    for _ in range(_ATTEMPTS):
        try:
            return await application.send(force=False, dry_run=application.options.dry_run)
        except ApplyConflict as error:
            conflict = last = error
        live = await application.read()
        if live is None:  # it has gone meanwhile: there is nobody left to take anything from
            continue
        try:
            return await _forced(application, paths, live, conflict)
        except ApplyConflict:
            raise
        except Conflict as error:
            if application.body.resource_version:
                raise  # a precondition of the caller's own does not come true by asking again
            last = error
    assert last is not None, "there was no attempt"
    raise last


async def _forced(
    application: Application, paths: tuple[FieldPath, ...], live: Unstructured, conflict: ApplyConflict
) -> Answer:
    """The forced apply, if it takes nothing beyond ``paths`` from the object as it was read."""
    version, options = live.resource_version, application.options
    trial = await application.send(force=True, dry_run=True, resource_version=version)
    answered = as_answered(trial)
    remaining = await calculated(partial(_beyond, paths, application, live, answered), live, answered)
    if not await calculated(partial(managed, live), live):
        # Nothing was ever applied, or it is a Scale: whose fields they are only the server knows.
        reported = await application.conflicts(version)
        remaining = await calculated(partial(_reported_beyond, paths, reported, application.body, answered), answered)
    if remaining:
        raise ApplyConflict(conflict.status, request=conflict.request, conflicts=remaining)
    if options.dry_run:
        return trial
    return await application.send(force=True, dry_run=False, resource_version=version)


def _beyond(
    paths: tuple[FieldPath, ...], application: Application, live: Unstructured, trial: Unstructured
) -> list[FieldConflict]:
    """What a forced apply takes from others outside of ``paths``, as their owners say."""
    manager = application.options.field_manager
    lost = taken(live, trial, manager=manager, subresource=application.subresource)
    mine, theirs = Side(application.body), Side(live)
    return [conflict_at(path, its, mine, theirs) for its, fields in lost.items() for path in fields.without(*paths)]


def _reported_beyond(
    paths: tuple[FieldPath, ...], reported: Iterable[FieldConflict], ours: Unstructured, trial: Unstructured
) -> list[FieldConflict]:
    """The same as the server says, whose text of a path does not tell where a name with dots ends."""
    known = {path.as_server(): path for entry in managed(trial) for path in entry.fields}
    values = Values(ours)
    found = [(known.get(each.path) or meant(each.path, values), each) for each in reported]
    return [replace(each, path=str(path)) for path, each in found if not any(path.is_within(at) for at in paths)]
