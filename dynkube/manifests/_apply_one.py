"""Apply one object: read the live object, apply if needed, report the result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import trio

from dynkube.client import Applied, Change, ResourceClient
from dynkube.client._apply.threads import run_in_thread_if_large
from dynkube.client._apply.unchanged import Standing, standing
from dynkube.client._client import APIClient
from dynkube.client._objects import namespace_of_object
from dynkube.discovery import APIResource
from dynkube.errors import APIError, ApplyConflict, Conflict, DynkubeError, Forbidden, NoMatch, NotFound
from dynkube.errors._evidence import Evidence, evidence_of, proves_deletion
from dynkube.fields import Diff
from dynkube.fields._diff.compute import no_difference
from dynkube.manifests._applyset import LABEL, bound, check_member
from dynkube.manifests._live_objects import LiveCollection, LiveObjects
from dynkube.manifests._manifest import Manifest, without_namespace
from dynkube.manifests._options import ApplyOptions
from dynkube.manifests._order import Definition
from dynkube.manifests._report import Entry, Outcome
from dynkube.meta import GVK, GVR, MISSING, Missing, Unstructured
from dynkube.rest._backoff import Backoff

_OUTCOMES = {
    Change.CREATED: Outcome.CREATED,
    Change.CHANGED: Outcome.CHANGED,
    Change.UNCHANGED: Outcome.UNCHANGED,
    Change.UNKNOWN: Outcome.APPLIED,
}
# Seconds for which a server may still validate objects by the previous schema of a changed CRD.
_OLD_SCHEMA = 5.0
_NOT_DECLARED = "field not declared in schema"
_AT_ONCE = 500  # number of objects processed between two checkpoints
_ATTEMPTS = 5  # to apply an object that is modified concurrently


@dataclass(slots=True, kw_only=True, eq=False)
class Item:
    """One object to be applied.

    Attributes:
        index: index of its manifest.
        manifest: the manifest.
        object: the object to send: the manifest's object, with the label of its ApplySet.
        definition: the CRD of its kind, if it is in the same source.
        note: a warning for its entry.
        sent: whether a write was, or may have been, sent, and no error response was received.
    """

    index: int
    manifest: Manifest
    object: Unstructured
    definition: Definition | None = None
    note: str = ""
    sent: bool = False

    @property
    def what(self) -> GVR | GVK:
        """Its GVR if a CRD in the source defines the kind, else its GVK."""
        gvk = self.manifest.gvk
        return gvk if self.definition is None else self.definition.gvr(gvk.version)

    @property
    def version(self) -> str:
        """The version of its kind."""
        return self.manifest.gvk.version

    def entry(self, outcome: Outcome, *, error: DynkubeError | None = None, reason: str = "") -> Entry:
        """Return an entry without a response object."""
        return Entry(outcome=outcome, place=self.manifest.place, object=self.object, error=error, reason=reason)


class ObjectSender:
    """Applies objects one by one.

    Args:
        api: sends the requests.
        options: how to apply.
        applyset_id: id of the ApplySet of the objects; ``""`` for none.
    """

    def __init__(self, api: APIClient, options: ApplyOptions, *, applyset_id: str = "") -> None:
        self._api = api
        self._options = options
        self._applyset_id = applyset_id
        self._live_objects = LiveObjects(options.timeout)

    async def look_ahead(self, items: Iterable[Item], limiter: trio.CapacityLimiter) -> None:
        """Read the live objects of many items, by list requests if that saves requests."""
        served: dict[GVR | GVK, APIResource | None] = {}
        wanted: dict[LiveCollection, dict[str, int]] = {}
        for number, item in enumerate(items):
            if number % _AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
            if item.what not in served:
                served[item.what] = await self._served(item.what)
            resource = served[item.what]
            if resource is not None:
                collection = LiveCollection(resource.gvr, self._where(item, resource.namespaced) or None)
                wanted.setdefault(collection, {})[item.object.name] = item.index
        async with trio.open_nursery() as nursery:
            for collection, names in wanted.items():
                verbs = self._api.resource(collection.gvr)
                nursery.start_soon(self._live_objects.read, collection, verbs, names, limiter)

    async def _served(self, what: GVR | GVK) -> APIResource | None:
        try:
            return await self._api.resource(what).resolve()
        except DynkubeError:
            return None  # raised again when the object is applied

    def _where(self, item: Item, namespaced: bool) -> str:
        return item.object.namespace or self._options.namespace or self._api.namespace if namespaced else ""

    def namespace_if_namespaced(self, item: Item) -> str:
        """Return the namespace that the object has if its kind is namespaced."""
        return self._where(item, namespaced=True)

    async def namespace_of(self, item: Item) -> str:
        """Return the object's namespace: ``""`` if cluster-scoped.

        Raises:
            MappingError: the server does not serve its kind, or discovery failed.
        """
        if item.definition is not None:
            return self._where(item, item.definition.namespaced)
        return self._where(item, (await self._api.resource(item.what).resolve()).namespaced)

    async def send(self, item: Item) -> Entry:
        """Apply an object.

        Raises:
            DynkubeError: the object was not applied.
        """
        resource, namespace = await self._place(item)
        if self._applyset_id:
            return await self._send_member(item, resource, namespace)
        live = await self._look(item, resource, namespace)
        return await self._send(item, resource, namespace, item.object, live)

    async def _send_member(self, item: Item, resource: ResourceClient, namespace: str | None) -> Entry:
        """Apply a member of the ApplySet, but do not take it from another set.

        Another set may label the object between read and apply. So the apply has a precondition: the resourceVersion
        that was read, or that the object still does not exist.
        """
        last: Conflict | None = None
        for _ in range(_ATTEMPTS):
            live = await self._look(item, resource, namespace)
            seen = live if isinstance(live, Unstructured) else None
            try:
                return await self._send(item, resource, namespace, bound(item.object, seen), live)
            except ApplyConflict as error:
                if all(each.path != str(LABEL) for each in error.conflicts):
                    raise
                last = error
            except Conflict as error:
                if item.object.resource_version:  # the manifest sets a resourceVersion, which a retry cannot change
                    raise
                last = error
        reason = f"it was read and applied {_ATTEMPTS} times, and changed by other clients in between each time"
        return item.entry(Outcome.FAILED, error=last, reason=reason)

    async def _send(
        self,
        item: Item,
        resource: ResourceClient,
        namespace: str | None,
        obj: Unstructured,
        live: Unstructured | Missing | None,
    ) -> Entry:
        """Send ``obj``, unless ``live`` is up to date."""
        if isinstance(live, Unstructured) and await self._needs_nothing(resource, item.object, namespace, live):
            return _done(item, Outcome.UNCHANGED, live)
        item.sent = True
        try:
            applied = await self._apply(resource, obj, namespace, live, dry_run=self._options.dry_run)
        except APIError:
            item.sent = False  # it was rejected, and may be retried
            raise
        return _done(item, _OUTCOMES[applied.change], applied)

    async def diff(self, item: Item) -> tuple[Diff, Unstructured | None]:
        """Return the diff of applying an object, and the live object.

        The live object is ``None`` if it does not exist, or if RBAC does not allow to get it.

        For an object that is up to date no dry run is sent, as admission could reject it although the apply itself
        would send nothing.

        Raises:
            DynkubeError: the diff cannot be determined, or the live object is a member of another set.
        """
        resource, namespace = await self._place(item)
        live = await self._look(item, resource, namespace)
        known = live if isinstance(live, Unstructured) else None
        if known is not None and await self._standing(item.object, known) is Standing.SAME:
            return no_difference(known), known
        options = self._options
        found = await resource.diff(
            item.object,
            namespace=namespace,
            field_manager=options.field_manager,
            field_validation=options.field_validation,
            timeout=options.timeout,
            live=live,
        )
        return found, known

    async def _look(self, item: Item, resource: ResourceClient, namespace: str | None) -> Unstructured | Missing | None:
        """Return the live object, MISSING if it does not exist.

        ``None`` if RBAC does not allow to get it.

        Raises:
            InvalidObject: the live object is a member of another ApplySet.
        """
        live = self._live_objects.take(item.index)
        if live is None:
            live = await self._live(resource, item.object, namespace)
        if isinstance(live, Unstructured) and self._applyset_id:
            check_member(live, self._applyset_id)
        return live

    async def _place(self, item: Item) -> tuple[ResourceClient, str | None]:
        """Return the verbs of the object's resource, and its namespace; ``None`` if cluster-scoped.

        Raises:
            InvalidObject: the object has another namespace than the run.
            WrongScope: neither the object nor the context has a namespace.
        """
        resource, own = self._api.resource(item.what), item.object.namespace
        served = await resource.resolve()
        if own and not served.namespaced:
            self._api.mapper.recheck(served.gvr)  # the CRD may have been replaced by one with another scope
            served = await resource.resolve()
        if own and not served.namespaced:  # as popular charts have it; kubectl ignores it
            item.object = without_namespace(item.object)
            item.note = f"its metadata.namespace {own!r} is ignored, as {served.gvr} are cluster-scoped: remove it"
        namespace = self._options.namespace if served.namespaced else None
        return resource, namespace_of_object(item.object, served, namespace, default=self._api.namespace)

    async def _standing(self, obj: Unstructured, live: Unstructured) -> Standing:
        manager = self._options.field_manager or self._api.field_manager
        return await run_in_thread_if_large(partial(standing, obj, live, manager), obj, live)

    async def _needs_nothing(
        self, resource: ResourceClient, obj: Unstructured, namespace: str | None, live: Unstructured
    ) -> bool:
        how = await self._standing(obj, live)
        if how is Standing.FILLED_IN and not self._options.dry_run:
            preview = await self._apply(resource, obj, namespace, live, dry_run=True)
            return preview.change is Change.UNCHANGED
        return how is Standing.SAME

    async def _apply(
        self,
        resource: ResourceClient,
        obj: Unstructured,
        namespace: str | None,
        live: Unstructured | Missing | None,
        *,
        dry_run: bool,
    ) -> Applied:
        options = self._options
        return await resource.apply(
            obj,
            namespace=namespace,
            field_manager=options.field_manager,
            force=options.force,
            dry_run=dry_run,
            field_validation=options.field_validation,
            timeout=options.timeout,
            live=live,
        )

    async def _live(
        self, resource: ResourceClient, obj: Unstructured, namespace: str | None
    ) -> Unstructured | Missing | None:
        try:
            return await resource.get(obj.name, namespace=obj.namespace or namespace, timeout=self._options.timeout)
        except NotFound as error:
            if not proves_deletion(error):
                raise
            return MISSING
        except Forbidden as error:
            # With a set, it might be a member of another one.
            if self._applyset_id or evidence_of(error) is not Evidence.NOT_AUTHORIZED:
                raise
            return None

    async def send_settled(self, item: Item, deadline: float) -> Entry:
        """Apply an object of a CRD that this run has just written.

        The server reports a CRD as established before all its components know it. For a short time it may still
        respond with 404, not list the resource in discovery, or validate by the previous schema. Such errors are
        retried.

        Args:
            item: the object.
            deadline: time until which to wait for a resource that is not served yet, on trio's clock.

        Raises:
            DynkubeError: the object was not applied.
        """
        backoff = Backoff(initial=0.05, cap=1.0)
        began = trio.current_time()
        while True:
            try:
                return await self.send(item)
            except DynkubeError as error:
                now = trio.current_time()
                if now >= (deadline if _not_there(error) else began + _OLD_SCHEMA if _not_declared(error) else now):
                    raise
            self._api.mapper.invalidate(item.manifest.gvk.group)
            await trio.sleep(backoff.next(now))


def _done(item: Item, outcome: Outcome, obj: Unstructured) -> Entry:
    """Return the entry of an object that was applied or is up to date."""
    terminating = ""
    if obj.deletion_timestamp is not None:
        terminating = f"it is being deleted since {obj.deletion_timestamp}, with this change: apply it again afterwards"
    reason = "; ".join(filter(None, (item.note, terminating)))
    return Entry(outcome=outcome, place=item.manifest.place, object=obj, reason=reason)


def _not_there(error: DynkubeError) -> bool:
    """Whether the resource itself is missing."""
    return isinstance(error, NoMatch) or evidence_of(error) is Evidence.RESOURCE_UNKNOWN


def _not_declared(error: DynkubeError) -> bool:
    return isinstance(error, APIError) and not isinstance(error, ApplyConflict) and _NOT_DECLARED in str(error)


def missing_namespace(error: DynkubeError, namespace: str) -> bool:
    """Whether the server rejected an object because its namespace does not exist."""
    if not isinstance(error, NotFound) or evidence_of(error) is not Evidence.NAMESPACE_ABSENT:
        return False
    return error.status.name == namespace
