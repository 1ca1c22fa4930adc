"""``diff_all``: compare the objects of a source with the live objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio

from dynkube._nursery import OwnedNursery
from dynkube.client._client import APIClient
from dynkube.errors import DynkubeError, NoMatch, NotFound
from dynkube.errors._evidence import proves_deletion
from dynkube.fields._diff.compute import deletion_of
from dynkube.informers._availability.crds import CRDS
from dynkube.informers._availability.serving import crd_serves
from dynkube.manifests._apply_one import Item, ObjectSender, missing_namespace
from dynkube.manifests._applyset import ApplySet
from dynkube.manifests._applyset_reconciler import ApplySetReconciler
from dynkube.manifests._diff_report import DiffEntry, DiffReport
from dynkube.manifests._manifest import Manifest, check_not_empty
from dynkube.manifests._membership import Members, join
from dynkube.manifests._options import ApplyOptions
from dynkube.manifests._order import Definitions
from dynkube.manifests._report import Entry
from dynkube.manifests._sources import Leaf, judged, read_async, read_stdin


class _Differ:
    """Compares the manifests of one source with the live objects.

    Args:
        api: sends the requests.
        options: how the manifests would be applied.
        manifests: the manifests.
    """

    def __init__(self, api: APIClient, options: ApplyOptions, manifests: Sequence[Manifest]) -> None:
        self._api = api
        self._options = options
        self._manifests = manifests
        self._sender = ObjectSender(api, options)
        readable = [manifest.checked for manifest in manifests if manifest.error is None]
        definitions = Definitions(readable)
        self._namespaces = {obj.name for obj in readable if (obj.api_version, obj.kind) == ("v1", "Namespace")}
        self._items = {
            index: Item(
                index=index, manifest=manifest, object=manifest.checked, definition=definitions.of(manifest.gvk)
            )
            for index, manifest in enumerate(manifests)
            if manifest.error is None and manifest.same_as is None
        }
        # For the ApplySet: errors of objects that cannot be members, and uids of live members.
        self._refused: dict[int, DynkubeError] = {}
        self._uids: set[str] = set()

    async def run(self, report: Callable[[DiffEntry], object]) -> list[DiffEntry]:
        """Return all entries: objects in the order of the source, then pruned objects.

        ``report`` is called with each entry in this order, as soon as it is known.
        """
        wanted, entries = self._options.prune, list[DiffEntry]()

        def add(entry: DiffEntry) -> None:
            entries.append(entry)
            report(entry)

        if wanted is None:
            await self._compare_all(add)
            return entries
        try:
            keeper, members = await self._open(wanted)
        except DynkubeError as error:
            add(DiffEntry(error=error, reason=f"the ApplySet {wanted.resource}/{wanted.name} cannot be used"))
            return entries
        await self._compare_all(add)
        if any(entry.error is not None or (entry.diff is not None and entry.diff.conflicts) for entry in entries):
            add(DiffEntry(reason="nothing would be pruned, as not all objects could be applied"))
            return entries
        left: list[Entry] = []  # in any order, as they are deleted in parallel
        await keeper.prune(self._uids, members.named, left.append)
        for entry in sorted(left, key=lambda entry: (entry.object is None, entry.name, entry.namespace)):
            add(_of_set(entry))
        return entries

    # ── the ApplySet ─────────────────────────────────────────────────────────────────────────

    async def _open(self, wanted: ApplySet) -> tuple[ApplySetReconciler, Members]:
        """Label the members, and write the parent in a dry run.

        Raises:
            DynkubeError: the ApplySet cannot be used, so that ``apply_all`` would apply nothing.
        """
        limiter = trio.CapacityLimiter(self._options.parallel)
        keeper = await ApplySetReconciler.of(self._api, self._options, wanted, dry_run=True, limiter=limiter)
        self._sender = ObjectSender(self._api, self._options, applyset_id=keeper.parent.id)
        members = await join(self._items.values(), keeper.parent.id, self._sender, self._refuse)
        try:
            await keeper.open(members.scope)
        except NotFound as error:
            home = keeper.parent.namespace
            # Ignore the error if the source creates the parent's namespace: without it there is no parent yet, so the
            # set is empty.
            if not (missing_namespace(error, home) and home in self._namespaces):
                raise
        return keeper, members

    def _refuse(self, item: Item, error: DynkubeError) -> None:
        self._refused[item.index] = error

    # ── the objects ──────────────────────────────────────────────────────────────────────────

    async def _compare_all(self, report: Callable[[DiffEntry], None]) -> None:
        """Compare in parallel, and report in order."""
        limiter = trio.CapacityLimiter(self._options.parallel)
        await self._sender.look_ahead(
            (item for index, item in self._items.items() if index not in self._refused), limiter
        )
        found: dict[int, DiffEntry] = {}
        reported = 0

        async def one(index: int) -> None:
            nonlocal reported
            try:
                found[index] = await self._compare(index, self._manifests[index])
            finally:
                limiter.release_on_behalf_of(index)
            while (entry := found.get(reported)) is not None:
                reported += 1
                report(entry)

        async with OwnedNursery() as nursery:
            for index in range(len(self._manifests)):
                await limiter.acquire_on_behalf_of(index)
                nursery.start_soon(one, index)
            # Wait for the tasks: leaving an OwnedNursery cancels them.
            for _ in range(self._options.parallel):
                await limiter.acquire_on_behalf_of(object())

    async def _compare(self, index: int, manifest: Manifest) -> DiffEntry:
        place, obj, item = manifest.place, manifest.object, self._items.get(index)
        if manifest.same_as is not None:
            return DiffEntry(place=place, object=obj, reason=f"identical to the object at {manifest.same_as}")
        known = manifest.error or self._refused.get(index)
        if known is not None or item is None or obj is None:
            return DiffEntry(place=place, object=obj, error=known)
        try:
            diff, live = await self._sender.diff(item)
            self._uids.update([live.uid] if live is not None else [])
            return DiffEntry(place=place, object=obj, diff=diff)
        except NoMatch as error:
            return await self._not_served(item, error)
        except NotFound as error:
            namespace = obj.namespace or self._options.namespace or self._api.namespace
            if missing_namespace(error, namespace) and namespace in self._namespaces:
                reason = f"it would be created, once its namespace {namespace} exists"
                return DiffEntry(place=place, object=obj, new=True, reason=reason)
            return DiffEntry(place=place, object=obj, error=error)
        except DynkubeError as error:
            return DiffEntry(place=place, object=obj, error=error)

    async def _not_served(self, item: Item, error: NoMatch) -> DiffEntry:
        """Return the entry of an object whose kind discovery does not have: it may exist, if its CRD does."""
        place, obj, definition = item.manifest.place, item.manifest.object, item.definition
        if definition is None or item.version not in definition.versions:
            return DiffEntry(place=place, object=obj, error=error)
        try:
            crd = await self._api.resource(CRDS).get(definition.name, timeout=self._options.timeout)
        except NotFound as missing:
            if not proves_deletion(missing):
                return DiffEntry(place=place, object=obj, error=missing)
            reason = f"it would be created, once its CRD {definition.name} exists"
        except DynkubeError as unknown:
            return DiffEntry(place=place, object=obj, error=unknown)
        else:
            if crd_serves(crd, definition.gvr(item.version)):
                return DiffEntry(place=place, object=obj, error=error)
            # It may exist in another version: neither that it is new nor that it stays the same is known.
            reason = f"its CRD {definition.name} does not serve {item.version} before it is changed"
            return DiffEntry(place=place, object=obj, error=error, reason=reason)
        return DiffEntry(place=place, object=obj, new=True, reason=reason)


async def diff_all(
    api: APIClient,
    source: Sequence[Leaf],
    options: ApplyOptions,
    *,
    on_entry: Callable[[DiffEntry], object] | None = None,
    stdin: Callable[[], bytes] = read_stdin,
) -> DiffReport:
    """Return what applying ``source`` would change."""
    manifests = await judged(await read_async(source, stdin), options.namespace or api.namespace)
    check_not_empty(manifests, options.prune)
    return DiffReport(await _Differ(api, options, manifests).run(on_entry or _ignore))


def _of_set(entry: Entry) -> DiffEntry:
    """Convert an entry from the dry run of pruning to a :class:`DiffEntry`."""
    obj, is_member = entry.object, entry.object is not None
    if obj is None or entry.error is not None:
        return DiffEntry(object=obj, error=entry.error, reason=entry.reason, pruned=is_member)
    return DiffEntry(object=obj, diff=deletion_of(obj), pruned=True)


def _ignore(entry: DiffEntry) -> None:
    """Ignore an entry: the default of ``on_entry``."""
