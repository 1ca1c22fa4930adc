"""Watches CRDs, so that informers notice at once when one is added or removed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import trio

from dynkube._logs import get_logger
from dynkube._server_text import sanitized
from dynkube.client._listwatch import ListWatch
from dynkube.errors import APIError, DynkubeError, Forbidden, NotFound, Unauthorized
from dynkube.informers._availability.availability import SourceFailure
from dynkube.informers._availability.crd_summary import SlimCRDDecoder
from dynkube.informers._availability.observations import CRDSource
from dynkube.informers._cache.store import Snapshot
from dynkube.informers._reflector.recovery import Recovery, reason_of
from dynkube.informers._reflector.reflector import Reflector, ServerFeatures
from dynkube.informers._settings import InjectedSettings
from dynkube.meta import GVR, Bookmark, Deleted, FieldSelector, LabelSelector, Unstructured, WatchEvent
from dynkube.meta._versions import is_older
from dynkube.rest._client import RESTClient
from dynkube.telemetry import Observers
from dynkube.telemetry._observers import NO_OBSERVERS

CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")

# Seconds for the first list, in addition to ``streaming_idle_timeout``. If CRDs were not listed by then, they count as
# unreadable, so that discovery is read instead.
_GRACE: Final = 5.0
# Failures in a row, without a list or watch, after which CRDs count as lost. If only the watch fails, there are lists
# in between, which update the CRDs at the pace of the reflector's backoff.
_LOST_AFTER: Final = 3
_LOST_AFTER_REFUSALS: Final = 2

_log = get_logger("dynkube.informers")


class CRDWatcher:
    """The cluster's CRDs by name, watched once for all informers of a client.

    Args:
        stamp: returns the timestamp of a new observation.
        on_change: called with the names of changed CRDs, after ``crds`` was updated.
        on_source: called when ``source`` changed in more than its resourceVersion.
        on_renewed: called when a watch was reopened, which happens every few minutes.
        observers: notified of lists and watches.
    """

    def __init__(
        self,
        rest: RESTClient,
        settings: InjectedSettings,
        features: ServerFeatures,
        stamp: Callable[[], float],
        *,
        on_change: Callable[[set[str]], None],
        on_source: Callable[[], None],
        on_renewed: Callable[[], None],
        observers: Observers = NO_OBSERVERS,
    ) -> None:
        self.crds: dict[str, Unstructured] = {}
        self.source: CRDSource = CRDSource()
        """The state of the watch. While it fails, ``crds`` keeps the CRDs received last."""
        source = ListWatch(
            rest,
            CRDS,
            label_selector=LabelSelector.parse(None),
            field_selector=FieldSelector.parse(None),
            decoder=SlimCRDDecoder(),
            honor_retry_after=False,
        )
        # consistent=True, as a watch cache that lags behind would return a list without the newest CRDs.
        self._reflector = Reflector(source, self, settings, features, observers, consistent=True)
        self._stamp = stamp
        self._patience = settings.streaming_idle_timeout + _GRACE
        self._on_change = on_change
        self._on_source = on_source
        self._on_renewed = on_renewed
        self._opened = False
        self._only_listed = False  # whether CRDs were listed since the last healthy watch
        self._failures = 0  # consecutive failures, without a list or a healthy watch in between
        self._logged = logging.NOTSET  # the level at which the current loss was logged
        self._unwatchable = False  # whether it was logged that CRDs can only be listed

    async def run(self) -> None:
        """Watch CRDs until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._expect_list)
            await self._reflector.run()

    def mute(self) -> None:
        """Stop calling back, as the cancelled task may still run until a checkpoint."""
        self._on_change = lambda names: None
        self._on_source = self._on_renewed = lambda: None

    async def _expect_list(self) -> None:
        await trio.sleep(self._patience)
        if not self.source.listed and self.source.failure is None:
            failure = SourceFailure("CRDsPending", f"the CRDs have not been listed after {self._patience:g} s")
            self._lose(failure, logging.WARNING)

    # ── the reflector's sink ─────────────────────────────────────────────────────────────────

    async def replace(self, objects: Snapshot, resource_version: str, *, watched: bool) -> None:
        """Apply a complete list; missing CRDs are recorded as deleted now."""
        before, self.crds = self.crds, {obj.name: obj for obj in objects}
        source, self._failures, now = self.source, 0, self._stamp()
        self._only_listed = not watched
        regressed_at = now if is_older(resource_version, source.version) else source.regressed_at
        self.source = CRDSource(listed_at=now, version=resource_version, regressed_at=regressed_at)
        changed = {name for name in before.keys() | self.crds.keys() if before.get(name) != self.crds.get(name)}
        if changed:
            self._on_change(changed)
        if source.failure is not None:
            self._found()
        elif not source.listed:
            self._on_source()

    async def apply(self, events: list[WatchEvent]) -> None:
        """Apply events one by one, as a batch may have both a deletion and a creation."""
        for event in events:
            version = event.resource_version if isinstance(event, Bookmark) else event.object.resource_version
            if not is_older(version, self.source.version):
                self.source = replace(self.source, version=version)
            if isinstance(event, Bookmark):
                continue
            crd = event.object
            known = self.crds.get(crd.name)
            if known is not None and is_older(crd.resource_version, known.resource_version):
                continue  # a repeated event, as in any cache
            if isinstance(event, Deleted):
                self.crds.pop(crd.name, None)
            else:
                self.crds[crd.name] = crd
            self._on_change({crd.name})

    def following(self) -> None:
        """Record that a watch is open and healthy."""
        self._failures = 0
        self._only_listed = self._unwatchable = False
        if self.source.listed and self.source.failure is not None:
            self.source = replace(self.source, failure=None)
            self._found()
        if self._opened:
            self._on_renewed()
        self._opened = True

    def failing(self, exc: DynkubeError, streak: int, recovery: Recovery) -> None:
        """Count a failure; after several in a row CRDs count as unreadable."""
        if recovery.stop_streaming or recovery.immediate:  # not counted, as another attempt follows at once
            return
        self._failures += 1
        refused = isinstance(exc, Forbidden | Unauthorized | NotFound)
        if not self.source.listed or self._failures >= (_LOST_AFTER_REFUSALS if refused else _LOST_AFTER):
            # Warn only about missing permissions: that the server is down is logged with the state of each informer.
            self._lose(SourceFailure(reason_of(exc), sanitized(str(exc))), logging.WARNING if refused else logging.INFO)
        elif isinstance(exc, APIError) and refused and self._only_listed and not self._unwatchable:
            self._unwatchable = True
            text = "CRDs can be listed but not watched (%s): polling their list instead"
            _log.warning(text, exc, extra={"gvr": str(CRDS), "reason": reason_of(exc)})

    def _lose(self, failure: SourceFailure, level: int) -> None:
        before = self.source
        if before.failure == failure:
            return
        known = before.failure is not None and before.failure.reason == failure.reason
        failed_at = self._stamp() if before.failure is None else before.failed_at
        self.source = replace(before, failure=failure, failed_at=failed_at)
        if level > self._logged:  # once per loss, and again if permissions turn out to be missing
            self._logged = level
            text = "CRDs cannot be read (%s): keeping those already known, and polling discovery as well"
            _log.log(level, text, failure.message, extra={"gvr": str(CRDS), "reason": failure.reason})
        if not known:  # lists and streaming lists fail in turn, with other messages
            self._on_source()

    def _found(self) -> None:
        self._logged = logging.NOTSET
        _log.info("CRDs can be read again", extra={"gvr": str(CRDS)})
        self._on_source()
