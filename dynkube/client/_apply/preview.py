"""``diff`` and ``diff_applied``: compare without changing anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from dynkube.client._apply.planned import Application, prepare, seen
from dynkube.client._apply.threads import run_in_thread_if_large
from dynkube.client._apply.unchanged import Standing, standing
from dynkube.client._objects import ObjectLike
from dynkube.client._options import WriteOptions
from dynkube.client._target import Target, as_answered
from dynkube.errors import FieldConflict
from dynkube.fields import managed
from dynkube.fields._conflicts import Side, valued
from dynkube.fields._diff.compute import diff_between, drift_between, drift_of_deleted, no_difference
from dynkube.fields._diff.diff import Diff
from dynkube.meta import Missing, Unstructured
from dynkube.rest import Answer

_ATTEMPTS = 4  # as kubectl diff


async def diff(
    target: Target,
    obj: ObjectLike,
    namespace: str | None,
    options: WriteOptions,
    *,
    subresource: str | None,
    live: Unstructured | Missing | None,
) -> Diff:
    """Compare the live object with the result of a dry-run apply with ``force``.

    Sends two requests, to read the live object and for the dry run; only the second if ``live`` was passed with its
    managedFields. If the object on the server has no managedFields, the conflicts are determined by one more request, a
    dry run without ``force``.
    """

    async def attempt(options: WriteOptions) -> Diff:
        application = await prepare(target, obj, namespace, options, subresource=subresource)
        if live is not None:
            application.check_live(live)
        return await _diff(application, live)

    return await target.carry_out(options, attempt)


async def _diff(application: Application, given: Unstructured | Missing | None) -> Diff:
    options, subresource = application.options, application.subresource
    live, answer = await _look_and_try(application, given)
    trial, manager = as_answered(answer), options.field_manager
    calculation = partial(diff_between, live, trial, ours=application.body, manager=manager, subresource=subresource)
    found = await run_in_thread_if_large(calculation, live, trial)
    if not found or live is None:
        return found
    if await run_in_thread_if_large(partial(managed, live), live):
        return found
    # Without managedFields (an object that was never applied to, or a Scale) only the server knows the conflicts.
    reported = await application.conflicts()
    conflicts = await run_in_thread_if_large(partial(_valued, reported, application.body, live), application.body, live)
    return replace(found, conflicts=conflicts)


def _valued(reported: Iterable[FieldConflict], ours: Unstructured, live: Unstructured) -> tuple[FieldConflict, ...]:
    mine, theirs = Side(ours), Side(live)
    return tuple(valued(each, mine, theirs) for each in reported)


async def _look_and_try(
    application: Application, given: Unstructured | Missing | None
) -> tuple[Unstructured | None, Answer]:
    """Return the live object and the response to a forced dry-run apply to it.

    Repeated until both are of the same resourceVersion, at most four times.
    """
    attempts = _ATTEMPTS
    while True:
        live = await application.read() if given is None or _hides_owners(given) else seen(given)
        given = None
        answer = await application.send(force=True, dry_run=True)
        attempts -= 1
        if not attempts or _is_of_same_state(live, answer):
            return live, answer


def _hides_owners(live: Unstructured | Missing) -> bool:
    """Whether ``live`` lacks managedFields (as in an informer's cache)."""
    return isinstance(live, Unstructured) and "managedFields" not in live.get("metadata", {})


def _is_of_same_state(live: Unstructured | None, answer: Answer) -> bool:
    """Whether a dry run was evaluated on this state of the live object.

    The response to a dry run has the resourceVersion of the live object. If the object does not exist, the status is
    201 and there is no resourceVersion.
    """
    if live is None or answer.status == 201:
        return live is None and answer.status == 201
    return as_answered(answer).resource_version == live.resource_version


async def diff_applied(
    target: Target,
    obj: ObjectLike,
    namespace: str | None,
    options: WriteOptions,
    *,
    subresource: str | None,
    live: Unstructured | None,
) -> Diff:
    """Compare the live object with ``obj``, as it was applied by a manager.

    Sends one request, to read the object, if the manager still owns all fields with the applied values, or if there is
    no object. Else what was applied is only known as it was written, not as it is stored (normalized quantities,
    ``stringData`` of a Secret, fields that the server resets or defaults), so a forced dry run of the same apply
    decides.
    """

    async def attempt(options: WriteOptions) -> Diff:
        application = await prepare(target, obj, namespace, options, subresource=subresource)
        if live is not None:
            application.check_live(live)
        return await _drift(application, live)

    return await target.carry_out(options, attempt)


async def _drift(application: Application, given: Unstructured | None) -> Diff:
    body, manager, subresource = application.body, application.options.field_manager, application.subresource
    live = await application.read() if given is None or _hides_owners(given) else given
    if live is not None:
        comparing = partial(standing, body, live, manager, subresource)
        if await run_in_thread_if_large(comparing, body, live) is Standing.SAME:
            return await run_in_thread_if_large(partial(no_difference, live, ("applied", "live")), live)
        live, answer = await _look_and_try(application, live)
        if live is not None:
            trial = as_answered(answer)
            calculation = partial(drift_between, trial, live, manager=manager, subresource=subresource)
            return await run_in_thread_if_large(calculation, trial, live)
    return await run_in_thread_if_large(partial(drift_of_deleted, body), body)
