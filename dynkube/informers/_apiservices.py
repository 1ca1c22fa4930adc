"""Follows the cluster's APIServices, so that informers learn of APIs that come without a CRD.

Open only while an informer waits for a resource that no CRD defines. Most APIServices stand for CRDs, which are known
already: the label that kube-aggregator gives them keeps them out, so this is a handful of small objects that hardly
ever change, and asks for nothing at intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

from dynkube.client import ListWatch
from dynkube.errors import DynkubeError, Forbidden, NotFound, Unauthorized
from dynkube.informers._recovery import Recovery
from dynkube.informers._reflector import Reflector, ServerFeatures
from dynkube.informers._settings import InformerSettings
from dynkube.informers._tasks import start_in_scope
from dynkube.meta import (
    GVR,
    Bookmark,
    Deleted,
    FieldSelector,
    GroupVersion,
    Key,
    LabelSelector,
    Unstructured,
    WatchEvent,
)
from dynkube.rest import RESTClient
from dynkube.telemetry import Observers

APISERVICES: Final = GVR("apiregistration.k8s.io", "v1", "apiservices")
_NOT_OF_CRDS: Final = "kube-aggregator.kubernetes.io/automanaged!=true"


class APIServices:
    """The group-versions that the cluster serves by other means than CRDs, known while they are followed.

    Args:
        on_change: called with those that came, went, or changed, which includes their servers' health.
        observers: who is told of lists and watches.
    """

    def __init__(
        self,
        rest: RESTClient,
        settings: InformerSettings,
        features: ServerFeatures,
        nursery: trio.Nursery,
        *,
        on_change: Callable[[set[GroupVersion]], None],
        observers: Observers,
    ) -> None:
        self._observers = observers
        self._rest = rest
        self._settings = settings
        self._features = features
        self._nursery = nursery
        self._on_change = on_change
        self._watcher: _Watcher | None = None
        self._scope = trio.CancelScope()
        self._wanted = False
        self._refused = False

    @property
    def group_versions(self) -> frozenset[GroupVersion]:
        """Those that are known."""
        return frozenset() if self._watcher is None else self._watcher.group_versions

    def may_serve(self, group_version: GroupVersion) -> bool:
        """Whether ``group_version`` may be served although it was not: it was announced, or nothing is known."""
        return self._watcher is None or not self._watcher.known or group_version in self.group_versions

    def follow(self, wanted: bool) -> None:
        """Begin or end to follow them."""
        self._wanted = wanted
        if not wanted:
            self._end()
        elif self._watcher is None and not self._refused:
            source = ListWatch(
                self._rest,
                APISERVICES,
                label_selector=LabelSelector.parse(_NOT_OF_CRDS),
                field_selector=FieldSelector.parse(None),
                obliging=False,
            )
            self._watcher = _Watcher(on_change=self._on_change, on_refused=self._refuse)
            reflector = Reflector(source, self._watcher, self._settings, self._features, self._observers)
            self._scope = start_in_scope(self._nursery, reflector.run)

    def try_again(self) -> None:
        """What was forbidden may be granted by now."""
        self._refused = False
        self.follow(self._wanted)

    def stop(self) -> None:
        """End it, and forget everything."""
        self._wanted = self._refused = False
        self._end()

    def _refuse(self) -> None:
        self._refused = True
        self._end()

    def _end(self) -> None:
        if self._watcher is not None:
            self._watcher.silence()
            self._watcher = None
            self._scope.cancel()


class _Watcher:
    """What a reflector of APIServices reports to."""

    def __init__(self, *, on_change: Callable[[set[GroupVersion]], None], on_refused: Callable[[], None]) -> None:
        self.group_versions: frozenset[GroupVersion] = frozenset()
        self.known: bool = False
        """Whether ``group_versions`` is (or was, before trouble) the truth."""
        self._on_change = on_change
        self._on_refused = on_refused

    def silence(self) -> None:
        """Tell nothing more: its task was cancelled, and may run until its next checkpoint."""
        self._on_change = lambda changed: None
        self._on_refused = lambda: None

    async def replace(self, objects: dict[Key, Unstructured], resource_version: str, *, watched: bool) -> None:
        """Take a complete list. Whose health has changed unseen is not known, so all of them count as changed."""
        before, self.group_versions = self.group_versions, frozenset(_named(obj.name) for obj in objects.values())
        self.known = True
        self._on_change({*before, *self.group_versions})

    async def apply(self, events: list[WatchEvent]) -> None:
        """Take changes."""
        changed: set[GroupVersion] = set()
        for event in events:
            if isinstance(event, Bookmark):
                continue
            group_version = _named(event.object.name)
            changed.add(group_version)
            if isinstance(event, Deleted):
                self.group_versions -= {group_version}
            else:
                self.group_versions |= {group_version}
        if changed:
            self._on_change(changed)

    def following(self) -> None:
        """A watch is open; nobody needs to know."""

    def failing(self, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        """Give up where the server says no, and go on trying where it says nothing."""
        if isinstance(exc, Forbidden | Unauthorized | NotFound):
            self._on_refused()


def _named(name: str) -> GroupVersion:
    """What an APIService stands for: its name is ``version.group``, which the API server checks."""
    version, _, group = name.partition(".")
    return GroupVersion(group, version)
