"""Follows the cluster's CRDs, so that informers learn at once of resources that come and go."""

from __future__ import annotations

from collections.abc import Callable

from dynkube.client import ListWatch
from dynkube.errors import DynkubeError, Forbidden, NotFound, Unauthorized
from dynkube.informers._availability import SlimCRDDecoder
from dynkube.informers._recovery import Recovery, reason_of
from dynkube.informers._reflector import Reflector, ServerFeatures
from dynkube.informers._settings import InformerSettings
from dynkube.meta import GVR, Bookmark, Deleted, FieldSelector, Key, LabelSelector, Unstructured, WatchEvent
from dynkube.rest import RESTClient
from dynkube.telemetry import NOBODY, Observers

CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


class CRDWatcher:
    """The cluster's CRDs by name, kept up to date by one watch for all informers of a client.

    Args:
        on_change: called with the names of CRDs that changed; they are in ``crds`` by then, or gone.
        on_settled: called when ``known``, ``blind`` or ``trouble`` changed.
        on_renewed: called when a watch was opened again, which is every few minutes.
        observers: told of its lists and watches.
    """

    def __init__(
        self,
        rest: RESTClient,
        settings: InformerSettings,
        features: ServerFeatures,
        *,
        on_change: Callable[[set[str]], None],
        on_settled: Callable[[], None],
        on_renewed: Callable[[], None],
        observers: Observers = NOBODY,
    ) -> None:
        self.crds: dict[str, Unstructured] = {}
        self.known: bool = False
        """Whether ``crds`` is (or was, before trouble) the truth."""
        self.blind: bool = False
        """Whether CRDs cannot be watched here: not allowed, or the server has none."""
        self.trouble: str = ""
        """The reason why nothing is known yet, once an attempt failed."""
        self.trouble_message: str = "the CRDs have not been listed yet"
        source = ListWatch(
            rest,
            CRDS,
            label_selector=LabelSelector.parse(None),
            field_selector=FieldSelector.parse(None),
            decoder=SlimCRDDecoder(),
            obliging=False,
        )
        self._reflector = Reflector(source, self, settings, features, observers)
        self._on_change = on_change
        self._on_settled = on_settled
        self._on_renewed = on_renewed
        self._opened = False

    async def run(self) -> None:
        """Follow CRDs until cancelled."""
        await self._reflector.run()

    def silence(self) -> None:
        """Tell nothing more: its task was cancelled, and may run until its next checkpoint."""
        self._on_change = lambda names: None
        self._on_settled = self._on_renewed = lambda: None

    # ── what the reflector reports ───────────────────────────────────────────────────────────

    async def replace(self, objects: dict[Key, Unstructured], resource_version: str, *, watched: bool) -> None:
        """Take a complete list; what went unseen counts as deleted now."""
        before, self.crds = self.crds, {obj.name: obj for obj in objects.values()}
        settled = not self.known or self.blind
        self.known, self.blind, self.trouble = True, False, ""
        changed = {name for name in before.keys() | self.crds.keys() if before.get(name) != self.crds.get(name)}
        if settled:
            self._on_settled()
        if changed:
            self._on_change(changed)

    async def apply(self, events: list[WatchEvent]) -> None:
        """Take changes one by one: a CRD that went and came back in one batch did both."""
        for event in events:
            if isinstance(event, Bookmark):
                continue
            if isinstance(event, Deleted):
                self.crds.pop(event.object.name, None)
            else:
                self.crds[event.object.name] = event.object
            self._on_change({event.object.name})

    def following(self) -> None:
        """A watch is open."""
        if self._opened:
            self._on_renewed()
        self._opened = True

    def failing(self, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        """Note trouble; without permission, informers have to ask discovery instead."""
        # What was forbidden counts as such until a list succeeds: another failure opens no eyes.
        blind = self.blind or isinstance(exc, Forbidden | Unauthorized | NotFound)
        if recovery.stop_streaming or (blind == self.blind and (self.known or self.trouble == reason_of(exc))):
            return
        self.blind, self.trouble, self.trouble_message = blind, reason_of(exc), str(exc)
        self._on_settled()
