"""Take some fields from their managers, and no others: ``force`` for paths.

An apply is forced as a whole or not at all. So the server is asked in a dry run what a forced one takes, and the
forced one is sent only if that is all within the paths, and only to the object as it was in that dry run (its
resourceVersion is a precondition). Whatever somebody writes in between makes a 409 of it, and all begins anew.
A webhook that answers a dry run otherwise than the real one is not noticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dynkube.client._apply.application import Application
from dynkube.client._apply.conflicts import Side, conflict_at, parsed, taken
from dynkube.client._target import as_answered
from dynkube.errors import ApplyConflict, Conflict, InvalidInput
from dynkube.fields import FieldPath, PathLike, managed
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
    lost = taken(live, as_answered(trial), manager=options.field_manager, subresource=application.subresource)
    mine, theirs = Side(application.body), Side(live)
    remaining = [
        conflict_at(path, manager, mine, theirs) for manager, fields in lost.items() for path in fields.without(*paths)
    ]
    if not managed(live):  # nothing was ever applied, or it is a Scale: whose fields they are only the server knows
        # Its own text of a path does not say where a name with dots in it ends; what is applied does.
        known = {path.as_server(): path for entry in managed(as_answered(trial)) for path in entry.fields}
        for each in await application.conflicts(version):
            path = known.get(each.path) or parsed(each.path)
            if not any(path.is_within(given) for given in paths):
                remaining.append(replace(each, path=str(path)))
    if remaining:
        raise ApplyConflict(conflict.status, request=conflict.request, conflicts=remaining)
    if options.dry_run:
        return trial
    return await application.send(force=True, dry_run=False, resource_version=version)
