"""``Context``: what a reconcile reads and writes."""

from __future__ import annotations

import builtins
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from typing import Any, Final, TypeVar

import trio

from dynkube._client import Client
from dynkube._logs import get_logger
from dynkube.client import PatchLike, PatchTypeLike, PropagationPolicy
from dynkube.client._objects import ObjectLike, as_object, check_name
from dynkube.controllers._applied import AppliedBefore
from dynkube.controllers._caches import Caches
from dynkube.controllers._event_recorder import EventRecorder
from dynkube.controllers._event_series import EventType
from dynkube.controllers._own_writes import OwnWrites
from dynkube.controllers._owner_recheck import OwnerRecheck
from dynkube.controllers._owners import check_may_own, is_controlled_by, with_owner
from dynkube.controllers._status_conditions import StatusCondition, merged_conditions
from dynkube.controllers._watches import KeyLike, ObjectKey
from dynkube.discovery import APIResource, ResourceLike
from dynkube.errors import ClosedError, DynkubeError, InvalidInput, NotFound, ServerError, TransportError
from dynkube.errors._evidence import proves_deletion
from dynkube.fields._steps import same_json
from dynkube.informers import Selector
from dynkube.meta import MISSING, LabelSelector, PatchType, Unstructured
from dynkube.meta._patch import merge_patch

T = TypeVar("T")

_log: Final = get_logger("dynkube.controllers")


