"""Notifies informers whether their resource is served, initially and on changes.

There are several sources of observations: a watch on CRDs, shared by all informers of a client; a watch on
APIServices (as aggregated APIs have no CRD), open while a resource is absent; discovery, by group-version; and the
responses to requests for the objects themselves. ``verdict.judge`` turns the observations into a verdict. This module
does the I/O: it runs the sources, and decides when to read discovery.

Discovery is read once for a resource without a CRD (built-in or aggregated APIs). It is read again to confirm that a
resource is not served, and at intervals while CRDs cannot be watched, and for an aggregated API that was removed. Other
absent resources cause no periodic requests: the watches report when they appear.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

import trio

from dynkube._server_text import sanitized
from dynkube.discovery import APIResource, DeferredRESTMapper, DiscoveryClient
from dynkube.errors import DynkubeError
from dynkube.errors._evidence import CONFIRMATION
from dynkube.informers._availability.apiservices import APIServices, covers
from dynkube.informers._availability.availability import (
    Availability,
    Presence,
    ServedAs,
    SourceFailure,
    is_custom,
    may_be_custom,
)
from dynkube.informers._availability.crd_filter import CRDFilter
from dynkube.informers._availability.crds import CRDWatcher
from dynkube.informers._availability.discovery_poller import DiscoveryPoller
from dynkube.informers._availability.followers import Followers, Verdict
from dynkube.informers._availability.observations import DiscoveryAnswer, Observations, ServingProof, Stamps
from dynkube.informers._availability.readiness import ReadinessPoller, ServerReadiness
from dynkube.informers._availability.verdict import judge
from dynkube.informers._reflector.reflector import ServerFeatures
from dynkube.informers._settings import InjectedSettings
from dynkube.informers._slices import batches
from dynkube.informers._tasks import start_in_scope
from dynkube.meta import GVR, GroupVersion, Unstructured
from dynkube.meta._versions import is_older
from dynkube.rest._backoff import Backoff
from dynkube.rest._client import RESTClient
from dynkube.telemetry import Observers
from dynkube.telemetry._observers import NO_OBSERVERS

_NOTHING: Final = Observations()
_AT_ONCE: Final = 64  # verdicts


class AvailabilityTracker:
    """Tracks which resources are served; one per client.

    Its tasks run in the client's nursery while any informer needs them.
    """

    def __init__(
        self,
        rest: RESTClient,
        discovery: DiscoveryClient,
        mapper: DeferredRESTMapper,
        settings: InjectedSettings,
        features: ServerFeatures,
        nursery: trio.Nursery,
        observers: Observers = NO_OBSERVERS,
    ) -> None:
        self._rest = rest
        self._observers = observers
        self._mapper = mapper
        self._settings = settings
        self._features = features
        self._nursery = nursery
        self._followers = Followers()
        self._seen: dict[GVR, Observations] = {}  # of followed resources, as the next two
        self._verdicts: dict[GVR, Availability] = {}
        self._answers: dict[GroupVersion, DiscoveryAnswer] = {}
        self._watcher: CRDWatcher | None = None
        self._apis = APIServices(rest, settings, features, nursery, on_change=self._apis_changed, observers=observers)
        self._missing: set[GVR] = set()  # neither a CRD nor another API serves it
        self._polled: set[GroupVersion] = set()  # have a removed aggregated API
        self._scopes: list[trio.CancelScope] = []  # of the tasks that run while there are followers
        self._news = trio.Event()  # set when many verdicts may have changed
        self._stamps = Stamps()
        self.readiness: Final = ServerReadiness(rest, self._stamps.next)
        """Whether the API server has reported that it is ready; one for all that is in doubt."""
        self._doubts = ReadinessPoller(self.readiness, settings, self._ready)
        self._poller = DiscoveryPoller(discovery, settings, self, self._stamps.next)
        self._filter = CRDFilter(settings.crd_filter)
        self._filter_failed = trio.Event()

    def crd(self, gvr: GVR) -> Unstructured | None:
        """Return the CRD that defines ``gvr``, without its schemas; ``None`` if unknown."""
        return self.definition(gvr.crd_name)

    def definition(self, name: str) -> Unstructured | None:
        """Return the CRD of that name without its schemas, if known. Thread-safe."""
        watcher = self._watcher
        return watcher.crds.get(name) if watcher is not None else None

    # ── informers ────────────────────────────────────────────────────────────────────────────

    def follow(self, gvr: GVR, verdict: Verdict) -> None:
        """Call ``verdict`` now and at each change, in the event loop. Does not block."""
        if not self._scopes:
            tasks = (self._poller.run, self._judge_all, self._doubts.run, self._call_filter_again)
            self._scopes.extend(start_in_scope(self._nursery, task) for task in tasks)
        if may_be_custom(gvr):
            self._watch_crds()
        if gvr not in self._followers:
            self._seen[gvr] = self._known(gvr)
        elif self._may_be_outdated(gvr):
            self._poller.want([gvr.group_version])
        self._rejudge([gvr])  # may change the verdict, also for earlier followers
        self._followers.add(gvr, verdict)
        verdict(self._verdicts[gvr])

    def _known(self, gvr: GVR) -> Observations:
        """Return what an earlier response of discovery says about a resource that was not followed.

        Only that it is served: then its objects are requested, which shows whether it still is. That it is not served
        may be outdated, as responses are kept for as long as another resource of the group-version is followed.
        """
        answer = self._answers.get(gvr.group_version)
        if answer is None or gvr.resource not in (answer.resources or ()):
            return _NOTHING
        return _NOTHING.with_answer(gvr, answer)

    def _may_be_outdated(self, gvr: GVR) -> bool:
        """Return whether a resource is absent, and no watch would report that it is served by now."""
        absent = self._verdicts[gvr].presence is Presence.ABSENT
        return absent and not (self.crds_followed and is_custom(gvr))

    def unfollow(self, gvr: GVR, verdict: Verdict) -> None:
        """Remove a follower. With the last one all watches and requests end."""
        self._followers.remove(gvr, verdict)
        if gvr not in self._followers:
            self._note(gvr, None)
            if not self.concerns(gvr.group_version):
                self._answers.pop(gvr.group_version, None)  # it is not kept up to date any more
                self._polled.discard(gvr.group_version)
        if not self._followers:
            self._stop()

    def suspect(self, gvr: GVR) -> None:
        """Handle a 404 for the objects of a resource that seemed to be served."""
        watcher = self._watcher
        if watcher is None or not watcher.source.followed or gvr.crd_name not in watcher.crds:
            self._poller.want([gvr.group_version])

    def stamp(self) -> float:
        """Return the timestamp of a new observation."""
        return self._stamps.next()

    def prove(self, gvr: GVR, version: str, served_as: ServedAs) -> None:
        """Record that the resource's objects were listed: it is served.

        Args:
            gvr: the resource.
            version: the resourceVersion of the list.
            served_as: the version and scope in which they were listed.
        """
        if (seen := self._seen.get(gvr)) is not None:
            self._seen[gvr] = seen.with_proof(ServingProof(self._stamps.next(), version, served_as))
            self._rejudge([gvr])

    def prove_by_response(self, gvr: GVR, proof: ServingProof, *, read: bool = True) -> None:
        """Record a response to a request of the user, which shows that the resource was served.

        Ignored if it is older than the known CRDs.

        Args:
            gvr: the resource.
            proof: the response.
            read: whether the response had an object, so that its scope is known.
        """
        watcher, seen = self._watcher, self._seen.get(gvr)
        if seen is None:
            return
        if watcher is not None and watcher.source.followed and seen.served is None:
            known, version = watcher.source.version, proof.version
            if version == known or is_older(version, known):
                return
        self._seen[gvr] = seen.with_object(proof) if read else seen.with_proof(proof)
        self._rejudge([gvr])

    # ── verdicts ─────────────────────────────────────────────────────────────────────────────

    def _judge(self, gvr: GVR) -> Availability:
        seen, source = self._seen[gvr], None
        if self._watcher is not None:
            source = self._watcher.source
            crd = self._watcher.crds.get(gvr.crd_name) if may_be_custom(gvr) else None
            seen = replace(seen, crd=None if crd is None else self._judge_crd(gvr, crd))
        return judge(gvr, source, seen, confirm_after=CONFIRMATION.discovery * self._settings.discovery_poll)

    def _judge_crd(self, gvr: GVR, crd: Unstructured) -> Availability:
        verdict = self._filter.judge(gvr, crd)
        if self._filter.failing:
            self._filter_failed.set()
        return verdict

    async def _call_filter_again(self) -> None:
        """Call ``crd_filter`` again on CRDs on which it has raised, with backoff, until cancelled."""
        backoff = Backoff(random=self._settings.random)
        while True:
            await self._filter_failed.wait()
            await trio.sleep(backoff.next(trio.current_time()))
            self._filter_failed = trio.Event()
            self._rejudge(self._followers.of_crds(tuple(self._filter.failing)))

    def _rejudge(self, gvrs: list[GVR]) -> None:
        for gvr in gvrs:
            before, now = self._verdicts.get(gvr), self._judge(gvr)
            if now.awaits_discovery:
                self._poller.want([gvr.group_version])
            if now.doubt is not None:
                self._poller.plan(gvr.group_version, now.doubt.read_at)
            self._doubts.note(gvr, now.doubt)
            self._poll_for(gvr, now)
            if before == now:
                continue
            self._note(gvr, now)
            for verdict in self._followers.of(gvr):
                verdict(now)

    def _poll_for(self, gvr: GVR, now: Availability) -> None:
        """Poll discovery for a change that no watch reports: the return of a removed aggregated API."""
        aggregated = self._was_served_without_crd(gvr) and self._apis.may_serve(gvr.group_version)
        if aggregated and now.presence is Presence.ABSENT:
            self._polled.add(gvr.group_version)
            self._poller.look_again()

    def _was_served_without_crd(self, gvr: GVR) -> bool:
        """Return whether discovery has listed a resource that no CRD was known to define: an aggregated API.

        Also if a CRD was created, and deleted with its revisions (a restored backup), before the CRD watch saw it.
        """
        seen = self._seen[gvr]
        served = seen.served if self.crd(gvr) is None else None
        return served is not None and served.crds_followed and served.asked > seen.crd_gone_at

    def _note(self, gvr: GVR, verdict: Availability | None) -> None:
        """Store the latest verdict; with ``None`` remove it, as there are no followers."""
        if verdict is None:
            self._verdicts.pop(gvr, None)
            self._seen.pop(gvr, None)
            self._doubts.note(gvr, None)
        else:
            self._verdicts[gvr] = verdict
        if verdict is not None and verdict.reason in {"CRDNotFound", "AbsenceUnconfirmed"}:
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
            if name not in self._watcher.crds:
                self._filter.forget(name)
        concerned = self._followers.of_crds(names)
        for gvr in concerned:
            if gvr.crd_name not in self._watcher.crds:
                self._seen[gvr] = self._seen[gvr].with_crd_gone(self._stamps.next(), self._watcher.source.version)
        if len(concerned) > _AT_ONCE:
            self._news.set()
        else:
            self._rejudge(concerned)

    def _source_changed(self) -> None:
        if not self.crds_followed:
            self._poller.want(self._followers.versions())
        self._news.set()
        self._watch_apis()

    async def _judge_all(self) -> None:
        """Judge all resources again whenever many verdicts may have changed, until cancelled.

        A few at a time, as each new verdict wakes an informer, of which there may be thousands. Before that, discovery
        is requested for all that need it, as one response serves any number.
        """
        while True:
            await self._news.wait()
            self._news = trio.Event()
            awaited: dict[GroupVersion, DiscoveryAnswer | None] = {}  # with the answers that did not suffice
            for some in batches(self._followers, _AT_ONCE):
                followed = [gvr for gvr in some if gvr in self._followers]
                gvs = [gvr.group_version for gvr in followed if self._judge(gvr).awaits_discovery]
                awaited |= {gv: self._answers.get(gv) for gv in gvs}
                await trio.lowlevel.checkpoint()
            self._poller.want([gv for gv, answer in awaited.items() if self._answers.get(gv) is answer])
            for some in batches(self._followers, _AT_ONCE):
                self._rejudge([gvr for gvr in some if gvr in self._followers])
                await trio.lowlevel.checkpoint()

    def _renewed(self) -> None:
        """Look for resources that no watch reports: the API server may have been replaced by a newer one.

        Built-in ones once more later, as an API server that has just started lists some of them late.
        """
        later = trio.current_time() + CONFIRMATION.starting
        for gvr, verdict in self._verdicts.items():
            # A served group-version may get more resources; for one that is not served an APIService would appear.
            may_return = self._apis.may_serve(gvr.group_version) or self._was_served_without_crd(gvr)
            if verdict.reason == "NotServed" or (gvr in self._missing and may_return):
                self._poller.want([gvr.group_version])
                if not is_custom(gvr):
                    self._poller.plan(gvr.group_version, later)
        self._apis.try_again()

    def _apis_changed(self, group_versions: set[GroupVersion]) -> None:
        now = self._stamps.next()
        for gvr in self._missing:
            if covers(group_versions, gvr.group_version):
                self._poller.want([gvr.group_version], anew=True)
            elif not self._apis.may_serve(gvr.group_version):
                self._seen[gvr] = self._seen[gvr].with_no_api(now)
                self._news.set()

    def _watch_apis(self) -> None:
        """Watch APIServices while a resource without a CRD is absent."""
        # Not while CRDs cannot be watched: discovery is read at intervals then anyway.
        self._apis.follow(bool(self._missing) and self.crds_followed)

    # ── discovery ────────────────────────────────────────────────────────────────────────────

    @property
    def crds_followed(self) -> bool:
        """Whether CRDs are being watched, or are about to be."""
        return self._watcher is None or self._watcher.source.failure is None

    def to_poll(self) -> Collection[GroupVersion]:
        """Return the group-versions to poll: those for which no watch reports changes."""
        return self._polled if self.crds_followed else self._followers.versions()

    def awaits(self, gv: GroupVersion) -> bool:
        """Return whether a read that was planned is still needed: to confirm an absence, or after a renewed watch."""
        return any(
            verdict.doubt is not None or (verdict.presence is Presence.ABSENT and not is_custom(gvr))
            for gvr in self._followers.of_version(gv)
            if (verdict := self._verdicts.get(gvr)) is not None
        )

    def concerns(self, gv: GroupVersion) -> bool:
        """Return whether any resource of ``gv`` is followed."""
        return bool(self._followers.of_version(gv))

    def _ready(self, gvrs: list[GVR], time: float) -> None:
        """Record a report, requested at ``time``, that the API server is ready."""
        for gvr in gvrs:
            self._seen[gvr] = self._seen[gvr].with_ready(time)
        self._rejudge(gvrs)

    def failed(self, gv: GroupVersion, exc: DynkubeError) -> None:
        """Record that reading the discovery of ``gv`` failed."""
        for gvr in self._followers.of_version(gv):
            failure = SourceFailure("DiscoveryFailed", sanitized(str(exc)))
            self._seen[gvr] = replace(self._seen[gvr], discovery_failure=failure)
        self._rejudge(self._followers.of_version(gv))

    def answered(
        self, gv: GroupVersion, resources: tuple[APIResource, ...] | None, *, asked: float, crds_followed: bool
    ) -> None:
        """Record the response of discovery for ``gv``; see :class:`DiscoveryListener`."""
        concerned = self._followers.of_version(gv)
        if not concerned:
            return
        served = None
        if resources is not None:
            served = {each.gvr.resource: ServedAs(each.gvr.version, each.namespaced, each.kind) for each in resources}
        answer = self._answers[gv] = DiscoveryAnswer(asked, served, crds_followed)
        self._polled.discard(gv)
        unserved = not self._apis.may_serve(gv)
        for gvr in concerned:
            seen = self._seen[gvr].with_answer(gvr, answer)
            self._seen[gvr] = replace(
                seen.with_no_api(self._stamps.next()) if unserved else seen, discovery_failure=None
            )
        self._rejudge(concerned)
        if resources is None and self._apis.names(gv):  # it has an APIService, and is not served yet
            self._polled.add(gv)
            self._poller.look_again()

    # ── life ─────────────────────────────────────────────────────────────────────────────────

    def _stop(self) -> None:
        for scope in self._scopes:
            scope.cancel()
        self._scopes.clear()
        if self._watcher is not None:
            self._watcher.mute()
            self._watcher = None
        self._apis.stop()
        self._poller.clear()
        self._doubts.clear()
        self._filter.clear()
        for known in (self._seen, self._verdicts, self._answers, self._missing, self._polled):
            known.clear()
        self._news = trio.Event()
