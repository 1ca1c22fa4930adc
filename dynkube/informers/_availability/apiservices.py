"""Watches APIServices, so that informers notice aggregated APIs.

The watch is open only while an informer waits for a resource that no CRD defines. Most APIServices stand for CRDs,
which are watched anyway, and are excluded by the label that kube-aggregator sets on them. So this is a watch on a
handful of small objects that hardly ever change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

import trio

from dynkube.client._listwatch import ListWatch
from dynkube.errors import DynkubeError, Forbidden, NotFound, Unauthorized
from dynkube.errors._evidence import CONFIRMATION
from dynkube.informers._cache.store import Snapshot
from dynkube.informers._reflector.recovery import Recovery
from dynkube.informers._reflector.reflector import Reflector, ServerFeatures
from dynkube.informers._settings import InjectedSettings
from dynkube.informers._tasks import start_in_scope
from dynkube.meta import GVR, Bookmark, Deleted, FieldSelector, GroupVersion, LabelSelector, WatchEvent
from dynkube.rest._client import RESTClient
from dynkube.telemetry import Observers

APISERVICES: Final = GVR("apiregistration.k8s.io", "v1", "apiservices")
NOT_OF_CRDS: Final = "kube-aggregator.kubernetes.io/automanaged!=true"
_LOST_AFTER_REFUSALS: Final = 2  # as for CRDs


class APIServices:
    """The group-versions of aggregated APIs, known while APIServices are watched.

    Args:
        on_change: called with the group-versions whose APIService was added, removed or changed; changes include the
            health of the aggregated API server.
        observers: notified of lists and watches.
    """

    def __init__(
        self,
        rest: RESTClient,
        settings: InjectedSettings,
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
        self._retry = trio.CancelScope()
        self._retried = False  # whether a retry was started since the last renewal

    def names(self, group_version: GroupVersion) -> bool:
        """Return whether ``group_version`` is known to have an APIService."""
        return self._watcher is not None and covers(self._watcher.group_versions, group_version)

    def may_serve(self, group_version: GroupVersion) -> bool:
        """Return whether ``group_version`` may be served by now.

        True if it has an APIService, or if it is not known which APIServices exist.
        """
        return self._watcher is None or not self._watcher.known or self.names(group_version)

    def follow(self, wanted: bool) -> None:
        """Start or stop the watch."""
        self._wanted = wanted
        if not wanted:
            self._end()
        elif self._watcher is None and not self._refused:
            source = ListWatch(
                self._rest,
                APISERVICES,
                label_selector=LabelSelector.parse(NOT_OF_CRDS),
                field_selector=FieldSelector.parse(None),
                honor_retry_after=False,
            )
            self._watcher = _Watcher(on_change=self._on_change, on_refused=self._refuse)
            reflector = Reflector(source, self._watcher, self._settings, self._features, self._observers)
            self._scope = start_in_scope(self._nursery, reflector.run)

    def try_again(self) -> None:
        """Try again after refusals, as permissions may have been granted; to be called every few minutes."""
        self._retried = False
        self._resume()

    def stop(self) -> None:
        """Stop the watch and reset the state."""
        self._wanted = self._refused = self._retried = False
        self._retry.cancel()
        self._end()

    def _refuse(self) -> None:
        """Pause until the next renewal; once before it, try again when an API server that was starting has started."""
        self._refused = True
        self._end()
        if not self._retried:
            self._retried = True
            self._retry = start_in_scope(self._nursery, self._resume_later)

    async def _resume_later(self) -> None:
        await trio.sleep(CONFIRMATION.starting)
        self._resume()

    def _resume(self) -> None:
        self._retry.cancel()
        self._refused = False
        self.follow(self._wanted)

    def _end(self) -> None:
        if self._watcher is not None:
            self._watcher.mute()
            self._watcher = None
            self._scope.cancel()


class _Watcher:
    """The sink of the reflector on APIServices."""

    def __init__(self, *, on_change: Callable[[set[GroupVersion]], None], on_refused: Callable[[], None]) -> None:
        self.group_versions: frozenset[GroupVersion] = frozenset()
        self.known: bool = False
        """Whether ``group_versions`` has synced; stays true during failures."""
        self._on_change = on_change
        self._on_refused = on_refused
        self._refusals = 0  # consecutive ones, without a healthy watch in between

    def mute(self) -> None:
        """Stop calling back, as the cancelled task may still run until a checkpoint."""
        self._on_change = lambda changed: None
        self._on_refused = lambda: None

    async def replace(self, objects: Snapshot, resource_version: str, *, watched: bool) -> None:
        """Apply a complete list; all are reported as changed, as health may differ."""
        before, self.group_versions = self.group_versions, frozenset(_named(obj.name) for obj in objects)
        self.known = True
        self._on_change({*before, *self.group_versions})

    async def apply(self, events: list[WatchEvent]) -> None:
        """Apply watch events."""
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
        """Record that a watch is open and healthy."""
        self._refusals = 0

    def failing(self, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        """Give up after several 401, 403 or 404 in a row; otherwise the reflector retries."""
        if recovery.immediate or not isinstance(exc, Forbidden | Unauthorized | NotFound):
            return  # if immediate, another attempt follows at once
        self._refusals += 1
        if self._refusals >= _LOST_AFTER_REFUSALS:
            self._on_refused()


def _named(name: str) -> GroupVersion:
    """Return the group-version in an APIService's name, ``version.group``."""
    version, _, group = name.partition(".")
    return GroupVersion(group, version)


def covers(group_versions: Collection[GroupVersion], wanted: GroupVersion) -> bool:
    """Return whether ``group_versions`` have the one that is wanted; any of its group if it has no version."""
    return wanted in group_versions or (not wanted.version and any(gv.group == wanted.group for gv in group_versions))
