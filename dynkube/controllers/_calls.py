"""One call of a reconcile function: its finalizer, its thread, its deadline, and what it raised."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeAlias, cast

import trio

from dynkube._guard import split_failure
from dynkube.controllers._blocking_context import BlockingContext
from dynkube.controllers._context import Context
from dynkube.controllers._controller import Controller, Reconcile
from dynkube.controllers._results import AGAIN, ReconcileTimeout
from dynkube.controllers._running_threads import RunningThreads
from dynkube.controllers._watches import ObjectKey
from dynkube.errors import Conflict, InvalidInput, ProtocolError
from dynkube.meta import Unstructured

_Awaitable: TypeAlias = Callable[[Context], Awaitable[object]]


class Caller:
    """Calls the functions of one controller.

    Args:
        controller: the declaration.
        cluster: the cluster whose objects are reconciled; ``""`` if there is only one.
    """

    def __init__(self, controller: Controller, cluster: str) -> None:
        self._reconcile = self._awaitable(controller._reconcile)
        finalizer = controller._finalizer
        self._finalizer = None if finalizer is None else (finalizer[0], self._awaitable(finalizer[1]))
        self._timeout = controller._timeout
        # A worker uses one thread at most; trio's default limiter is shared with the rest of the program.
        self._limiter = trio.CapacityLimiter(controller._concurrency)
        self._threads = controller._threads.setdefault(cluster, RunningThreads())

    def is_left(self, key: ObjectKey, ended: Callable[[], object]) -> bool:
        """Return whether a thread of an earlier run still reconciles a key; then ``ended`` is called when it returns.

        It is called in the event loop, unless that has ended. Call this while no call of the key is running in this
        run.
        """
        token = trio.lowlevel.current_trio_token()

        def notify() -> None:
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(ended)

        return self._threads.when_ended(key, self, notify)

    async def call(self, context: Context) -> tuple[Exception | None, object]:
        """Reconcile a key, and return what the function raised (``None`` if nothing) and what it returned.

        A plain function that does not return by its deadline is waited for, with a context that refuses all calls: only
        then may its key be reconciled again. Cancellation does not wait for it.
        """
        if self._timeout is None:  # a cancel scope would take a tenth of the time of an empty reconcile
            return await self._call(context, None)
        with trio.move_on_after(self._timeout) as scope:
            return await self._call(context, scope)
        if context._thread_ended is not None:
            await context._thread_ended.wait()
        return ReconcileTimeout(f"it did not end within {self._timeout} s, the timeout of its controller"), None

    async def _call(self, context: Context, scope: trio.CancelScope | None) -> tuple[Exception | None, object]:
        try:
            return None, await self._reconcile_or_clean_up(context)
        except BaseException as exc:
            failure, rest = split_failure(exc)
            if rest is exc:
                raise
            if rest is not None:  # it failed while it was cancelled
                raise rest from None
            return failure, None
        finally:
            late = scope is not None and scope.cancel_called
            context._end("did not end in time" if late else "has ended")

    async def _reconcile_or_clean_up(self, context: Context) -> object:
        obj = None if self._finalizer is None else context.get()
        if obj is None or self._finalizer is None:
            return await self._reconcile(context)
        name, clean_up = self._finalizer
        finalizers = _finalizers(obj)
        if obj.deletion_timestamp is None:
            if name in finalizers:
                return await self._reconcile(context)
            stored = await context.patch(obj, _with_finalizers(obj, [*finalizers, name]))
            if name not in _finalizers(stored):
                raise ProtocolError(
                    f"the server has not stored the finalizer {name!r}: look for a mutating webhook or an admission "
                    f"policy that removes it from {obj!r}"
                )
            return AGAIN
        if name not in finalizers:
            return None  # it was cleaned up, and waits for the finalizers of others
        result = await clean_up(context)
        if result is None:
            await self._remove_finalizer(context, context._newest(obj), name)
        return result

    async def _remove_finalizer(self, context: Context, obj: Unstructured, name: str) -> None:
        """Remove the finalizer of an object that was cleaned up.

        If others have changed the object meanwhile, it is read once more: it is cleaned up in any case, and a clean-up
        that changes it in a way not known here would conflict each time.
        """
        try:
            await context.patch(obj, _without_finalizer(obj, name))
        except Conflict:
            live = await context._read(obj)
            if live.uid == obj.uid and name in _finalizers(live):
                await context.patch(live, _without_finalizer(live, name))

    def _awaitable(self, function: Reconcile) -> _Awaitable:
        """Return a function that calls an async function here, and a plain one in a thread."""
        if is_async(function):
            asynchronous = cast("Callable[[Context, ObjectKey], Awaitable[object]]", function)
            return lambda context: asynchronous(context, context.key)
        blocking = cast("Callable[[BlockingContext, ObjectKey], object]", function)
        return lambda context: self._run_in_thread(partial(blocking, BlockingContext(context), context.key), context)

    async def _run_in_thread(self, function: Callable[[], object], context: Context) -> object:
        context._thread_ended = ended = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def call() -> object:
            try:
                with self._threads.reconciling(context.key):
                    return _not_awaitable(function())
            finally:
                with suppress(trio.RunFinishedError):  # the thread was abandoned, and has outlived the event loop
                    token.run_sync_soon(ended.set)

        return await trio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=self._limiter)


def _not_awaitable(result: object) -> object:
    """Return what a plain function returned.

    Raises:
        InvalidInput: that is a coroutine, as with a plain decorator of an async function.
    """
    if not inspect.isawaitable(result):
        return result
    if inspect.iscoroutine(result):
        result.close()  # otherwise Python warns that it was never awaited
    raise InvalidInput(
        "the reconcile is a plain function that returned a coroutine, which is not run: make it "
        "'async def', also each decorator's wrapper of it"
    )


def is_async(function: Callable[..., object]) -> bool:
    """Return whether a function is async, also if it is a ``partial`` or an object with an async ``__call__``."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _finalizers(obj: Unstructured) -> list[str]:
    metadata = obj.get("metadata")
    found = metadata.get("finalizers") if isinstance(metadata, Mapping) else None
    return [each for each in found if isinstance(each, str)] if isinstance(found, list | tuple) else []


def _without_finalizer(obj: Unstructured, name: str) -> dict[str, object]:
    return _with_finalizers(obj, [each for each in _finalizers(obj) if each != name])


def _with_finalizers(obj: Unstructured, finalizers: list[str]) -> dict[str, object]:
    """Return a merge patch; with the resourceVersion, as it replaces the finalizers of others."""
    return {"metadata": {"resourceVersion": obj.resource_version, "finalizers": finalizers}}
