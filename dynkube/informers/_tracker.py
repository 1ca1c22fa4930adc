"""Notifies informers whether their resource is served, and again whenever that changes.

Several sources give stamped observations: a watch on CRDs, shared by all informers of a client; a watch on
APIServices, open while anything is absent, as an aggregated API comes without a CRD; discovery, by group-version; and
what the server answered to requests for the objects themselves. ``_availability.judge`` makes a verdict of them; this
module does the I/O around it: it keeps the sources running, and decides when discovery is read.

Discovery is read once where no CRD explains a resource (built-in or aggregated APIs), and at intervals where CRDs
cannot be followed, for an aggregated API that went away, and to confirm that a resource is gone that was served. For
resources that are merely absent nothing is requested at intervals: the watches notice when they come.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace
from typing import Final

import trio

from dynkube._guard import attempt_with, text_of
from dynkube._logs import get_logger
from dynkube._server_text import sanitized
from dynkube.discovery import APIResource, DeferredRESTMapper, DiscoveryClient
from dynkube.errors import DynkubeError
from dynkube.informers._apiservices import APIServices
from dynkube.informers._availability import (
    Availability,
    DiscoveryAnswer,
    Observations,
    Presence,
    ServingProof,
    SourceFailure,
    Stamps,
    absent,
    judge,
    may_be_custom,
)
from dynkube.informers._crd_summary import judge_crd
from dynkube.informers._crds import CRDWatcher
from dynkube.informers._discovery_poller import DiscoveryPoller
from dynkube.informers._followers import Followers, Verdict
from dynkube.informers._reflector import ServerFeatures
from dynkube.informers._settings import InformerSettings
from dynkube.informers._tasks import start_in_scope
from dynkube.meta import GVR, GroupVersion, Unstructured, is_older
from dynkube.rest import RESTClient
from dynkube.telemetry import NOBODY, Observers

_log = get_logger("dynkube.informers")

_NOTHING: Final = Observations()
_CONFIRM_AFTER: Final = 0.9  # poll intervals: the next poll after an answer is far enough from it


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
        self._seen: dict[GVR, Observations] = {}  # of what is followed, as are the next two
        self._verdicts: dict[GVR, Availability] = {}
        self._answers: dict[GroupVersion, DiscoveryAnswer] = {}
        self._watcher: CRDWatcher | None = None
        self._apis = APIServices(rest, settings, features, nursery, on_change=self._apis_changed, observers=observers)
        self._missing: set[GVR] = set()  # neither a CRD nor another API serves it
        self._polled: set[GroupVersion] = set()  # with an aggregated API that went away, or an unconfirmed absence
        self._scopes: list[trio.CancelScope] = []  # of the tasks that run while there are followers
        self._stamps = Stamps()
        self._poller = DiscoveryPoller(discovery, settings, self, self._stamps.next)
        self._filter_failed: set[str] = set()  # CRDs on which crd_filter raised

    def crd(self, gvr: GVR) -> Unstructured | None:
        """The CRD that defines ``gvr``, without its schemas, as it was seen last; ``None`` if none was."""
        return self.definition(gvr.crd_name)

    def definition(self, name: str) -> Unstructured | None:
        """The same by the name of the CRD. May be called on any thread."""
        watcher = self._watcher
        return watcher.crds.get(name) if watcher is not None else None

    # ── informers ────────────────────────────────────────────────────────────────────────────

    def follow(self, gvr: GVR, verdict: Verdict) -> None:
        """Have ``verdict`` called now and at every change, in the event loop. Plain: no I/O here."""
        if not self._scopes:
            self._scopes.append(start_in_scope(self._nursery, self._poller.run))
        if may_be_custom(gvr):
            self._watch_crds()
        if gvr not in self._followers:
            answer = self._answers.get(gvr.group_version)
            self._seen[gvr] = _NOTHING if answer is None else _NOTHING.with_answer(gvr, answer)
        self._rejudge([gvr])  # earlier followers get the news, too, if there is any by now
        self._followers.add(gvr, verdict)
        verdict(self._verdicts[gvr])

    def unfollow(self, gvr: GVR, verdict: Verdict) -> None:
        """Stop it. With the last follower the watches and all requests end."""
        self._followers.remove(gvr, verdict)
        if gvr not in self._followers:
            self._note(gvr, None)
            if not self.concerns(gvr.group_version):
                self._answers.pop(gvr.group_version, None)  # it is not kept up to date from here on
                self._polled.discard(gvr.group_version)
        if not self._followers:
            self._stop()

    def suspect(self, gvr: GVR) -> None:
        """The server answered 404 to a request for the objects of a resource that was thought to be served."""
        watcher = self._watcher
        if watcher is None or not watcher.source.followed or gvr.crd_name not in watcher.crds:
            self._poller.want([gvr.group_version])

    def prove(self, gvr: GVR, version: str, *, namespaced: bool) -> None:
        """The server answered with a list of the resource's objects, of this resourceVersion."""
        if (seen := self._seen.get(gvr)) is not None:
            self._seen[gvr] = seen.with_proof(ServingProof(self._stamps.next(), version, namespaced))
            self._rejudge([gvr])

    def prove_by_object(self, gvr: GVR, obj: Unstructured) -> None:
        """A request was answered with this object. Older objects than what is known of the CRDs prove nothing."""
        watcher, seen = self._watcher, self._seen.get(gvr, _NOTHING)
        if watcher is not None and watcher.source.followed and seen.served is None:
            known, version = watcher.source.version, obj.resource_version
            if version == known or is_older(version, known):
                return
        self.prove(gvr, obj.resource_version, namespaced=bool(obj.namespace))

    # ── verdicts ─────────────────────────────────────────────────────────────────────────────

    def _judge(self, gvr: GVR) -> Availability:
        seen, source = self._seen[gvr], None
        if self._watcher is not None:
            source = self._watcher.source
            crd = self._watcher.crds.get(gvr.crd_name) if may_be_custom(gvr) else None
            seen = replace(seen, crd=None if crd is None else self._judge_crd(gvr, crd))
        return judge(gvr, source, seen, confirm_after=_CONFIRM_AFTER * self._settings.discovery_poll)

    def _judge_crd(self, gvr: GVR, crd: Unstructured) -> Availability:
        accepts = self._settings.crd_filter
        if accepts is None:
            return judge_crd(gvr, crd)
        failures: list[Exception] = []
        if attempt_with(accepts, crd, False, failures.append):
            return judge_crd(gvr, crd)
        if not failures:
            return absent("CRDFiltered", f"CRD {crd.name} is installed, and left out by crd_filter")
        level = logging.DEBUG if crd.name in self._filter_failed else logging.ERROR
        self._filter_failed.add(crd.name)
        _log.log(level, "crd_filter failed on CRD %s; it counts as left out", crd.name, exc_info=failures[0])
        return absent("CRDFilterFailed", f"crd_filter failed on CRD {crd.name}: {text_of(failures[0])}")

    def _rejudge(self, gvrs: list[GVR]) -> None:
        for gvr in gvrs:
            before, now = self._verdicts.get(gvr), self._judge(gvr)
            if now.awaits_discovery:
                self._poller.want([gvr.group_version])
            self._poll_for(gvr, now)
            if before == now:
                continue
            self._note(gvr, now)
            for verdict in self._followers.of(gvr):
                verdict(now)

    def _poll_for(self, gvr: GVR, now: Availability) -> None:
        """Have discovery read at intervals for what no watch notices: an absence to confirm, an API to return."""
        seen = self._seen[gvr]
        unconfirmed = now.presence is Presence.PRESENT and seen.denied is not None
        served = seen.served if self.crd(gvr) is None else None
        aggregated = served is not None and served.crds_followed and served.asked > seen.crd_gone_at
        if unconfirmed or (aggregated and now.presence is Presence.ABSENT):
            self._polled.add(gvr.group_version)
            self._poller.look_again()

    def _note(self, gvr: GVR, verdict: Availability | None) -> None:
        """Keep the latest verdict; ``None`` where there are no followers any more."""
        if verdict is None:
            self._verdicts.pop(gvr, None)
            self._seen.pop(gvr, None)
        else:
            self._verdicts[gvr] = verdict
        if verdict is not None and verdict.reason == "CRDNotFound":
            self._missing.add(gvr)
        else:
            self._missing.discard(gvr)
        if verdict is not None and verdict.presence is Presence.ABSENT:
            self._watch_crds()
        self._watch_apis()

    # ── CRDs ─────────────────────────────────────────────────────────────────────────────────

    def _watch_crds(self) -> None:
        if self._watcher is None:
            self._watcher = CRDWatcher(
                self._rest,
                self._settings,
                self._features,
                self._stamps.next,
                on_change=self._crds_changed,
                on_source=self._source_changed,
                on_renewed=self._renewed,
                observers=self._observers,
            )
            self._scopes.append(start_in_scope(self._nursery, self._watcher.run))

    def _crds_changed(self, names: set[str]) -> None:
        if self._watcher is None:
            return
        for name in names:
            self._mapper.invalidate(name.partition(".")[2])
        concerned = self._followers.of_crds(names)
        for gvr in concerned:
            if gvr.crd_name not in self._watcher.crds:
                self._seen[gvr] = self._seen[gvr].with_crd_gone(self._stamps.next(), self._watcher.source.version)
        self._rejudge(concerned)

    def _source_changed(self) -> None:
        if not self.crds_followed:
            self._poller.want(self._followers.versions())
        self._rejudge(list(self._followers))
        self._watch_apis()

    def _renewed(self) -> None:
        for gvr, verdict in self._verdicts.items():
            # A group-version may have more resources one day. One that is not served at all would be announced.
            if verdict.reason == "NotServed" or (gvr in self._missing and self._apis.may_serve(gvr.group_version)):
                self._poller.want([gvr.group_version])
        self._apis.try_again()

    def _apis_changed(self, group_versions: set[GroupVersion]) -> None:
        for gvr in self._missing:
            if gvr.group_version in group_versions:
                self._poller.want([gvr.group_version], anew=True)

    def _watch_apis(self) -> None:
        """Follow APIServices while anything is absent that only they could announce."""
        # Where CRDs cannot be followed discovery is read at intervals anyway.
        self._apis.follow(bool(self._missing) and self.crds_followed)

    # ── discovery ────────────────────────────────────────────────────────────────────────────

    @property
    def crds_followed(self) -> bool:
        """Whether CRDs are followed now, or are about to be."""
        return self._watcher is None or self._watcher.source.failure is None

    def to_poll(self) -> Collection[GroupVersion]:
        """What no watch would notice: everything, or what is to be confirmed or went away."""
        return self._polled if self.crds_followed else self._followers.versions()

    def concerns(self, gv: GroupVersion) -> bool:
        """Whether anything in ``gv`` is followed."""
        return bool(self._followers.of_version(gv))

    def failed(self, gv: GroupVersion, exc: DynkubeError) -> None:
        """Discovery could not be read."""
        for gvr in self._followers.of_version(gv):
            failure = SourceFailure("DiscoveryFailed", sanitized(str(exc)))
            self._seen[gvr] = replace(self._seen[gvr], discovery_failure=failure)
        self._rejudge(self._followers.of_version(gv))

    def answered(
        self, gv: GroupVersion, resources: tuple[APIResource, ...] | None, *, asked: float, crds_followed: bool
    ) -> None:
        """Discovery said what ``gv`` serves."""
        concerned = self._followers.of_version(gv)
        if not concerned:
            return
        served = None if resources is None else {resource.gvr.resource: resource.namespaced for resource in resources}
        answer = self._answers[gv] = DiscoveryAnswer(asked, served, crds_followed)
        self._polled.discard(gv)
        for gvr in concerned:
            self._seen[gvr] = replace(self._seen[gvr].with_answer(gvr, answer), discovery_failure=None)
        self._rejudge(concerned)
        if resources is None and gv in self._apis.group_versions:  # announced, and not yet served
            self._polled.add(gv)
            self._poller.look_again()

    # ── life ─────────────────────────────────────────────────────────────────────────────────

    def _stop(self) -> None:
        for scope in self._scopes:
            scope.cancel()
        self._scopes.clear()
        if self._watcher is not None:
            self._watcher.silence()
            self._watcher = None
        self._apis.stop()
        self._poller.clear()
        for known in (self._seen, self._verdicts, self._answers, self._missing, self._polled):
            known.clear()
