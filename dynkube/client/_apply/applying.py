"""Server-side apply: send the fields you want to own, the server merges and remembers who owns what.

Semantics are the server's (KEP-555): a field that was in this manager's last apply and is not in this one
is given up, and removed if nobody else owns it; a field that another manager owns with another value is a
conflict, unless ``force`` takes it.
"""

from __future__ import annotations

from functools import partial

from dynkube.client._apply.application import Application, prepare, seen
from dynkube.client._apply.applied import Applied, Change, change_of
from dynkube.client._apply.beside import calculated
from dynkube.client._apply.conflicts import explained
from dynkube.client._apply.take_over import apply_taking
from dynkube.client._objects import ObjectLike
from dynkube.client._options import WriteOptions
from dynkube.client._target import Target, as_answered
from dynkube.errors import UNREAD, ApplyConflict, DynkubeError, Forbidden, MethodNotAllowed
from dynkube.fields import FieldPath
from dynkube.meta import Missing, Unstructured


async def apply(
    target: Target,
    obj: ObjectLike,
    namespace: str | None,
    options: WriteOptions,
    *,
    subresource: str | None = None,
    live: Unstructured | Missing | None = None,
    take: tuple[FieldPath, ...] = (),
) -> Applied:
    """PATCH with the fields of ``obj``; creates the object where there is none.

    Args:
        target: the resource.
        obj: what to apply.
        namespace: where, if it does not say so itself.
        options: how; ``force`` in them takes everything.
        subresource: to which part of it.
        live: the object as the caller has seen it, MISSING where there was none; ``None`` to have it read.
        take: without ``force``, which fields to take from others.
    """
    application = await prepare(target, obj, namespace, options, subresource=subresource)
    if live is not None:
        application.check_live(live)
    before, unread = (seen(live), False) if live is not None else await _look(application)
    try:
        if take and not options.force:
            answer = await apply_taking(application, take)
        else:
            answer = await application.send(force=bool(options.force), dry_run=options.dry_run)
    except ApplyConflict as conflict:
        raise await _explained(conflict, application) from None
    after = as_answered(answer)
    if answer.status == 201:
        return Applied(after, Change.CREATED)
    if unread:
        return Applied(after, Change.UNKNOWN)
    if not options.dry_run:
        return Applied(after, change_of(before, after, dry_run=False))
    return Applied(after, await calculated(partial(change_of, before, after, dry_run=True), before, after))


async def _look(application: Application) -> tuple[Unstructured | None, bool]:
    """The live object, and whether it is out of sight."""
    try:
        return await application.read(), False
    except (Forbidden, MethodNotAllowed):  # who may write need not be one who may read
        return None, True


async def _explained(conflict: ApplyConflict, application: Application) -> ApplyConflict:
    """The error with both values and the owners, as of a read after the conflict.

    What was read before the apply, by the caller or here, may be older than what it conflicted with, and its values
    would be shown as the live ones. Where the object cannot be read (again), the live values are unknown.
    """
    if any(each.ours is not UNREAD for each in conflict.conflicts):
        return conflict  # explained already, where it was raised
    try:
        live = await application.read()
    except DynkubeError:  # the conflict is what there is to say, and it says less without that
        live = None
    return await calculated(partial(explained, conflict, application.body, live), application.body, live)
