"""The latest observations of one resource by each source, with their times.

No I/O; only the clock is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

import trio

from dynkube.errors._evidence import NegativeAnswers, extended, later_than
from dynkube.informers._availability.availability import Availability, ServedAs, SourceFailure, may_be_custom
from dynkube.meta import GVR


class Stamps:
    """Strictly increasing timestamps of observations, on trio's clock."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = -math.inf

    def next(self) -> float:
        """Return the current time, or the next float after the last timestamp."""
        self._last = max(trio.current_time(), math.nextafter(self._last, math.inf))
        return self._last


@dataclass(frozen=True, slots=True)
class CRDSource:
    """The state of the CRD watch.

    Attributes:
        listed_at: when CRDs were last listed; ``-inf`` before the first list.
        version: the newest resourceVersion received.
        regressed_at: when the server last returned an older resourceVersion than before. Versions received before that
            cannot be compared with later ones.
        failure: why CRDs cannot be watched now; ``None`` while they can, or before the first attempt has failed.
        failed_at: time of the first failure since the last success.
    """

    listed_at: float = -math.inf
    version: str = ""
    regressed_at: float = -math.inf
    failure: SourceFailure | None = None
    failed_at: float = math.inf

    @property
    def listed(self) -> bool:
        """Whether CRDs were ever listed."""
        return self.listed_at > -math.inf

    @property
    def followed(self) -> bool:
        """Whether CRDs were listed and are being watched."""
        return self.listed and self.failure is None


@dataclass(frozen=True, slots=True)
class DiscoveryAnswer:
    """The response of discovery for one group-version, or for all versions of a group.

    Attributes:
        asked: when the request was made, so the response shows the state at that time or later.
        resources: the version and scope of each resource; ``None`` if the group-version is not served.
        crds_followed: whether CRDs were being watched at the request. If not, a served resource may be defined by an
            unknown CRD.
    """

    asked: float
    resources: Mapping[str, ServedAs] | None
    crds_followed: bool = True


@dataclass(frozen=True, slots=True)
class Listed:
    """A discovery response that lists the resource.

    Attributes:
        asked: when the request was made.
        served_as: the resource's version and scope.
        crds_followed: as in :class:`DiscoveryAnswer`.
    """

    asked: float
    served_as: ServedAs
    crds_followed: bool


@dataclass(frozen=True, slots=True)
class ServingProof:
    """A successful list of the resource's objects, or a response with one of them.

    Attributes:
        time: when it was received.
        version: the resourceVersion of the list or the object.
        served_as: the resource's version and scope.
    """

    time: float
    version: str
    served_as: ServedAs


@dataclass(frozen=True, slots=True)
class Observations:
    """The newest observations of one resource by each source.

    Attributes:
        crd: the verdict from its CRD; ``None`` if the CRD watch (``CRDSource``) has no such CRD.
        crd_gone_at: when the deletion of its CRD was observed; ``-inf`` if never.
        crd_gone_version: the resourceVersion of that deletion.
        served: the newest discovery response with the resource.
        denied: the discovery responses without the resource, since ``served`` and ``proof``.
        ready_at: when the API server was asked for the first report of its readiness after the first of ``denied``;
            earlier if there is no such report.
        no_api_at: when the APIServices, while they were watched, last had none for the group-version.
        proof: the newest response with objects of the resource.
        object_read: the newest response with an object, whose scope it shows. A list does not: its scope is assumed.
        discovery_failure: why the last read of discovery failed; ``None`` if it succeeded.
    """

    crd: Availability | None = None
    crd_gone_at: float = -math.inf
    crd_gone_version: str = ""
    served: Listed | None = None
    denied: NegativeAnswers | None = None
    ready_at: float = -math.inf
    no_api_at: float = -math.inf
    proof: ServingProof | None = None
    object_read: ServingProof | None = None
    discovery_failure: SourceFailure | None = None

    def with_crd_gone(self, now: float, version: str) -> Observations:
        """Return the observations after the deletion of the CRD."""
        return replace(self, crd_gone_at=now, crd_gone_version=version)

    def with_answer(self, gvr: GVR, answer: DiscoveryAnswer) -> Observations:
        """Return the observations with a response of discovery added.

        A response whose request was sent before the latest observation is ignored.
        """
        served_as = (answer.resources or {}).get(gvr.resource)
        if served_as is not None:
            if self.served is not None and self.served.asked >= answer.asked:
                return self
            denied = later_than(self.denied, answer.asked)
            return replace(self, served=Listed(answer.asked, served_as, answer.crds_followed), denied=denied)
        if answer.asked <= self.last_present:
            return self
        return replace(self, denied=extended(self.denied, answer.asked, _not_served(gvr, answer)))

    def with_no_api(self, now: float) -> Observations:
        """Return the observations after no APIService was found for the group-version."""
        return replace(self, no_api_at=now)

    def with_ready(self, time: float) -> Observations:
        """Return the observations after a report, requested at ``time``, that the API server is ready.

        A later report than the first one is ignored, as an answer counts that was requested after a report.
        """
        known = self.denied is None or self.ready_at > self.denied.first
        return self if known or time <= self.ready_at else replace(self, ready_at=time)

    def with_proof(self, proof: ServingProof) -> Observations:
        """Return the observations after a response with objects of the resource."""
        if self.proof is not None and self.proof.time >= proof.time:
            return self
        return replace(self, proof=proof, denied=later_than(self.denied, proof.time))

    def with_object(self, proof: ServingProof) -> Observations:
        """Return the observations after a response with one object of the resource."""
        if self.object_read is not None and self.object_read.time >= proof.time:
            return self
        return replace(self.with_proof(proof), object_read=proof)

    @property
    def last_present(self) -> float:
        """When a response last showed that the resource is served; ``-inf`` if never."""
        served = self.served.asked if self.served is not None else -math.inf
        return max(served, self.proof.time if self.proof is not None else -math.inf)


def _not_served(gvr: GVR, answer: DiscoveryAnswer) -> str:
    hint = ""
    if near := get_close_matches(gvr.resource, answer.resources or (), n=1):
        hint = f"; did you mean {GVR(gvr.group, gvr.version, near[0])}? (resources are named in the plural)"
    if may_be_custom(gvr):
        return f"no CRD {gvr.crd_name} is installed{hint}"
    return f"the server does not serve {gvr}{hint}"
