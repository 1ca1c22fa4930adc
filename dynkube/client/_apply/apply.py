"""Server-side apply: send the fields to own.

The server merges them and records the owners.

A field that was in this manager's last apply and is not in this one is released, and removed if it has no other owner.
A field that another manager owns with another value is a conflict, unless ``force`` takes it over (KEP-555).
"""

from __future__ import annotations

from functools import partial

from dynkube.client._apply.planned import Application, prepare, seen
from dynkube.client._apply.result import Applied, Change, change_of
from dynkube.client._apply.take_over import apply_taking
from dynkube.client._apply.threads import run_in_thread_if_large
from dynkube.client._objects import ObjectLike
from dynkube.client._options import WriteOptions
from dynkube.client._target import Target, as_answered
from dynkube.errors import UNREAD, ApplyConflict, DynkubeError, Forbidden, MethodNotAllowed
from dynkube.fields import FieldPath
from dynkube.fields._conflicts import explained
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
    """Send the apply PATCH; creates the object if it does not exist.

    The live object is read before, if it is not given, to determine whether the apply changed anything.

    Args:
        target: the resource.
        obj: the object to apply.
        namespace: namespace of the object if ``obj`` has none.
        options: write options; ``force`` in them takes over all fields.
        subresource: the subresource to apply to.
        live: the object as last seen, MISSING if there was none; ``None`` to read it.
        take: without ``force``, the fields to take over.
    """

    async def attempt(options: WriteOptions) -> Applied:
        application = await prepare(target, obj, namespace, options, subresource=subresource)
        if live is not None:
            application.check_live(live)
        return await _apply(application, live, take)

    return await target.carry_out(options, attempt)


async def _apply(application: Application, live: Unstructured | Missing | None, take: tuple[FieldPath, ...]) -> Applied:
    options = application.options
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
    return Applied(after, await run_in_thread_if_large(partial(change_of, before, after, dry_run=True), before, after))


async def _look(application: Application) -> tuple[Unstructured | None, bool]:
    """Return the live object, if any, and whether the server forbids reading it."""
    try:
        return await application.read(), False
    except (Forbidden, MethodNotAllowed):  # RBAC may allow patch without get
        return None, True


async def _explained(conflict: ApplyConflict, application: Application) -> ApplyConflict:
    """Return the conflict error with applied values, live values and owners.

    The live object is read after the conflict: an object that was read before the apply may be older than the one that
    the apply conflicted with. If it cannot be read, the live values stay unknown.
    """
    if any(each.ours is not UNREAD for each in conflict.conflicts):
        return conflict  # already has the values: added by the code that raised it
    try:
        live = await application.read()
    except DynkubeError:  # the conflict is still the error to raise, with less detail
        live = None
    return await run_in_thread_if_large(partial(explained, conflict, application.body, live), application.body, live)
