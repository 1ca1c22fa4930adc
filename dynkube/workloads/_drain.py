"""Draining of a node: cordon it, evict its pods, and wait until they are gone.

One watch of the node's pods shows which are gone. Each pod has a task, which waits while its eviction is refused; only
the requests count against the limit of concurrent ones, so a pod that a PodDisruptionBudget blocks holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec
import trio

from dynkube._logs import get_logger
from dynkube._nursery import OwnedNursery
from dynkube.client import Watch
from dynkube.client._client import APIClient
from dynkube.errors import (
    APIError,
    Conflict,
    DynkubeError,
    Forbidden,
    NotFound,
    ProtocolError,
    TooManyRequests,
    TransportError,
)
from dynkube.errors._evidence import CONFIRMATION, Evidence, NegativeAnswers, evidence_of, extended, proves_deletion
from dynkube.meta import GVR, Added, Deleted, LabelSelector, Unstructured
from dynkube.meta._encode import encode_json
from dynkube.meta._path import resource_path
from dynkube.rest._messages import Request
from dynkube.workloads._pod_verdicts import (
    DrainedPod,
    DrainError,
    DrainOptions,
    DrainReport,
    PodOutcome,
    daemon_set_of,
    verdict,
)

_log = get_logger("dynkube.workloads")
_NODES: Final = GVR("", "v1", "nodes")
_PODS: Final = GVR("", "v1", "pods")
_DAEMON_SETS: Final = GVR("apps", "v1", "daemonsets")
_PAUSE: Final = 5.0  # seconds until an eviction is tried again, as with kubectl
_NAMED: Final = 5  # pods in an error message


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainSettings:
    """How a node is drained; the arguments are those of ``Client.drain``."""

    options: DrainOptions
    pod_selector: LabelSelector
    grace_period: int | None
    disable_eviction: bool
    dry_run: bool
    parallel: int
    timeout: float | None


async def set_unschedulable(
    api: APIClient, node: str, cordoned: bool, *, dry_run: bool, timeout: float | None
) -> Unstructured:
    """Cordon or uncordon a node; return it as stored."""
    patch = {"spec": {"unschedulable": True if cordoned else None}}
    return await api.resource(_NODES).patch(node, patch, dry_run=dry_run, timeout=timeout)


async def drain(
    api: APIClient, node: str, settings: DrainSettings, on_report: Callable[[DrainReport], object] | None
) -> DrainReport:
    """Drain a node; see ``Client.drain``."""
    await set_unschedulable(api, node, True, dry_run=settings.dry_run, timeout=None)
    run = _Run(api, settings, DrainReport(node, ()), on_report or (lambda report: None))
    try:
        with trio.move_on_after(float("inf") if settings.timeout is None else settings.timeout):
            await run.carry_out()
            return run.report
    except (trio.Cancelled, KeyboardInterrupt):  # there is no report to return
        _log.warning("the drain was cancelled: %s", _left_cordoned(run.report))
        raise
    except DynkubeError as exc:
        exc.add_note(_left_cordoned(run.report))
        raise
    run.check(
        f"not drained within {settings.timeout:g} s", PodOutcome.WAITING, PodOutcome.BLOCKED, PodOutcome.TERMINATING
    )
    raise DrainError(f"node {node!r} was not drained within {settings.timeout:g} s", report=run.report)


@dataclass(slots=True)
class _Run:
    """One drain, and what became of the pods so far."""

    api: APIClient
    settings: DrainSettings
    report: DrainReport
    on_report: Callable[[DrainReport], object]
    gone: dict[str, trio.Event] = field(default_factory=dict)  # by uid, of the pods to evict
    left: int = 0  # pods whose task has not ended
    all_done: trio.Event = field(default_factory=trio.Event)

    async def carry_out(self) -> None:
        """Evict the pods, and wait until they are gone.

        Raises:
            DrainError: a pod may not be evicted, or its eviction failed.
        """
        # The labels are matched here: the watch would show a pod whose labels change as deleted.
        selector = {"spec.nodeName": self.report.node}
        async with self.api.resource(_PODS).watch(field_selector=selector, bookmarks=False) as events:
            pods = [event.object for _ in range(events.pending) if isinstance(event := await anext(events), Added)]
            chosen = sorted(filter(self._is_chosen, pods), key=lambda pod: pod.key)
            self.report = replace(self.report, pods=tuple([await self._verdict(pod) for pod in chosen]))
            self.on_report(self.report)
            self.check("nothing was evicted", PodOutcome.REFUSED)
            if waiting := self.report.among(PodOutcome.WAITING):
                await self._remove_all([pod.object for pod in waiting], events)
        self.check("not all pods were evicted", PodOutcome.FAILED)

    async def _remove_all(self, pods: list[Unstructured], events: Watch) -> None:
        self.gone = {pod.uid: trio.Event() for pod in pods}
        self.left = len(pods)
        version = "" if self.settings.disable_eviction else await self._eviction_version()
        limit = trio.CapacityLimiter(self.settings.parallel)
        async with OwnedNursery() as nursery:  # cancelled when all are done
            nursery.start_soon(self._follow, events)
            for pod in pods:
                nursery.start_soon(self._remove, pod, version, limit)
            await self.all_done.wait()

    def _is_chosen(self, pod: Unstructured) -> bool:
        return self.settings.pod_selector.matches(pod.labels)

    async def _verdict(self, pod: Unstructured) -> DrainedPod:
        return verdict(pod, self.settings.options, await self._daemon_set(pod))

    async def _daemon_set(self, pod: Unstructured) -> Exception | bool:
        """Return whether a DaemonSet manages the pod, or why that is not known."""
        place = daemon_set_of(pod)
        if place is None:
            return False
        try:
            await self.api.resource(_DAEMON_SETS).get(place[1], namespace=place[0])
        except NotFound as exc:
            orphaned = proves_deletion(exc)
            return False if orphaned and self.settings.options.force else exc
        except APIError as exc:
            return exc
        return True

    def check(self, consequence: str, *outcomes: PodOutcome) -> None:
        """Raise DrainError if a pod has one of these outcomes."""
        found = self.report.among(*outcomes)
        if not found:
            return
        named = "; ".join(map(str, found[:_NAMED]))
        more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        message = f"node {self.report.node!r} is cordoned, but {consequence}: {named}{more}"
        raise DrainError(message, report=self.report)

    async def _eviction_version(self) -> str:
        """Return the apiVersion of Evictions, from discovery as kubectl does; ``""`` if the server has none."""
        answer = await self.api.raw("GET", "/api/v1", accept="application/json")
        try:
            entries = msgspec.json.decode(answer.body, type=_APIResourceList).resources
        except msgspec.MsgspecError as exc:
            raise ProtocolError(f"{answer.request}: the response is not an APIResourceList: {exc}") from exc
        found = next((each for each in entries if each.name == "pods/eviction"), None)
        return f"{found.group or 'policy'}/{found.version or 'v1beta1'}" if found is not None else ""

    async def _follow(self, events: Watch) -> None:
        """Notice which pods are gone."""
        async for event in events:
            if isinstance(event, Deleted) and (gone := self.gone.get(event.object.uid)) is not None:
                gone.set()

    async def _remove(self, pod: Unstructured, version: str, limit: trio.CapacityLimiter) -> None:
        await self._remove_one(pod, version, limit)
        self.left -= 1
        if not self.left:
            self.all_done.set()

    async def _remove_one(self, pod: Unstructured, version: str, limit: trio.CapacityLimiter) -> None:
        gone = self.gone[pod.uid]
        denials: NegativeAnswers | None = None
        while not gone.is_set():
            try:
                async with limit:
                    await self._request_removal(pod, version)
            except (NotFound, TooManyRequests, Forbidden, Conflict) as exc:
                if proves_deletion(exc):
                    break
                denied = isinstance(exc, Forbidden) and not _in_terminating_namespace(exc)
                denials = extended(denials, trio.current_time(), str(exc)) if denied else None
                if denials is not None and not _may_pass(exc, denials):
                    self._set(pod, PodOutcome.FAILED, str(exc))
                    return
                await self._wait_to_retry(pod, exc, gone)
            except (APIError, TransportError) as exc:
                self._set(pod, PodOutcome.FAILED, str(exc))
                return
            else:
                if not self.settings.dry_run:
                    self._set(pod, PodOutcome.TERMINATING)
                    await gone.wait()
                break
        self._set(pod, PodOutcome.EVICTED, "dry run" if self.settings.dry_run else "")

    async def _wait_to_retry(self, pod: Unstructured, exc: APIError, gone: trio.Event) -> None:
        """Wait until a refused eviction may be tried again, or the pod is gone."""
        pause = _PAUSE
        if not isinstance(exc, Conflict):  # another pod has its name, so this one is gone
            self._set(pod, PodOutcome.BLOCKED, exc.status.message or str(exc))
            pause = max(_PAUSE, exc.retry_after or 0.0)
        with trio.move_on_after(pause):
            await gone.wait()

    async def _request_removal(self, pod: Unstructured, version: str) -> None:
        """Send an eviction, or a deletion."""
        options: dict[str, object] = {"preconditions": {"uid": pod.uid}}
        if self.settings.grace_period is not None:
            options["gracePeriodSeconds"] = self.settings.grace_period
        if self.settings.dry_run:
            options["dryRun"] = ["All"]
        path = resource_path(_PODS, namespace=pod.namespace, name=pod.name, subresource="eviction" if version else None)
        body: dict[str, object] = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        if version:
            metadata = {"name": pod.name, "namespace": pod.namespace}
            body = {"apiVersion": version, "kind": "Eviction", "metadata": metadata, "deleteOptions": options}
        # Retry-After is honored here, so that the report shows what blocks a pod meanwhile.
        method = "POST" if version else "DELETE"
        await self.api.rest.request(
            Request(method=method, path=path, body=encode_json(body), honor_retry_after=not version)
        )

    def _set(self, pod: Unstructured, outcome: PodOutcome, reason: str = "") -> None:
        before = next(each for each in self.report.pods if each.object.uid == pod.uid)
        if (before.outcome, before.reason) != (outcome, reason):
            self.report = self.report.with_pod(pod.uid, outcome, reason)
            self.on_report(self.report)


def _in_terminating_namespace(exc: APIError) -> bool:
    return any(cause.reason == "NamespaceTerminating" for cause in exc.causes)


def _may_pass(exc: APIError, denials: NegativeAnswers) -> bool:
    """Whether a denial may be one of a moment: the authorizer's, for less than it takes a server to start.

    What admission or a proxy refuses is repeated once, as one of them may be a moment's, too.
    """
    lasting = CONFIRMATION.starting if evidence_of(exc) is Evidence.NOT_AUTHORIZED else CONFIRMATION.answers
    return denials.span < lasting


class _APIResource(msgspec.Struct):
    name: str = ""
    group: str = ""
    version: str = ""


class _APIResourceList(msgspec.Struct):
    resources: list[_APIResource] = []


def _left_cordoned(report: DrainReport) -> str:
    return f"node {report.node!r} remains cordoned, with {report.summary}: client.uncordon({report.node!r}) undoes that"
