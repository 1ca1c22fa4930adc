"""Tells informers whether their resource exists, and again whenever that changes.

Sources, in this order: a watch on CRDs, shared by all informers; one question to discovery where no
CRD explains a resource (built-in or aggregated APIs); discovery at intervals where CRDs may not be
watched, and for an aggregated API that went away. For resources that are merely absent nothing is asked
at intervals: the CRD watch tells when they come, and a watch on APIServices, open while any is absent,
tells when an aggregated API comes without a CRD. Where that may not be watched, discovery is asked once
each time the CRD watch is renewed.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

import trio

from dynkube.discovery import APIResource, DeferredRESTMapper, DiscoveryClient
from dynkube.errors import DynkubeError
from dynkube.informers._apiservices import APIServices
from dynkube.informers._availability import (
    Availability,
    Presence,
    Served,
    absent,
    judge_crd,
    may_be_custom,
    unknown,
)
from dynkube.informers._crds import CRDS, CRDWatcher
from dynkube.informers._followers import Followers, Verdict
from dynkube.informers._questions import Questions
from dynkube.informers._reflector import ServerFeatures
from dynkube.informers._settings import InformerSettings
from dynkube.informers._tasks import start_in_scope
from dynkube.meta import GVR, GroupVersion, Unstructured
from dynkube.rest import RESTClient
from dynkube.telemetry import NOBODY, Observers

_log = logging.getLogger("dynkube.informers")


class AvailabilityTracker:
    """One per client. Runs in the client's nursery, while any informer needs it."""

    def __init__(
        self,
        rest: RESTClient,
        discovery: DiscoveryClient,
        mapper: DeferredRESTMapper,
        settings: InformerSettings,
        features: ServerFeatures,
        nursery: trio.Nursery,
        observers: Observers = NOBODY,
    ) -> None:
        self._rest = rest
        self._observers = observers
        self._mapper = mapper
        self._settings = settings
        self._features = features
        self._nursery = nursery
        self._followers = Followers()
        self._verdicts: dict[GVR, Availability] = {}
        self._served: dict[GroupVersion, Served] = {}
        self._trouble: dict[GroupVersion, str] = {}
        self._watcher: CRDWatcher | None = None
        self._blind = False  # whether it was, when that was last told
        self._apis = APIServices(rest, settings, features, nursery, on_change=self._apis_changed, observers=observers)
        self._missing: set[GVR] = set()  # without a CRD, and not served otherwise
        self._scopes: list[trio.CancelScope] = []  # of the tasks that run while there are followers
        self._questions = Questions(discovery, settings, self)
        self._filter_failed: set[str] = set()  # CRDs on which crd_filter raised
        self._polled: set[GroupVersion] = set()  # aggregated APIs that went away

    def crd(self, gvr: GVR) -> Unstructured | None:
        """The CRD that defines ``gvr``, without its schemas, as it was seen last; ``None`` where none was."""
        return self.definition(gvr.crd_name)

    def definition(self, name: str) -> Unstructured | None:
        """The same by the name of the CRD. May be called on any thread."""
        watcher = self._watcher
        return watcher.crds.get(name) if watcher is not None else None

    # ── informers ────────────────────────────────────────────────────────────────────────────

    def follow(self, gvr: GVR, verdict: Verdict) -> None:
        """Have ``verdict`` called now and at every change, in the event loop. Plain: no I/O here."""
        if not self._scopes:
            self._scopes.append(start_in_scope(self._nursery, self._questions.run))
        if self._watcher is None and may_be_custom(gvr):
            self._watcher = CRDWatcher(
                self._rest,
                self._settings,
                self._features,
                on_change=self._crds_changed,
                on_settled=self._settled,
                on_renewed=self._renewed,
                observers=self._observers,
            )
            self._scopes.append(start_in_scope(self._nursery, self._watcher.run))
        self._rejudge([gvr])  # what is news by now is so for those, too, who follow it already
        self._followers.add(gvr, verdict)
        verdict(self._verdicts[gvr])

    def unfollow(self, gvr: GVR, verdict: Verdict) -> None:
        """Stop it. With the last follower the watch and all requests end."""
        self._followers.remove(gvr, verdict)
        if gvr not in self._followers:
            self._note(gvr, None)
            if not self.concerns(gvr.group_version):
                self._forget_version(gvr.group_version)  # nobody keeps it true from here on
        if not self._followers:
            self._stop()

    def suspect(self, gvr: GVR) -> None:
        """The server answered 404 for a resource that was thought to be there: find out."""
        if self._watcher is None or gvr.crd_name not in self._watcher.crds:
            self._questions.want([gvr.group_version])

    # ── verdicts ─────────────────────────────────────────────────────────────────────────────

    def _judge(self, gvr: GVR) -> Availability:
        watcher = self._watcher
        if may_be_custom(gvr) and watcher is not None:
            if not watcher.known and not watcher.blind:
                return unknown(watcher.trouble or "CRDsPending", watcher.trouble_message)
            crd = watcher.crds.get(gvr.crd_name)
            if crd is not None and not watcher.blind:
                return self._judge_crd(gvr, crd)
        served = self._served.get(gvr.group_version)
        if served is not None:
            return served.judge(gvr)
        self._questions.want([gvr.group_version])
        trouble = self._trouble.get(gvr.group_version)
        if trouble is not None:
            return unknown("DiscoveryFailed", trouble)
        return unknown("DiscoveryPending", "discovery has not answered yet")

    def _judge_crd(self, gvr: GVR, crd: Unstructured) -> Availability:
        accepts = self._settings.crd_filter
        try:
            if accepts is not None and not accepts(crd):
                return absent("CRDFiltered", f"CRD {crd.name} is installed, and left out by crd_filter")
        except Exception as exc:  # noqa: BLE001  # a user's function
            level = logging.DEBUG if crd.name in self._filter_failed else logging.ERROR
            self._filter_failed.add(crd.name)
            _log.log(level, "crd_filter failed on CRD %s; it counts as left out", crd.name, exc_info=exc)
            return absent("CRDFilterFailed", f"crd_filter failed on CRD {crd.name}: {exc}")
        return judge_crd(gvr, crd)

    def _rejudge(self, gvrs: list[GVR]) -> None:
        for gvr in gvrs:
            before, now = self._verdicts.get(gvr), self._judge(gvr)
            if before == now:
                continue
            self._note(gvr, now)
            if now.presence is Presence.ABSENT and before is not None and before.reason == "Served":
                self._polled.add(gvr.group_version)  # no CRD will tell when it is back
                self._questions.look_again()
            for verdict in self._followers.of(gvr):
                verdict(now)

    def _note(self, gvr: GVR, verdict: Availability | None) -> None:
        """Keep the latest verdict; ``None`` where nobody follows any more."""
        if verdict is None:
            self._verdicts.pop(gvr, None)
        else:
            self._verdicts[gvr] = verdict
        if verdict is not None and verdict.reason == "CRDNotFound":
            self._missing.add(gvr)
        else:
            self._missing.discard(gvr)
        self._watch_apis()

    # ── CRDs ─────────────────────────────────────────────────────────────────────────────────

    def _crds_changed(self, names: set[str]) -> None:
        if self._watcher is None:
            return
        for name in names:
            self._mapper.invalidate(name.partition(".")[2])
        concerned = self._followers.of_crds(names)
        for gvr in concerned:
            if gvr.crd_name not in self._watcher.crds:
                self._forget(gvr)
        self._rejudge(concerned)

    def _forget(self, gvr: GVR) -> None:
        """Its CRD went, so it is not served, whatever discovery said while it was there."""
        gv = gvr.group_version
        served = self._served.get(gv, Served(None)).resources or {}
        self._served[gv] = Served({name: value for name, value in served.items() if name != gvr.resource})
        self._questions.outdate(gv)  # else an answer that is on its way would bring it back

    def _forget_version(self, gv: GroupVersion) -> None:
        self._served.pop(gv, None)
        self._trouble.pop(gv, None)
        self._polled.discard(gv)

    def _settled(self) -> None:
        if self._watcher is not None:
            self._tell_sight(self._watcher)
        if self.unsighted:
            self._questions.want(self._followers.versions())
        else:  # what stood in for the CRDs is asked again, where they do not tell
            self._served = {gv: served for gv, served in self._served.items() if not served.blind}
        self._rejudge(list(self._followers))
        self._watch_apis()

    def _tell_sight(self, watcher: CRDWatcher) -> None:
        """Log it when CRDs cannot be watched any more, and when they can be again."""
        if watcher.blind == self._blind:
            return
        self._blind = watcher.blind
        extra = {"gvr": str(CRDS), "reason": watcher.trouble}
        if watcher.blind:
            text = "CRDs cannot be watched (%s): discovery is asked every %g s whether resources have come or gone"
            _log.warning(text, watcher.trouble_message, self._settings.discovery_poll, extra=extra)
        else:
            _log.info("CRDs can be watched again", extra=extra)

    def _renewed(self) -> None:
        for gvr, verdict in self._verdicts.items():
            # Who serves a group-version may serve more of it one day. One that nobody serves would be announced.
            if verdict.reason == "NotServed" or (gvr in self._missing and self._apis.may_serve(gvr.group_version)):
                self._questions.want([gvr.group_version])
        self._apis.try_again()

    def _apis_changed(self, group_versions: set[GroupVersion]) -> None:
        for gvr in self._missing:
            if gvr.group_version in group_versions:
                self._questions.outdate(gvr.group_version)
                self._questions.want([gvr.group_version])

    def _watch_apis(self) -> None:
        """Follow APIServices while anybody waits for what only they could announce."""
        blind = self._watcher is None or self._watcher.blind  # and discovery is asked at intervals anyway
        self._apis.follow(bool(self._missing) and not blind)

    # ── discovery ────────────────────────────────────────────────────────────────────────────

    @property
    def unsighted(self) -> bool:
        """Whether CRDs cannot be seen, so that only discovery can tell."""
        return self._watcher is not None and self._watcher.blind

    def to_poll(self) -> Collection[GroupVersion]:
        """What nobody will tell of: everything, or what an aggregated API served that went away."""
        return self._followers.versions() if self.unsighted else self._polled

    def concerns(self, gv: GroupVersion) -> bool:
        """Whether anybody follows something in ``gv``."""
        return bool(self._followers.of_version(gv))

    def failed(self, gv: GroupVersion, exc: DynkubeError) -> None:
        """Discovery could not tell."""
        self._trouble[gv] = str(exc)
        self._rejudge(self._followers.of_version(gv))

    def answered(self, gv: GroupVersion, resources: tuple[APIResource, ...] | None, *, blind: bool) -> None:
        """Discovery told what ``gv`` serves."""
        self._trouble.pop(gv, None)
        served = None if resources is None else {resource.gvr.resource: resource.namespaced for resource in resources}
        self._served[gv] = Served(served, blind=blind)
        concerned = self._followers.of_version(gv)
        if not concerned:
            self._forget_version(gv)
            return
        self._rejudge(concerned)
        if resources is None and gv in self._apis.group_versions:
            self._polled.add(gv)  # announced, and not yet served
            self._questions.look_again()
        if all(self._verdicts[gvr].presence is Presence.PRESENT for gvr in concerned):
            self._polled.discard(gv)

    # ── life ─────────────────────────────────────────────────────────────────────────────────

    def _stop(self) -> None:
        for scope in self._scopes:
            scope.cancel()
        self._scopes.clear()
        if self._watcher is not None:
            self._watcher.silence()
            self._watcher = None
            self._blind = False
        self._apis.stop()
        self._questions.clear()
        for known in (self._missing, self._served, self._trouble, self._polled):
            known.clear()
