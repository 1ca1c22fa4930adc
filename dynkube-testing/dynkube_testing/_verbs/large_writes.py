"""Large writes: computed in a worker thread, then committed in the event loop.

Patching, validating and tracking field ownership of a 1 MB object takes seconds of CPU, and so may the rules of a CRD,
whose costs have little to do with the size of the object. In a thread this does not block the other requests.
Concurrency is optimistic, as in kube-apiserver's GuaranteedUpdate: the result of the computation (a draft) is committed
only if none of its inputs has changed meanwhile; otherwise it is computed again.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

import trio

from dynkube_testing._calls.api import Call, JSONObject, Result
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._schemas.content import VersionContent
from dynkube_testing._store.documents import StoredDocument
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version, storage_key
from dynkube_testing._verbs.namespaces import NAMESPACES

T = TypeVar("T")

LARGE: Final = 8 * 1024
"""A write is large if the request body and the stored object together have more than this many bytes."""

# A JSON patch with more operations is always a large write, since each "copy" can double the size of the object.
_MAX_OPERATIONS = 10
_MAX_ATTEMPTS = 3


class Draft:
    """A transaction for one call.

    It reads the storage, and buffers its write until :meth:`commit`.

    Use :attr:`outdated` and :meth:`commit` only in the event loop; everything else may run in a worker thread.

    Args:
        storage: The storage to read and to commit to.
        registry: The served kinds.
        call: A create, update or patch.
    """

    def __init__(self, storage: Storage, registry: Registry, call: Call) -> None:
        self._storage = storage
        self._registry = registry
        self._call = call
        self.begin()

    def begin(self) -> None:
        """Start (again) from the present state of the storage.

        This is called when the worker thread starts, which may be long after the request arrived.
        """
        self._revision = self._storage.revision  # read first, so that later changes make the draft outdated
        self._served = self._registry.revision
        self._namespace = self._present_namespace()
        self._read: dict[tuple[str, str], Version | None] = {}
        self._listed: set[str] = set()
        self._written: tuple[str, Version | None] | None = None

    # ── WriteStorage, for the worker thread ───────────────────────────────────────────────────

    def get(self, kind: Kind, namespace: str, name: str) -> Version | None:
        """Return the stored version of an object; ``None`` if it does not exist."""
        version = self._storage.get(kind, namespace, name)
        return self._read.setdefault((kind.storage_group, storage_key(namespace, name)), version)

    def objects(self, group: str, namespace: str = "") -> list[Version]:
        """Return the current objects of a resource: those in ``namespace``, or all."""
        self._listed.add(group)
        return self._storage.objects(group, namespace)

    def put(self, kind: Kind, obj: JSONObject) -> Version:
        """Buffer a write of ``obj``."""
        return self.put_version(kind, self.encoded(kind, obj))

    def encoded(self, kind: Kind, obj: JSONObject) -> Version:
        """Return ``obj`` as it would be stored now.

        :meth:`commit` may change its resourceVersion.
        """
        return self._storage.encoded(kind, obj)

    def put_version(self, kind: Kind, version: Version) -> Version:
        """Buffer a write of ``version``, which :meth:`encoded` has returned."""
        self._written = (version.key, version)
        return version

    def remove(self, group: str, key: str) -> Version:
        """Buffer the deletion of an object."""
        self._written = (key, None)
        return self._storage.collection(group).current[key]

    # ── in the event loop ─────────────────────────────────────────────────────────────────

    @property
    def outdated(self) -> bool:
        """Whether an input of the call has changed since :meth:`begin`.

        Inputs are the object, its namespace, the served kinds, and the resources that admission plugins have listed.
        For built-in kinds all other objects of the kind are inputs, too, since for example addresses and ports must be
        unique among Services.
        """
        if self._storage.revision == self._revision:
            return False
        if self._registry.revision != self._served or self._present_namespace() is not self._namespace:
            return True
        own = () if self._call.kind.crd_uid else (self._call.kind.storage_group,)
        if any(self._has_changed(group) for group in (*own, *self._listed)):
            return True
        return any(
            self._storage.collection(group).current.get(key) is not version
            for (group, key), version in self._read.items()
        )

    def commit(self, result: Result) -> Result | None:
        """Perform the buffered write, and return ``result`` with the stored version.

        ``None`` if the draft is outdated; then nothing is stored.
        """
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
            return None  # the result (a Scale) has the resourceVersion of the draft, which is no longer right
        moved = version.copied(kind, version.moved_to(self._storage.revision + 1))
        stored = self._storage.put_version(kind, moved)
        return replace(result, document=replace(result.document, version=stored))

    def _has_changed(self, group: str) -> bool:
        log = self._storage.collection(group).log
        return bool(log) and log[-1].revision > self._revision

    def _present_namespace(self) -> Version | None:
        return self._storage.collection(NAMESPACES).current.get(self._call.namespace)


async def in_thread(function: Callable[[], T], limiter: trio.CapacityLimiter | None = None) -> T:
    """Call a function without side effects in a worker thread, and return its result.

    On cancellation this does not wait for the thread, which runs to the end of the function.
    """
    return await trio.to_thread.run_sync(_without_collection, function, abandon_on_cancel=True, limiter=limiter)


def _without_collection(function: Callable[[], T]) -> T:
    """Call ``function`` with the cyclic garbage collector disabled.

    Decoding and comparing large objects creates millions of small objects, without cycles. A full collection of them
    stops all threads; while a list of 60,000 items was applied, this took 60 to 200 ms.
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
    """Handles large writes in a worker thread.

    Attributes:
        storage: The storage to read and to commit to.
        registry: The served kinds.
        compute: Handles a call with a draft as its storage; called in a worker thread.
        settle: Called in the event loop after each commit.
    """

    storage: Storage
    registry: Registry
    compute: Callable[[Call, Draft], Result]
    settle: Callable[[], None]
    # Only one thread: because of the GIL, two would not be faster, and would need twice the memory.
    _threads: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(1))

    def includes(self, call: Call) -> bool:
        """Return whether ``call`` is a large write.

        It would block the event loop for long.
        """
        if call.verb not in {"create", "update", "patch"}:
            return False
        if isinstance(content := call.kind.content, VersionContent) and content.own.root.with_rules:
            return True
        old = self.storage.get(call.kind, call.namespace, call.name)
        size = call.size + (0 if old is None else old.size)
        return size > LARGE or (isinstance(call.body, list) and len(call.body) > _MAX_OPERATIONS)

    async def handle(self, call: Call) -> Result | None:
        """Handle ``call`` in a worker thread, and return the result.

        If an input has changed in each attempt, ``None`` is returned and nothing is stored. Nothing is stored on
        cancellation, either.

        Raises:
            APIError: The error response to the call.
        """
        for _ in range(_MAX_ATTEMPTS):
            draft, tried = Draft(self.storage, self.registry, call), replace(call, warnings=[])
            try:
                result = await in_thread(partial(self._attempt, tried, draft), limiter=self._threads)
            except Exception:
                if draft.outdated:
                    continue  # the storage changed while the thread read it, so the error may be wrong
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
