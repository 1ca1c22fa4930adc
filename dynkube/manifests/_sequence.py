"""The sequence of one run: check all objects, apply wave after wave, then prune."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio

from dynkube.client._client import APIClient
from dynkube.errors import DynkubeError
from dynkube.informers._factory import InformerFactory
from dynkube.manifests._applier import Applier
from dynkube.manifests._apply_one import Item, ObjectSender
from dynkube.manifests._applyset import ApplySet, GroupKind
from dynkube.manifests._applyset_reconciler import ApplySetReconciler
from dynkube.manifests._cancellation import Stop
from dynkube.manifests._manifest import Manifest
from dynkube.manifests._membership import join
from dynkube.manifests._options import ApplyOptions
from dynkube.manifests._order import Definition, Definitions, Wave, is_definition, wave_of
from dynkube.manifests._readiness import Readiness
from dynkube.manifests._report import DONE, TROUBLE, Entry, Outcome

_AT_ONCE = 500  # number of manifests processed between two checkpoints


class Work:
    """Applies the manifests of one source, once.

    Args:
        api: sends the requests.
        informers: has a watch on CRDs, which reports when a CRD is served.
        options: how to apply.
        manifests: the manifests.
        report: called with each entry when it is complete.
    """

    def __init__(
        self,
        api: APIClient,
        informers: InformerFactory,
        options: ApplyOptions,
        manifests: Sequence[Manifest],
        report: Callable[[Entry], None],
    ) -> None:
        self._api = api
        self._informers = informers
        self._options = options
        self._manifests = manifests
        self._on_entry = report
        self._limiter = trio.CapacityLimiter(options.parallel)
        self._stop = Stop()
        self._named: frozenset[tuple[GroupKind, str, str]] = frozenset()  # set members: kind, namespace, name
        self.entries: dict[int, Entry] = {}
        """Entries so far, by manifest index."""
        self.others: list[Entry] = []
        """Entries of the ApplySet: pruned objects, and failures of its parent."""

    @property
    def stopped(self) -> str:
        """Why nothing more is sent; ``""`` while it continues."""
        return self._stop.reason

    async def run(self) -> None:
        """Run to completion."""
        items = await self._items()
        keeper = await self._find_set() if self._options.prune and not self._stop.reason else None
        sender = ObjectSender(self._api, self._options, applyset_id=keeper.parent.id if keeper else "")
        namespace = self._options.namespace or self._api.namespace
        applier = Applier(
            sender, self._limiter, self._stop, self._record, namespace=namespace, dry_run=self._options.dry_run
        )
        if keeper is not None:
            await self._open_set(keeper, items, sender, applier)
        await self._apply(items, applier)
        if keeper is not None:
            await self._prune(keeper)

    async def _items(self) -> list[Item]:
        """Return the objects without an error; record an entry for each of the others."""
        definitions = Definitions(manifest.checked for manifest in self._manifests if manifest.error is None)
        items: list[Item] = []
        for index, manifest in enumerate(self._manifests):
            if index % _AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
            place, obj = manifest.place, manifest.object
            if manifest.error is not None:
                entry = Entry(outcome=Outcome.FAILED, place=place, object=obj, error=manifest.error)
                self._keep(index, entry)
            elif manifest.same_as is not None:
                reason = f"identical to the object at {manifest.same_as}"
                self._keep(index, Entry(outcome=Outcome.SKIPPED, place=place, object=obj, reason=reason))
            else:
                definition = definitions.of(manifest.gvk)
                items.append(Item(index=index, manifest=manifest, object=manifest.checked, definition=definition))
        return items

    # ── applying ─────────────────────────────────────────────────────────────────────────────

    async def _apply(self, items: Sequence[Item], applier: Applier) -> None:
        waves: dict[Wave, list[Item]] = {wave: [] for wave in Wave}
        for item in items:
            if item.index not in self.entries:
                waves[wave_of(item.manifest.gvk)].append(item)
        await applier.apply(waves.pop(Wave.FOUNDATIONS))
        if self._options.dry_run:
            applier.missing = {
                item.object.name
                for item in items
                if _is_namespace(item) and self.entries[item.index].outcome is Outcome.CREATED
            }
        readiness = Readiness(
            self._api,
            self._informers,
            {item.object.name: self.entries[item.index] for item in items if is_definition(item.object)},
            timeout=self._options.crd_timeout,
            dry_run=self._options.dry_run,
        )
        for wave in waves.values():
            await applier.apply(wave, readiness)
        await self._wait_for_definitions(items, readiness)

    async def _wait_for_definitions(self, items: Sequence[Item], readiness: Readiness) -> None:
        """Wait for the CRDs without objects in the source, for later runs that have some."""
        if self._stop.reason:
            return
        used = {item.definition.name for item in items if item.definition is not None}
        async with trio.open_nursery() as nursery:
            for item in items:
                definition = Definition.read(item.object) if is_definition(item.object) else None
                if definition is not None and definition.name not in used and readiness.is_awaited(definition):
                    nursery.start_soon(self._wait_for_definition, item, definition, readiness)

    async def _wait_for_definition(self, item: Item, definition: Definition, readiness: Readiness) -> None:
        try:
            await readiness.wait_found(definition)
        except DynkubeError as error:
            self._record(item, item.entry(Outcome.FAILED, error=error, reason="it was applied"))

    def _record(self, item: Item, entry: Entry) -> None:
        self._keep(item.index, entry)

    def _keep(self, index: int, entry: Entry) -> None:
        self.entries[index] = entry
        self._on_entry(entry)
        if entry.outcome in TROUBLE and self._options.on_error == "stop":
            self._stop.cancel(f"not sent: the run stopped at the first failure, {entry.source}")

    # ── the ApplySet ─────────────────────────────────────────────────────────────────────────

    async def _find_set(self) -> ApplySetReconciler | None:
        wanted = self._options.prune
        assert wanted is not None
        try:
            return await ApplySetReconciler.of(
                self._api, self._options, wanted, dry_run=self._options.dry_run, limiter=self._limiter
            )
        except DynkubeError as error:
            self._fail_set(wanted, error)
            return None

    async def _open_set(
        self, keeper: ApplySetReconciler, items: Sequence[Item], sender: ObjectSender, applier: Applier
    ) -> None:
        """Label the members, and extend the parent's scope, before members are applied."""
        members = await join(items, keeper.parent.id, sender, self._refuse)
        self._named = members.named
        # The parent's namespace may be created by the source itself.
        home = [
            item
            for item in items
            if _is_namespace(item) and item.object.name == keeper.parent.namespace and item.index not in self.entries
        ]
        await applier.apply(home)
        if self._stop.reason:
            return
        if self._options.dry_run and any(self.entries[item.index].outcome is Outcome.CREATED for item in home):
            return  # without its namespace there is no parent yet, so the set is empty
        try:
            await keeper.open(members.scope)
        except DynkubeError as error:
            self._fail_set(keeper.wanted, error)

    def _refuse(self, item: Item, error: DynkubeError) -> None:
        self._record(item, item.entry(Outcome.FAILED, error=error))

    def _fail_set(self, wanted: ApplySet, error: DynkubeError) -> None:
        reason = f"the ApplySet {wanted.resource}/{wanted.name} cannot be used"
        self._keep_other(Entry(outcome=Outcome.FAILED, error=error, reason=reason))
        self._stop.cancel(f"not sent: {reason}")

    async def _prune(self, keeper: ApplySetReconciler) -> None:
        missing = [entry for entry in self.entries.values() if entry.outcome in TROUBLE]
        if missing or self._stop.reason:
            # An object that could not be applied may be the replacement of an object to be pruned.
            reason = "nothing was pruned, as not all objects were applied"
            self._keep_other(Entry(outcome=Outcome.SKIPPED, reason=reason))
            return
        applied = {entry.object.uid for entry in self.entries.values() if entry.outcome in DONE and entry.object}
        await keeper.prune(applied, self._named, self._keep_other)

    def _keep_other(self, entry: Entry) -> None:
        self.others.append(entry)
        self._on_entry(entry)


def _is_namespace(item: Item) -> bool:
    return GroupKind.of(item.manifest.gvk) == GroupKind("", "Namespace")
