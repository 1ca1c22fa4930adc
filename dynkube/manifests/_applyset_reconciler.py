"""Manages an ApplySet on the server: its parent, and pruning.

An object is deleted only while it has the set's label, which it did not get from its owner: each delete has as
precondition the resourceVersion of the object that was listed with the label. So an object that another set takes over
concurrently is kept. kubectl deletes by name only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from importlib.metadata import PackageNotFoundError, version

import trio

from dynkube.client import ResourceClient
from dynkube.client._client import APIClient
from dynkube.discovery import APIResource
from dynkube.errors import ApplyConflict, Conflict, DynkubeError, InvalidInput, NoMatch, NotFound
from dynkube.errors._evidence import proves_deletion
from dynkube.informers._availability.crds import CRDS
from dynkube.manifests._absent_kinds import AbsentKinds, may_mean_no_kind
from dynkube.manifests._applyset import PARENT_TYPE, PART_OF, ApplySet, GroupKind, Parent, Scope, bound, may_prune
from dynkube.manifests._options import ApplyOptions
from dynkube.manifests._order import Wave, wave_of
from dynkube.manifests._report import Entry, Outcome
from dynkube.meta import Unstructured

_MADE_WHEN_NEEDED = frozenset({"secrets.v1", "configmaps.v1"})
_ATTEMPTS = 5  # to delete an object that is modified concurrently


class ApplySetReconciler:
    """Manages one ApplySet during one run of ``apply_all`` or ``diff_all``.

    Args:
        api: sends the requests.
        wanted: the set, as given by the caller.
        parent: its parent, resolved by discovery.
        resource: the verbs of the parent's resource.
        manager: the field manager of the set's objects.
        dry_run: write nothing.
        limiter: limits concurrent requests.
    """

    def __init__(
        self,
        api: APIClient,
        wanted: ApplySet,
        parent: Parent,
        resource: ResourceClient,
        *,
        manager: str,
        dry_run: bool,
        limiter: trio.CapacityLimiter,
    ) -> None:
        self.wanted = wanted
        self.parent = parent
        self._api = api
        self._resource = resource
        self._manager = manager
        self._dry_run = dry_run
        self._limiter = limiter
        self._absent = AbsentKinds(api)
        self._before = Scope()
        self._now = Scope()
        self._live: Unstructured | None = None
        self._is_open = False

    @classmethod
    async def of(
        cls, api: APIClient, options: ApplyOptions, wanted: ApplySet, *, dry_run: bool, limiter: trio.CapacityLimiter
    ) -> ApplySetReconciler:
        """Resolve the parent's resource, and check that it is allowed as a parent.

        Raises:
            InvalidInput: the parent's resource is not allowed.
            DynkubeError: the parent's resource could not be resolved.
        """
        resource = api.resource(wanted.resource)
        found = await resource.resolve()
        if str(found.gvr) not in _MADE_WHEN_NEEDED:
            await _check_parent_type(api, found)
        if not found.namespaced and wanted.namespace is not None:
            raise InvalidInput(
                f"{found.gvr} are cluster-scoped: leave namespace={wanted.namespace!r} out of the ApplySet"
            )
        namespace = (wanted.namespace or api.namespace) if found.namespaced else ""
        parent = Parent(gvk=found.gvk, namespace=namespace, name=wanted.name, tooling=wanted.tooling or _tooling())
        manager = options.field_manager or api.field_manager
        return cls(api, wanted, parent, resource, manager=manager, dry_run=dry_run, limiter=limiter)

    # ── before ───────────────────────────────────────────────────────────────────────────────

    async def open(self, scope: Scope) -> None:
        """Read the parent, and extend its scope by the scope of the objects to be applied.

        The parent is written before the members, so that after an interrupted run later runs find all members.

        Args:
            scope: kinds and namespaces of the objects to be applied.

        Raises:
            InvalidInput: the object is not the parent of this set, or is the parent of another tool's set.
            DynkubeError: the parent cannot be read or written.
        """
        self._now = scope
        for left in reversed(range(_ATTEMPTS)):
            live = await self._read()
            if live is not None:
                self.parent.check(live)
                found, resources = self.parent.scope(live)
                self._before = found | Scope(await self._kinds_of(resources))
            try:
                self._live = await self._write(self._before | scope, live)
            except Conflict:  # another run may have added members, whose kinds must be kept
                if not left:
                    raise
            else:
                break
        self._is_open = True

    async def _read(self) -> Unstructured | None:
        parent = self.parent
        try:
            return await self._resource.get(parent.name, namespace=parent.namespace or None)
        except NotFound as error:
            if not proves_deletion(error):  # it may exist, with members
                raise
            if str((await self._resource.resolve()).gvr) in _MADE_WHEN_NEEDED:
                return None
            raise InvalidInput(
                f"{parent} does not exist: create it first; only Secrets and ConfigMaps are created automatically"
            ) from error

    async def _write(self, scope: Scope, live: Unstructured | None) -> Unstructured | None:
        """Write ``scope`` to the parent, unless it was modified; return the parent.

        Raises:
            Conflict: the parent was modified since ``live`` was read.
        """
        manifest, manager = bound(self.parent.manifest(scope), live), self.parent.field_manager
        try:
            written = await self._resource.apply(manifest, field_manager=manager, dry_run=self._dry_run)
        except ApplyConflict:
            # Another manager has edited fields that belong to the set's tool: use force, as kubectl does.
            written = await self._resource.apply(manifest, field_manager=manager, dry_run=self._dry_run, force=True)
        return live if self._dry_run else written

    async def _narrow(self) -> None:
        """Reduce the parent's scope to the current members.

        Skipped if another run of the same set writes the parent concurrently: a scope that is too large only causes an
        additional list request in the next run.
        """
        for _ in range(_ATTEMPTS):
            last = self._live
            try:
                await self._write(self._now, last)
            except Conflict:
                self._live = await self._read()
                if last is None or self._live is None or not self.parent.covers_the_same(last, self._live):
                    return
            else:
                return

    async def _kinds_of(self, resources: Collection[str]) -> frozenset[GroupKind]:
        """Return the kinds of group-resources, as listed by older versions of kubectl.

        Raises:
            DynkubeError: a resource is not served, and it is not confirmed that it has no objects any more.
        """
        found: set[GroupKind] = set()
        for text in resources:
            name, _, group = text.partition(".")
            try:
                found.add(GroupKind.of((await self._absent.resolve(name, group)).gvk))
            except NoMatch:
                await self._absent.confirm(name, group)
        return frozenset(found)

    # ── after ────────────────────────────────────────────────────────────────────────────────

    async def prune(
        self, applied: Collection[str], named: Collection[tuple[GroupKind, str, str]], report: Callable[[Entry], None]
    ) -> None:
        """Delete the members that were not applied by this run.

        Then reduce the parent's scope to the remaining members. If a member could not be deleted, or the objects of a
        kind could not be listed, the scope is kept, so that the next run tries again. Does nothing if the set was not
        opened.

        Args:
            applied: uids of the applied objects. UIDs, as an object may be listed under another group or version, too.
            named: kind, namespace and name of the objects in the source: also those that a dry run could not check, and
                those recreated concurrently.
            report: called with an entry for each object that was deleted or whose deletion failed, and for each kind
                whose objects could not be listed.
        """
        if not self._is_open:
            return
        stays = {*applied, self._live.uid if self._live is not None else ""}
        members = await self._members(report)
        if members is None:
            return
        leaving = [obj for obj in members if obj.uid not in stays and _named(obj) not in named]
        if not await self._delete_all(leaving, report):
            return
        try:
            await self._narrow()
        except DynkubeError as error:
            report(_failed(f"all objects were applied and pruned, but {self.parent} could not be updated", error))

    async def _members(self, report: Callable[[Entry], None]) -> list[Unstructured] | None:
        """Return all objects with the set's label, in the parent's scope.

        ``None``, after a report, if those of a kind are not known.
        """
        found: list[Unstructured] = []
        failures: dict[GroupKind, DynkubeError] = {}

        async def look(kind: GroupKind) -> None:
            try:
                found.extend(await self._members_of(kind))
            except DynkubeError as error:
                failures[kind] = error

        async with trio.open_nursery() as nursery:
            for kind in self._before.kinds:
                nursery.start_soon(look, kind)
        for kind, error in sorted(failures.items()):
            what = f"the members of the ApplySet of {self.parent} cannot be listed"
            report(_failed(f"{what}: nothing was pruned, and {kind} remains one of its kinds", error))
        return None if failures else found

    async def _members_of(self, kind: GroupKind) -> list[Unstructured]:
        """Return the members of one kind; none if it is confirmed that the kind has no objects any more.

        Raises:
            DynkubeError: the members are not known.
        """
        try:
            return await self._labelled(await self._absent.resolve(kind.kind, kind.group))
        except (NoMatch, NotFound) as error:
            if not may_mean_no_kind(error):
                raise
            await self._absent.confirm(kind.kind, kind.group)
        return []

    async def _labelled(self, resource: APIResource) -> list[Unstructured]:
        """Return the objects of a resource with the set's label, in the parent's scope."""
        found: list[Unstructured] = []
        failures: list[DynkubeError] = []

        async def look(namespace: str | None) -> None:
            selector = {PART_OF: self.parent.id}
            try:
                async with self._limiter:
                    found.extend(
                        await self._api.resource(resource.gvr).list(namespace=namespace, label_selector=selector)
                    )
            except DynkubeError as error:
                failures.append(error)

        async with trio.open_nursery() as nursery:
            for namespace in sorted(self._before.namespaces) if resource.namespaced else [None]:
                nursery.start_soon(look, namespace)
        if failures:
            raise failures[0]
        return found

    async def _delete_all(self, leaving: Iterable[Unstructured], report: Callable[[Entry], None]) -> bool:
        """Delete objects in the reverse order of applying, namespaces last.

        Returns:
            Whether all deletions succeeded.
        """
        waves: dict[tuple[Wave, bool], list[Unstructured]] = {}
        for obj in leaving:
            waves.setdefault((wave_of(obj.gvk), obj.kind != "Namespace"), []).append(obj)
        failed: list[Unstructured] = []

        async def delete(obj: Unstructured) -> None:
            async with self._limiter:
                entry = await self._delete(obj, report)
            if entry is not None:
                report(entry)
                if entry.error is not None:
                    failed.append(obj)

        for key in sorted(waves, reverse=True):
            async with trio.open_nursery() as nursery:
                for obj in waves[key]:
                    nursery.start_soon(delete, obj)
        return not failed

    async def _delete(self, obj: Unstructured, report: Callable[[Entry], None]) -> Entry | None:
        """Delete one object, and return its entry.

        ``None`` if pruning may not delete it (any more): see :func:`may_prune`.
        """
        try:
            return await self._delete_member(obj)
        except DynkubeError as error:
            return Entry(
                outcome=Outcome.FAILED,
                object=obj,
                error=error,
                reason="it is no longer in the source, but could not be pruned",
            )
        except trio.Cancelled:
            report(
                Entry(
                    outcome=Outcome.INTERRUPTED,
                    object=obj,
                    reason="its deletion was sent, but the run ended before the response",
                )
            )
            raise

    async def _delete_member(self, obj: Unstructured) -> Entry | None:
        resource, namespace = self._api.resource(obj.gvk), obj.namespace or None
        for _ in range(_ATTEMPTS):
            if not may_prune(obj, self.parent, self._live.uid if self._live is not None else "", self._manager):
                return None
            try:
                try:
                    await resource.delete(
                        obj.name,
                        namespace=namespace,
                        uid=obj.uid,
                        resource_version=obj.resource_version,
                        propagation_policy="Background",
                        dry_run=self._dry_run,
                    )
                except Conflict:
                    obj = await resource.get(obj.name, namespace=namespace)
                else:
                    return Entry(outcome=Outcome.PRUNED, object=obj)
            except (NoMatch, NotFound) as error:
                if not proves_deletion(error):
                    await self._confirm_gone(obj, error)
                return None
        busy = InvalidInput(f"it changed {_ATTEMPTS} times during its deletion: prune it with another run")
        return Entry(outcome=Outcome.FAILED, object=obj, error=busy)

    async def _confirm_gone(self, obj: Unstructured, error: NoMatch | NotFound) -> None:
        """Confirm that the kind of an object was removed, and the object with it.

        Raises:
            DynkubeError: the object may still exist.
        """
        if not may_mean_no_kind(error):
            raise error
        await self._absent.confirm(obj.kind, obj.gvk.group)


def _named(obj: Unstructured) -> tuple[GroupKind, str, str]:
    return GroupKind.of(obj.gvk), obj.namespace, obj.name


def _tooling() -> str:
    try:
        return f"dynkube/v{version('dynkube')}"
    except PackageNotFoundError:  # run from a tree that is not installed
        return "dynkube/v0.0.0"


def _failed(what: str, error: DynkubeError) -> Entry:
    return Entry(outcome=Outcome.FAILED, error=error, reason=what)


async def _check_parent_type(api: APIClient, resource: APIResource) -> None:
    """Require the label on a custom parent's CRD, to avoid parents by mistake."""
    try:
        crd = await api.resource(CRDS).get(resource.gvr.crd_name)
    except NotFound as error:
        if not proves_deletion(error):
            raise
        permitted = False
    else:
        permitted = PARENT_TYPE in crd.labels
    if not permitted:
        raise InvalidInput(
            f"{resource.gvr} cannot be the parent of an ApplySet: choose secrets or configmaps, or a custom resource "
            f"whose CRD has the label {PARENT_TYPE}"
        )