class Context:
    """The caches that a reconcile reads, and the verbs with which it writes; passed to the reconcile function.

    **Reads** do not wait and send nothing: they return what the informers of the controller have. The key is not
    reconciled before these have all that earlier reconciles of it have written. What *this* reconcile writes appears
    later: use what the verbs return. Each object is returned once, also if several informers have it. If a resource
    becomes available while the reconcile runs, reads of it raise StaleCache until its objects are listed.

    **Writes** go to the API server. They raise the errors of :class:`ResourceClient`; Conflict, AlreadyExists, NotFound
    and StaleCache need not be caught, as the key is then reconciled again. A write without a response may have taken
    effect: its object is read from the server before the key is reconciled again. Writes are made under the name of the
    controller as field manager. Writes by :attr:`client` have to be recorded with :meth:`wrote`.

    A context can be used only while its reconcile runs: later, all methods raise ClosedError.

    Attributes:
        key: the key that is reconciled.
        attempt: 1, and one more for each failure of the key since it last succeeded.
        cluster: the name of the cluster whose object is reconciled; ``""`` if :func:`run` was given one client.
        client: the client of this cluster, for all that the context does not offer.
        clients: the clients of all clusters, by name. What is written by another cluster's client is not recorded: the
            key is reconciled again whether or not the cache of that cluster shows it.
        state: the value of the lifespan of :func:`run`; ``None`` without one.
    """

    def __init__(
        self,
        key: ObjectKey,
        attempt: int,
        *,
        cluster: str,
        clients: Mapping[str, Client],
        caches: Caches,
        writes: OwnWrites,
        owner_recheck: OwnerRecheck,
        applied: AppliedBefore,
        events: EventRecorder | None,
        field_manager: str,
        now: Callable[[], datetime],
        state: Any = None,
    ) -> None:
        self.key: ObjectKey = key
        self.attempt: int = attempt
        self.cluster: str = cluster
        self.client: Client = clients[cluster]
        self.clients: Mapping[str, Client] = clients
        self.state: Any = state  # of any type: users know what their lifespan yields
        self._caches = caches
        # For get(), if the resource disappears, so that it is not known whether the object was deleted.
        self._obj_at_start: Unstructured | None
        try:
            self._obj_at_start = caches.primary.get(key)
        except DynkubeError:  # get() raises it
            self._obj_at_start = None
        self._written: Unstructured | None = None  # the reconciled object, as this call has stored it last
        self._writes = writes
        self._owner_recheck = owner_recheck
        self._applied = applied
        self._events = events
        self._manager = field_manager
        self._now = now
        self._ended = ""
        self._calls: set[trio.CancelScope] = set()  # of a thread
        self._stopped: threading.Event | None = None  # if the function runs in a thread
        self._thread_ended: trio.Event | None = None  # set when the function has returned, if it runs in a thread

    @cached_property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that adds the controller, the key and the attempt to its records and messages."""
        cluster = {"cluster": self.cluster} if self.cluster else {}
        fields = {"controller": self._manager, **cluster, "key": str(self.key), "attempt": self.attempt}
        return _KeyLogger(_log, fields)

    # ── reads ────────────────────────────────────────────────────────────────────────────────

    def get(self, key: KeyLike | str | None = None, *, resource: ResourceLike | None = None) -> Unstructured | None:
        """Return one object from the cache; ``None`` if it is not there. Does not block.

        If the reconciled resource disappears while the reconcile runs, and its objects may still exist, the reconciled
        object is returned as it was when the reconcile began.

        Args:
            key: a key, an object with the same key, or a name, in the namespace of the reconciled key or of a
                cluster-scoped object; by default the reconciled key.
            resource: as in ``owns`` or ``watches``, its plural, or its GVR; by default the reconciled resource.

        Raises:
            InvalidInput: the controller does not watch this resource.
            StaleCache: the object is not cached, and the resource is being listed.
            ClosedError: the reconcile has ended.
        """
        self._check()
        objects = self._caches.of(resource)
        if isinstance(key, str):
            keys = [ObjectKey(self.key.namespace, key), ObjectKey("", key)]
        else:
            keys = [self.key if key is None else ObjectKey.of(key)]
        for each in keys:
            if (found := objects.get(each)) is not None:
                return found
        if resource is None and self.key in keys and not self._caches.is_known(self.key):
            return self._obj_at_start  # it may exist
        objects.check_synced()
        return None

    def list(
        self, resource: ResourceLike | None = None, *, namespace: str | None = None, label_selector: Selector = None
    ) -> builtins.list[Unstructured]:
        """Return the objects in the cache, in no particular order. Does not block.

        Args:
            resource: as for :meth:`get`.
            namespace: only objects in this namespace; ``None`` for all that are watched.
            label_selector: only objects that match.

        Raises:
            InvalidInput: the controller does not watch this resource, or the selector does not parse.
            StaleCache: the resource is being listed.
            ClosedError: the reconcile has ended.
        """
        self._check()
        matches = LabelSelector.parse(label_selector).compiled()
        objects = self._caches.of(resource)
        objects.check_synced()
        return [obj for obj in objects.list() if namespace in (None, obj.namespace) and matches(obj.labels)]

    def by_index(self, index: str, value: str, *, resource: ResourceLike | None = None) -> builtins.list[Unstructured]:
        """Return the objects that have a value in an index. Does not block.

        Args:
            index: the name of the index, in ``indexes`` of the controller or of the watch.
            value: the value to look up.
            resource: as for :meth:`get`.

        Raises:
            InvalidInput: the controller does not watch this resource, or it has no such index.
            StaleCache: the resource is being listed.
            ClosedError: the reconcile has ended.
        """
        self._check()
        objects = self._caches.of(resource)
        objects.check_synced()
        return [*objects.by_index(index, value)]

    def owned(self) -> builtins.list[Unstructured]:
        """Return the objects in the caches that the reconciled object owns, of all resources in ``owns``.

        Raises:
            StaleCache: one of the resources is being listed.
            ClosedError: the reconcile has ended.
        """
        owner = self.get()
        return [] if owner is None else [*self._caches.owned_by(owner.uid)]

    # ── writes ───────────────────────────────────────────────────────────────────────────────

    async def apply(
        self, obj: ObjectLike, *, owned: bool = True, force: bool = True, subresource: str | None = None
    ) -> Unstructured:
        """Server-side apply. Sends nothing if it would change nothing.

        That is known if the cache has the object as the server returned it after the controller's last apply, and the
        same is applied again. So it needs a watch of the resource, of whole objects.

        Args:
            obj: the fields to own; the namespace of the reconciled object is the default.
            owned: add an owner reference to the reconciled object, with ``controller: true``. Kubernetes deletes the
                object when its owner is deleted.
            force: take over conflicting fields, as controllers are to do (KEP-555).
            subresource: apply to ``"status"`` or another subresource; no owner reference is added then.

        Returns:
            The object as stored, or as cached if nothing was sent.

        Raises:
            InvalidInput: the reconciled object cannot own this one, or is not in the cache; or neither has a namespace,
                which this one requires.
            StaleCache: the reconciled object was deleted, which the cache does not show yet.
            DynkubeError: any other failure; see :class:`ResourceClient`.
            ClosedError: the reconcile has ended.
        """
        resource, desired = await self._prepared(obj, owned=owned and subresource is None)
        memory = f"{resource.gvr.resource}.{resource.gvr.group}/{subresource or ''}"
        cached = self._caches.of_version(resource.gvr).get(desired.key)
        reduced = cached is not None and cached.metadata_only
        if cached is not None and not reduced and self._applied.unchanged(memory, desired, cached):
            return cached
        if cached is None and owned and subresource is None:
            await self._recheck_owner()
        request = self.client.resource(resource.gvr).apply(
            desired,
            field_manager=self._manager,
            force=force,
            subresource=subresource,
            live=None
            if reduced
            else MISSING
            if cached is None
            else cached,  # saves the read that tells whether anything has changed
        )
        stored = await self._stored(resource, desired, request)
        self._applied.remember(memory, desired, stored)
        return stored

    async def apply_owned(self, objects: Iterable[ObjectLike]) -> builtins.list[Unstructured]:
        """Apply objects, and delete all others that the reconciled object owns.

        Others are those in the caches of ``owns`` of which the reconciled object is the controller. They are deleted
        after all objects were applied.

        Args:
            objects: the objects that the reconciled object is to own.

        Returns:
            The objects as stored.

        Raises:
            DynkubeError: any error of :meth:`apply` and :meth:`delete`. What was done until then stays.
        """
        owner = self._owner()
        stored = [await self.apply(obj) for obj in objects]
        kept = {obj.uid for obj in stored}
        for obj in self.owned():
            if obj.uid not in kept and obj.deletion_timestamp is None and is_controlled_by(obj, owner):
                await self.delete(obj)
        return stored

    async def create(self, obj: ObjectLike, *, owned: bool = True) -> Unstructured:
        """Create an object.

        Args:
            obj: the object; the namespace of the reconciled object is the default.
            owned: add an owner reference to the reconciled object, with ``controller: true``.

        Raises:
            AlreadyExists: there is such an object.
            StaleCache: the resource is being listed, so that it is not known what exists; or the reconciled object was
                deleted, which the cache does not show yet.
            InvalidInput: the reconciled object cannot own this one, or is not in the cache; or neither has a namespace,
                which this one requires.
            DynkubeError: any other failure; see :class:`ResourceClient`.
            ClosedError: the reconcile has ended.
        """
        resource, desired = await self._prepared(obj, owned=owned)
        self._caches.check_synced(resource.gvr)  # else it may exist already, as of a backup
        if owned:
            await self._recheck_owner()
        request = self.client.resource(resource.gvr).create(desired, field_manager=self._manager)
        return await self._stored(resource, desired, request)

    async def update(self, obj: ObjectLike) -> Unstructured:
        """Replace an object.

        Args:
            obj: the whole object; with its resourceVersion, so that the changes of others are not lost.

        Raises:
            Conflict: the object has changed since it was read.
            DynkubeError: any other failure; see :class:`ResourceClient`.
            ClosedError: the reconcile has ended.
        """
        resource, desired = await self._prepared(obj, owned=False)
        request = self.client.resource(resource.gvr).update(desired, field_manager=self._manager)
        return await self._stored(resource, desired, request)

    async def patch(
        self,
        obj: Unstructured,
        patch: PatchLike,
        *,
        patch_type: PatchTypeLike = PatchType.MERGE,
        subresource: str | None = None,
    ) -> Unstructured:
        """Patch an object.

        Args:
            obj: the object, which is identified by apiVersion, kind, namespace and name.
            patch: as for :meth:`ResourceClient.patch`.
            patch_type: as for :meth:`ResourceClient.patch`.
            subresource: ``"status"`` or another subresource.

        Raises:
            NotFound: there is no such object.
            Conflict: the patch has a resourceVersion that is not the object's.
            DynkubeError: any other failure; see :class:`ResourceClient`.
            ClosedError: the reconcile has ended.
        """
        resource = await self._resource_of(obj)
        where = {"namespace": obj.namespace or None, "patch_type": patch_type, "field_manager": self._manager}
        client = self.client.resource(resource.gvr)
        verb = client.patch if subresource is None else client.subresource(subresource).patch
        return await self._stored(resource, obj, verb(obj.name, patch, **where))  # type: ignore[arg-type]

    async def delete(
        self,
        obj: Unstructured,
        *,
        unchanged: bool = False,
        propagation_policy: PropagationPolicy | None = "Background",
    ) -> None:
        """Delete this object, identified by its UID. Returns also if the server says that it does not exist.

        A 404 that does not name the object, as of an API server that is starting or of a proxy, is raised.

        Args:
            obj: the object, with its UID.
            unchanged: delete it only if it has not changed since it was read, as the reason to delete it may be gone.
            propagation_policy: what happens to its dependents, as for :meth:`ResourceClient.delete`.

        Raises:
            InvalidInput: the object has no UID, or no resourceVersion with ``unchanged``.
            Conflict: another object has this name, or with ``unchanged`` the object has changed.
            NotFound: the resource is not served at this moment, or the response is not the API server's.
            DynkubeError: any other failure; see :class:`ResourceClient`.
            ClosedError: the reconcile has ended.
        """
        if not obj.uid:
            raise InvalidInput(f"{obj!r} has no UID: pass an object from the cache or from the server")
        if unchanged and not obj.resource_version:
            raise InvalidInput(f"{obj!r} has no resourceVersion: pass an object from the cache or from the server")
        resource = await self._resource_of(obj)
        try:
            with self._answered(resource, obj):
                left = await self.client.resource(resource.gvr).delete(
                    obj.name,
                    namespace=obj.namespace or None,
                    uid=obj.uid,
                    resource_version=obj.resource_version if unchanged else None,
                    propagation_policy=propagation_policy,
                )
        except NotFound as exc:
            if not proves_deletion(exc):
                raise
            left = None
        if left is not None and left.deletion_timestamp is not None and left.uid == obj.uid:
            self._writes.written(self.key, resource, left)
        else:
            version = "" if left is None or left.uid != obj.uid else left.resource_version
            self._writes.deleted(self.key, resource, obj, version=version)

    async def set_status(
        self,
        obj: Unstructured,
        status: Mapping[str, object] | None = None,
        *,
        conditions: Iterable[StatusCondition] = (),
    ) -> Unstructured:
        """Set fields of the status and conditions. Sends nothing if they are set already.

        Other fields and other conditions stay as they are: objects within the status are merged, lists are replaced
        (RFC 7386). A condition's ``lastTransitionTime`` changes only together with its status. ``observedGeneration``
        is the generation of ``obj``; it is left out if the resource has no status subresource, as each write of the
        status is a new generation then.

        Args:
            obj: the object as it was read: if it has changed since, Conflict is raised, and the key reconciled again.
            status: fields to set; those that are ``None`` are removed.
            conditions: conditions to set.

        Returns:
            The object as stored; ``obj`` if nothing was sent.

        Raises:
            Conflict: the object has changed since it was read.
            Invalid: the status is not valid.
            DynkubeError: any other failure; see :class:`ResourceClient`.
            ClosedError: the reconcile has ended.
        """
        resource = await self._resource_of(obj)
        separate = "status" in resource.subresources
        present = obj.get("status")
        present = present if isinstance(present, Mapping) else {}
        wanted = dict(status or {})
        if conditions := tuple(conditions):
            given = present.get("conditions")
            listed = [each for each in given if isinstance(each, Mapping)] if isinstance(given, list | tuple) else []
            # Without the subresource, each write of the status is a new generation, which would be written again.
            generation = obj.generation or None if separate else None
            wanted["conditions"] = merged_conditions(listed, conditions, now=self._now(), generation=generation)
        if same_json(merge_patch(present, wanted), present):
            return obj
        patch = {"metadata": {"resourceVersion": obj.resource_version}, "status": wanted}
        return await self.patch(obj, patch, subresource="status" if separate else None)

    async def set_conditions(self, obj: Unstructured, *conditions: StatusCondition) -> Unstructured:
        """Set conditions in the status: :meth:`set_status` without other fields."""
        return await self.set_status(obj, conditions=conditions)

    async def wrote(self, obj: Unstructured) -> None:
        """Record a write that was made with :attr:`client`, so that the key waits until the cache shows it.

        Args:
            obj: the object as the server returned it.

        Raises:
            NoMatch: the server does not serve such objects.
            ClosedError: the reconcile has ended.
        """
        self._record(await self._resource_of(obj), obj)

    def event(
        self,
        reason: str,
        note: str = "",
        *,
        type: EventType = "Normal",  # noqa: A002  # the field of the Event
        regarding: Unstructured | None = None,
        related: Unstructured | None = None,
    ) -> None:
        """Record an event for ``kubectl events`` and ``kubectl describe``. Does not block.

        Repeated events are sent as a series. Does nothing if the controller records no events.

        Args:
            reason: one CamelCase word, like ``"Created"``.
            note: text for humans.
            type: ``"Normal"`` or ``"Warning"``.
            regarding: the object it is about; by default the reconciled one.
            related: another object that it concerns.

        Raises:
            InvalidInput: an argument is invalid, or the reconciled object is not in the cache.
            ClosedError: the reconcile has ended.
        """
        self._check()
        about = self._owner() if regarding is None else regarding
        if self._events is not None:
            self._events.event(about, reason, note, type=type, related=related)

    # ── internals ────────────────────────────────────────────────────────────────────────────

    def _end(self, why: str) -> None:
        """Refuse all calls from now on, and cancel those of a thread."""
        self._ended = self._ended or why
        self._stop()
        for call in tuple(self._calls):
            call.cancel()

    def _stop(self) -> None:
        """Tell a thread to return; it may make calls until :meth:`_end`."""
        if self._stopped is not None:
            self._stopped.set()

    async def _from_thread(self, verb: Callable[[], Awaitable[T]]) -> T:
        """Make a call for a thread, which nothing else would cancel."""
        self._check()
        with trio.CancelScope() as scope:
            self._calls.add(scope)
            try:
                return await verb()
            finally:
                self._calls.discard(scope)
        self._check()
        raise ClosedError("unreachable")

    def _check(self) -> None:
        if self._ended:
            raise ClosedError(f"this context is of a reconcile of {self.key} that {self._ended}: do not keep it")

    def _owner(self) -> Unstructured:
        owner = self.get()
        if owner is None:
            raise InvalidInput(f"{self.key} is not in the cache: return if ctx.get() is None")
        return owner

    async def _prepared(self, obj: ObjectLike, *, owned: bool) -> tuple[APIResource, Unstructured]:
        """Return the resource, and the object with namespace and owner."""
        given = as_object(obj)
        check_name(given, generate=True)
        resource = await self._resource_of(given)
        changed = given.to_dict()
        metadata = changed["metadata"]
        if resource.namespaced and not given.namespace:
            if not self.key.namespace:
                raise InvalidInput(
                    f"{given!r} has no namespace, and {self.key}, whose namespace would be the default, is "
                    "cluster-scoped: set metadata.namespace"
                )
            metadata["namespace"] = self.key.namespace
        if owned:
            owner = self._owner()
            check_may_own(owner, Unstructured(changed), namespaced=resource.namespaced)
            changed = with_owner(changed, owner)
        return resource, Unstructured(changed)

    async def _recheck_owner(self) -> None:
        """Read the owner from the server before it gets an object in place of one that was deleted."""
        if self._owner_recheck.is_due(self.key):
            owner = self._owner()
            await self._owner_recheck.check(self.key, await self._resource_of(owner), owner)
            self._check()

    async def _resource_of(self, obj: Unstructured) -> APIResource:
        self._check()
        resource = await self.client.mapper.resolve(obj.gvk)
        self._check()
        return resource

    async def _stored(
        self, resource: APIResource, obj: Unstructured, request: Coroutine[object, object, Unstructured]
    ) -> Unstructured:
        """Await a write, and record what the server has stored."""
        with self._answered(resource, obj):
            stored = await request
        self._record(resource, stored)
        return stored

    def _record(self, resource: APIResource, stored: Unstructured) -> None:
        if self._obj_at_start is not None and stored.uid == self._obj_at_start.uid:
            self._written = stored
        if _is_removed(stored):
            self._writes.deleted(self.key, resource, stored)
        else:
            self._writes.written(self.key, resource, stored)

    def _newest(self, obj: Unstructured) -> Unstructured:
        """Return the reconciled object as this call has stored it last, or as it was given."""
        return obj if self._written is None or self._written.uid != obj.uid else self._written

    async def _read(self, obj: Unstructured) -> Unstructured:
        """Read an object from the server."""
        resource = await self._resource_of(obj)
        return await self.client.resource(resource.gvr).get(obj.name, namespace=obj.namespace or None)

    @contextmanager
    def _answered(self, resource: APIResource, obj: Unstructured) -> Iterator[None]:
        """Record a write that may have taken effect although no response to it arrived."""
        try:
            yield
        except (TransportError, ServerError, trio.Cancelled):
            self._writes.unanswered(self.key, resource, obj)
            raise


def _is_removed(stored: Unstructured) -> bool:
    """Return whether a write has removed an object, as it has taken the last finalizer.

    The response then has the object with the resourceVersion from before (``ShouldDeleteDuringUpdate`` of
    kube-apiserver's generic registry).
    """
    metadata = stored["metadata"]
    terminating = stored.deletion_timestamp is not None
    return terminating and not metadata.get("finalizers") and not metadata.get("deletionGracePeriodSeconds")


class _KeyLogger(logging.LoggerAdapter[logging.Logger]):
    """Adds controller, key and attempt to each record."""

    def process(self, msg: object, kwargs: MutableMapping[str, Any]) -> tuple[object, MutableMapping[str, Any]]:
        fields = dict(self.extra or {})
        given = kwargs.get("extra")
        where = f"{fields['controller']} in {fields['cluster']}" if "cluster" in fields else fields["controller"]
        return f"{where} {fields['key']}: {msg}", {**kwargs, "extra": {**fields, **(given or {})}}
