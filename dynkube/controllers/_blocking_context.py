"""``BlockingContext``: a :class:`Context` for reconciles in a thread."""

from __future__ import annotations

import builtins
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

import trio

from dynkube.client import PatchLike, PatchTypeLike, PropagationPolicy
from dynkube.client._objects import ObjectLike
from dynkube.controllers._context import Context
from dynkube.controllers._event_series import EventType
from dynkube.controllers._status_conditions import StatusCondition
from dynkube.controllers._watches import KeyLike, ObjectKey
from dynkube.discovery import ResourceLike
from dynkube.informers import Selector
from dynkube.meta import PatchType, Unstructured

T = TypeVar("T")


class BlockingContext:
    """The :class:`Context` of a reconcile that is a plain function: the same methods, without ``await``.

    The function runs in a thread. Its writes block until the server has responded. After the deadline of the controller
    all methods raise ClosedError, as a thread cannot be cancelled.

    Attributes:
        key: the key that is reconciled.
        attempt: 1, and one more for each failure of the key since it last succeeded.
        cluster: the name of the cluster whose object is reconciled; ``""`` if there is only one.
        state: the value of the lifespan of :func:`run`; ``None`` without one.
        stopped: set when the function should return: its :class:`Daemon` was stopped, its deadline has passed, or its
            calls are refused. ``ctx.stopped.wait(seconds)`` waits, and returns whether it is set.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self.key: ObjectKey = context.key
        self.attempt: int = context.attempt
        self.cluster: str = context.cluster
        self.state: Any = context.state
        self.stopped: threading.Event = threading.Event()
        context._stopped = self.stopped

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that adds the controller, the key and the attempt to its records and messages."""
        return self._context.log

    def get(self, key: KeyLike | str | None = None, *, resource: ResourceLike | None = None) -> Unstructured | None:
        """Return one object from the cache; see :meth:`Context.get`."""
        return self._context.get(key, resource=resource)

    def list(
        self, resource: ResourceLike | None = None, *, namespace: str | None = None, label_selector: Selector = None
    ) -> list[Unstructured]:
        """Return the objects in the cache; see :meth:`Context.list`."""
        return self._context.list(resource, namespace=namespace, label_selector=label_selector)

    def by_index(self, index: str, value: str, *, resource: ResourceLike | None = None) -> builtins.list[Unstructured]:
        """Return the objects that have a value in an index; see :meth:`Context.by_index`."""
        return self._context.by_index(index, value, resource=resource)

    def owned(self) -> builtins.list[Unstructured]:
        """Return the objects that the reconciled object owns; see :meth:`Context.owned`."""
        return self._context.owned()

    def apply(
        self, obj: ObjectLike, *, owned: bool = True, force: bool = True, subresource: str | None = None
    ) -> Unstructured:
        """Server-side apply; sends nothing if it would change nothing. See :meth:`Context.apply`."""
        verb = partial(self._context.apply, obj, owned=owned, force=force, subresource=subresource)
        return self._await(verb)

    def apply_owned(self, objects: Iterable[ObjectLike]) -> builtins.list[Unstructured]:
        """Apply objects, and delete all others that the reconciled object owns; see :meth:`Context.apply_owned`."""
        return self._await(partial(self._context.apply_owned, [*objects]))

    def create(self, obj: ObjectLike, *, owned: bool = True) -> Unstructured:
        """Create an object; see :meth:`Context.create`."""
        return self._await(partial(self._context.create, obj, owned=owned))

    def update(self, obj: ObjectLike) -> Unstructured:
        """Replace an object; see :meth:`Context.update`."""
        return self._await(partial(self._context.update, obj))

    def patch(
        self,
        obj: Unstructured,
        patch: PatchLike,
        *,
        patch_type: PatchTypeLike = PatchType.MERGE,
        subresource: str | None = None,
    ) -> Unstructured:
        """Patch an object; see :meth:`Context.patch`."""
        verb = partial(self._context.patch, obj, patch, patch_type=patch_type, subresource=subresource)
        return self._await(verb)

    def delete(
        self,
        obj: Unstructured,
        *,
        unchanged: bool = False,
        propagation_policy: PropagationPolicy | None = "Background",
    ) -> None:
        """Delete exactly this object; see :meth:`Context.delete`."""
        self._await(partial(self._context.delete, obj, unchanged=unchanged, propagation_policy=propagation_policy))

    def set_status(
        self,
        obj: Unstructured,
        status: Mapping[str, object] | None = None,
        *,
        conditions: Iterable[StatusCondition] = (),
    ) -> Unstructured:
        """Set fields of the status and conditions; see :meth:`Context.set_status`."""
        return self._await(partial(self._context.set_status, obj, status, conditions=[*conditions]))

    def set_conditions(self, obj: Unstructured, *conditions: StatusCondition) -> Unstructured:
        """Set conditions in the status; see :meth:`Context.set_conditions`."""
        return self._await(partial(self._context.set_conditions, obj, *conditions))

    def wrote(self, obj: Unstructured) -> None:
        """Record a write that was made in another way; see :meth:`Context.wrote`."""
        self._await(partial(self._context.wrote, obj))

    def event(
        self,
        reason: str,
        note: str = "",
        *,
        type: EventType = "Normal",  # noqa: A002  # the field of the Event
        regarding: Unstructured | None = None,
        related: Unstructured | None = None,
    ) -> None:
        """Record an event; see :meth:`Context.event`."""
        record = partial(self._context.event, reason, note, type=type, regarding=regarding, related=related)
        trio.from_thread.run_sync(record)

    def _await(self, verb: Callable[[], Awaitable[T]]) -> T:
        return trio.from_thread.run(self._context._from_thread, verb)
