"""Writes of large objects: worked out in a thread, and stored by the event loop if they still apply.

Decoding is linear, but patches, schemas and field ownership of an object of a megabyte take seconds. Meanwhile
the loop goes on for everybody else. It is optimistic concurrency, as in kube-apiserver's GuaranteedUpdate: a draft is
thrown away and made again where something that it depends on was changed meanwhile.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

import trio

from dynkube.testing._calls.api import Call, JSONObject, Result
from dynkube.testing._kinds.kinds import Kind, Registry
from dynkube.testing._store.documents import StoredDocument
from dynkube.testing._store.storage import Storage
from dynkube.testing._store.versions import Version, storage_key
from dynkube.testing._verbs.namespaces import NAMESPACES

T = TypeVar("T")

LARGE: Final = 8 * 1024
"""Bytes of a request and of the object that it changes, from which on a write is large."""

_OPERATIONS = 10  # of a JSON patch; a copy can double an object, so that more of them are large however short they are
_ATTEMPTS = 3


class Draft:
    """A storage to the write of one call: it reads from the real one, and what is written is kept for later.

    Everything but :meth:`commit` and :attr:`outdated` may be called in another thread.

    Args:
        storage: Where the write goes in the end.
        registry: The kinds served.
        call: What is drafted: a create, update or patch.
    """

    def __init__(self, storage: Storage, registry: Registry, call: Call) -> None:
        self._storage = storage
        self._registry = registry
        self._call = call
        self._revision = storage.revision
        self._served = registry.revision
        self._namespace = self._present_namespace()
        self._read: dict[tuple[str, str], Version | None] = {}
        self._written: tuple[str, Version | None] | None = None

    # ── what a write needs of a storage ───────────────────────────────────────────────────

    def get(self, kind: Kind, namespace: str, name: str) -> Version | None:
        """The present state of one object."""
        version = self._storage.get(kind, namespace, name)
        return self._read.setdefault((kind.storage_group, storage_key(namespace, name)), version)

    def put(self, kind: Kind, obj: JSONObject) -> Version:
        """Write ``obj`` when the draft is committed."""
        return self.put_version(kind, self.encoded(kind, obj))

    def encoded(self, kind: Kind, obj: JSONObject) -> Version:
        """``obj`` as it would be stored if nothing else was written meanwhile."""
        return self._storage.encoded(kind, obj)

    def put_version(self, kind: Kind, version: Version) -> Version:
        """Write what :meth:`encoded` gave, when the draft is committed."""
        self._written = (version.key, version)
        return version

    def remove(self, group: str, key: str) -> Version:
        """Delete an object when the draft is committed."""
        self._written = (key, None)
        return self._storage.collection(group).current[key]

    # ── in the event loop ─────────────────────────────────────────────────────────────────

    @property
    def outdated(self) -> bool:
        """Whether something has changed since the draft was begun that the call may depend on.

        That is the object, its namespace and the kinds that are served; and for built-in kinds all objects of the kind,
        since services share addresses and ports.
        """
        if self._storage.revision == self._revision:
            return False
        if self._registry.revision != self._served or self._present_namespace() is not self._namespace:
            return True
        if self._call.kind.crd_uid is None:
            log = self._storage.collection(self._call.kind.storage_group).log
            return bool(log) and log[-1].revision > self._revision
        return any(
            self._storage.collection(group).current.get(key) is not version
            for (group, key), version in self._read.items()
        )

    def commit(self, result: Result) -> Result | None:
        """Store what was written, and return the ``result`` of the call, or ``None`` where the draft is outdated."""
        if self._written is None:
            return result
        if self.outdated:
            return None
        kind, (key, version) = self._call.kind, self._written
        if version is None:
            self._storage.remove(kind.storage_group, key)
            return result
        if self._storage.revision == self._revision:
            self._storage.put_version(kind, version)
            return result
        if not isinstance(result.document, StoredDocument):
            return None  # a Scale has the resourceVersion that the object would have had
        stored = self._storage.put_version(kind, version.moved_to(self._storage.revision + 1))
        return replace(result, document=replace(result.document, version=stored))

    def _present_namespace(self) -> Version | None:
        return self._storage.collection(NAMESPACES).current.get(self._call.namespace)


async def in_thread(function: Callable[[], T], limiter: trio.CapacityLimiter | None = None) -> T:
    """Call what has no effects and may take long. Cancelled, it returns at once, and the thread ends on its own."""
    return await trio.to_thread.run_sync(_without_collection, function, abandon_on_cancel=True, limiter=limiter)


def _without_collection(function: Callable[[], T]) -> T:
    """Call ``function`` with the collector of cycles off, if it is on.

    What decodes and compares large objects makes millions of small ones without cycles. A full collection among them
    stops all threads, for 60 to 200 ms where a list of 60,000 items is applied.
    """
    if not gc.isenabled():
        return function()
    gc.disable()
    try:
        return function()
    finally:
        gc.enable()


@dataclass(frozen=True, slots=True)
class LargeWrites:
    """Carries out large writes.

    Attributes:
        storage: Where they go.
        registry: The kinds served.
        carry_out: Carries out a call with a draft in the place of the storage; called in a thread.
        settle: Called after each write, in the event loop.
    """

    storage: Storage
    registry: Registry
    carry_out: Callable[[Call, Draft], Result]
    settle: Callable[[], None]
    # One at a time: two would not end sooner, and need twice the memory.
    _threads: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(1))

    def includes(self, call: Call) -> bool:
        """Whether ``call`` is a write that would hold the event loop for long."""
        if call.verb not in {"create", "update", "patch"}:
            return False
        old = self.storage.get(call.kind, call.namespace, call.name)
        size = call.size + (0 if old is None else len(old.rest))
        return size > LARGE or (isinstance(call.body, list) and len(call.body) > _OPERATIONS)

    async def handle(self, call: Call) -> Result | None:
        """Carry out ``call``; ``None`` if others were faster each time, so that nothing was done.

        Cancelled, it stores nothing, and the thread ends on its own.

        Raises:
            APIError: The call is refused.
        """
        for _ in range(_ATTEMPTS):
            draft, tried = Draft(self.storage, self.registry, call), replace(call, warnings=[])
            try:
                result = await in_thread(partial(self.carry_out, tried, draft), limiter=self._threads)
            except Exception:
                if draft.outdated:
                    continue  # also where two states were mixed up because of that
                call.warnings.extend(tried.warnings)
                raise
            if (stored := draft.commit(result)) is not None:
                self.settle()
                call.warnings.extend(tried.warnings)
                return replace(stored, warnings=tuple(tried.warnings))
        return None
