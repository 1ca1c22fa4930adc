"""Large writes: computed in a worker thread, then committed by the event loop if nothing they depend on has changed.

Patching, validating and tracking field ownership of a 1 MB object takes seconds of CPU. In a thread it does not block
the other requests. Concurrency is optimistic, as in kube-apiserver's GuaranteedUpdate: a draft whose inputs changed is
discarded and computed again.
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
"""Bytes of a request body plus the stored object; a write of more than this is large."""

_MAX_OPERATIONS = 10  # a JSON patch with more is large however short it is: each "copy" can double the object
_MAX_ATTEMPTS = 3


class Draft:
    """A transaction for one call: reads go to the storage, the write is buffered until :meth:`commit`.

    :attr:`outdated` and :meth:`commit` belong to the event loop; everything else may run in a worker thread.

    Args:
        storage: The storage to commit to.
        registry: The kinds served.
        call: A create, update or patch.
    """

    def __init__(self, storage: Storage, registry: Registry, call: Call) -> None:
        self._storage = storage
        self._registry = registry
        self._call = call
        self.begin()

    def begin(self) -> None:
        """Read the inputs anew. Called when the worker thread starts, which may be long after the call arrived."""
        self._revision = self._storage.revision  # first: a change after this one counts
        self._served = self._registry.revision
        self._namespace = self._present_namespace()
        self._read: dict[tuple[str, str], Version | None] = {}
        self._written: tuple[str, Version | None] | None = None

    # ── WriteStorage, for the worker thread ───────────────────────────────────────────────────

    def get(self, kind: Kind, namespace: str, name: str) -> Version | None:
        """Return the stored state of one object."""
        version = self._storage.get(kind, namespace, name)
        return self._read.setdefault((kind.storage_group, storage_key(namespace, name)), version)

    def put(self, kind: Kind, obj: JSONObject) -> Version:
        """Buffer a write of ``obj``."""
        return self.put_version(kind, self.encoded(kind, obj))

    def encoded(self, kind: Kind, obj: JSONObject) -> Version:
        """Return ``obj`` as it would be stored now; the resourceVersion may change on commit."""
        return self._storage.encoded(kind, obj)

    def put_version(self, kind: Kind, version: Version) -> Version:
        """Buffer a write of what :meth:`encoded` returned."""
        self._written = (version.key, version)
        return version

    def remove(self, group: str, key: str) -> Version:
        """Buffer the deletion of an object."""
        self._written = (key, None)
        return self._storage.collection(group).current[key]

    # ── in the event loop ─────────────────────────────────────────────────────────────────

    @property
    def outdated(self) -> bool:
        """Whether an input of the call has changed since the draft was created.

        Inputs are the object, its namespace, and the kinds that are served; for built-in kinds also all other objects
        of the kind, since Services share addresses and ports.
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
        """Perform the buffered write and return the result of the call; ``None`` if the draft is outdated."""
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
            return None  # a Scale contains the resourceVersion, which would be wrong now
        stored = self._storage.put_version(kind, version.moved_to(self._storage.revision + 1))
        return replace(result, document=replace(result.document, version=stored))

    def _present_namespace(self) -> Version | None:
        return self._storage.collection(NAMESPACES).current.get(self._call.namespace)


async def in_thread(function: Callable[[], T], limiter: trio.CapacityLimiter | None = None) -> T:
    """Call a function without side effects in a worker thread.

    Cancellation returns at once and abandons the thread, which ends by itself.
    """
    return await trio.to_thread.run_sync(_without_collection, function, abandon_on_cancel=True, limiter=limiter)


def _without_collection(function: Callable[[], T]) -> T:
    """Call ``function`` with the cyclic garbage collector disabled.

    Decoding and comparing large objects creates millions of small ones, and no cycles. A full collection among them
    stops all threads: for 60 to 200 ms while a list of 60,000 items was applied.
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
    """Handles large writes.

    Attributes:
        storage: The storage to commit to.
        registry: The kinds served.
        compute: Handles a call with a draft as its storage; called in a worker thread.
        settle: Called in the event loop after each commit.
    """

    storage: Storage
    registry: Registry
    compute: Callable[[Call, Draft], Result]
    settle: Callable[[], None]
    # One at a time: because of the GIL, two would not finish sooner, and would need twice the memory.
    _threads: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(1))

    def includes(self, call: Call) -> bool:
        """Whether ``call`` is a write that would block the event loop for long."""
        if call.verb not in {"create", "update", "patch"}:
            return False
        old = self.storage.get(call.kind, call.namespace, call.name)
        size = call.size + (0 if old is None else len(old.rest))
        return size > LARGE or (isinstance(call.body, list) and len(call.body) > _MAX_OPERATIONS)

    async def handle(self, call: Call) -> Result | None:
        """Handle ``call``; ``None`` if every attempt was outdated, in which case nothing was stored.

        Cancellation stores nothing.

        Raises:
            APIError: The error response to the call.
        """
        for _ in range(_MAX_ATTEMPTS):
            draft, tried = Draft(self.storage, self.registry, call), replace(call, warnings=[])
            try:
                result = await in_thread(partial(self._attempt, tried, draft), limiter=self._threads)
            except Exception:
                if draft.outdated:
                    continue  # the error may come from reading two states of the storage
                call.warnings.extend(tried.warnings)
                raise
            if (stored := draft.commit(result)) is not None:
                self.settle()
                call.warnings.extend(tried.warnings)
                return replace(stored, warnings=tuple(tried.warnings))
        return None

    def _attempt(self, call: Call, draft: Draft) -> Result:
        draft.begin()
        return self.compute(call, draft)
