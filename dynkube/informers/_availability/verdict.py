"""Whether a resource is served: observations of several sources, and a verdict.

No I/O; only the clock is read. Each source stamps its observations with the time or resourceVersion as of which they
hold. A verdict is a function of the newest observations (:func:`judge`), independent of the order in which they
arrived. Two rules:

- A resource becomes ABSENT only by a successful response without it that is newer than every sign of presence. A
  failing source (an error response, a dead connection) never changes the verdict to ABSENT.
- If the source of a verdict fails, the verdict has that failure (:attr:`Availability.lost`).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

import trio

from dynkube.meta import GVR
from dynkube.meta._versions import is_older


class Presence(enum.Enum):
    """Whether a resource is served, as far as is known."""

    UNKNOWN = "unknown"
    ABSENT = "absent"
    PRESENT = "present"


@dataclass(frozen=True, slots=True)
class Generation:
    """One incarnation of a resource; objects of different ones are unrelated.

    Attributes:
        uid: of the CRD; ``""`` for built-in and aggregated resources, and if CRDs cannot be read.
        namespaced: the resource's scope.
    """

    uid: str
    namespaced: bool

    def continues(self, before: Generation | None) -> bool:
        """Return whether ``before`` is the same incarnation, as far as is known."""
        if before is None or self.namespaced != before.namespaced:
            return False
        return self.uid == before.uid or "" in (self.uid, before.uid)


@dataclass(frozen=True, slots=True)
class SourceFailure:
    """Why a source cannot be read: a CamelCase reason and the error message."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Availability:
    """The verdict on one resource.

    Attributes:
        presence: the verdict.
        reason: its reason as one CamelCase word; :class:`~dynkube.informers.State` lists them.
        message: the reason for people.
        generation: the incarnation of the resource; ``None`` unless present.
        lost: why the source of an ABSENT verdict cannot be read any more; ``None`` while it can.
        awaits_discovery: whether discovery must be read for a better verdict.
    """

    presence: Presence
    reason: str = ""
    message: str = ""
    generation: Generation | None = None
    lost: SourceFailure | None = None
    awaits_discovery: bool = False


def unknown(reason: str, message: str = "") -> Availability:
    """Return the verdict that it is not yet known whether the resource is served."""
    return Availability(Presence.UNKNOWN, reason, message)


def absent(reason: str, message: str, lost: SourceFailure | None = None) -> Availability:
    """Return the verdict that the resource is not served."""
    return Availability(Presence.ABSENT, reason, message, lost=lost)


def present(reason: str, namespaced: bool, *, awaits_discovery: bool = False) -> Availability:
    """Return the verdict that it is served; its CRD, if any, is not known."""
    return Availability(
        Presence.PRESENT, reason, generation=Generation("", namespaced), awaits_discovery=awaits_discovery
    )


def may_be_custom(gvr: GVR) -> bool:
    """Return whether a CRD could define it: the group of a CRD has a dot."""
    return "." in gvr.group


# ── observations ─────────────────────────────────────────────────────────────────────────────


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
        listed_at: when CRDs were listed last; ``-inf`` before that.
        version: the newest resourceVersion received.
        regressed_at: when the server's revisions last went back; versions received before cannot be compared with
            later ones.
        failure: why CRDs cannot be watched now; ``None`` while they can, or before the first attempt has failed.
        failed_at: since when it fails.
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
    """The response of discovery for one group-version.

    Attributes:
        asked: when the request was made; the response may be as old as that.
        resources: for each resource whether it is namespaced; ``None`` if the group-version is not served.
        crds_followed: whether CRDs were being watched then. If not, a served resource may be defined by a CRD.
    """

    asked: float
    resources: Mapping[str, bool] | None
    crds_followed: bool = True


@dataclass(frozen=True, slots=True)
class ServingProof:
    """A successful list of the resource's objects, or a response with one of them.

    Attributes:
        time: when it was received.
        version: the resourceVersion of the list or the object.
        namespaced: the resource's scope.
    """

    time: float
    version: str
    namespaced: bool


@dataclass(frozen=True, slots=True)
class Denial:
    """Responses of discovery without the resource, newer than every sign of presence.

    Attributes:
        first: when the first of them was requested.
        last: when the last of them was requested.
        message: the reason for people.
    """

    first: float
    last: float
    message: str


@dataclass(frozen=True, slots=True)
class Observations:
    """The newest observations of one resource by each source.

    Attributes:
        crd: the verdict of its CRD; ``None`` if there is no such CRD, as of ``CRDSource``.
        crd_gone_at: when its CRD was seen to be deleted; ``-inf`` if never.
        crd_gone_version: the resourceVersion of the deletion.
        served: the newest response of discovery with the resource.
        served_namespaced: the scope in that response.
        denied: the responses of discovery without the resource since then.
        proof: the newest response with objects of the resource.
        discovery_failure: why the last read of discovery failed; ``None`` if it succeeded.
    """

    crd: Availability | None = None
    crd_gone_at: float = -math.inf
    crd_gone_version: str = ""
    served: DiscoveryAnswer | None = None
    served_namespaced: bool = True
    denied: Denial | None = None
    proof: ServingProof | None = None
    discovery_failure: SourceFailure | None = None

    def with_crd_gone(self, now: float, version: str) -> Observations:
        """Return these after the deletion of the CRD."""
        return replace(self, crd_gone_at=now, crd_gone_version=version)

    def with_answer(self, gvr: GVR, answer: DiscoveryAnswer) -> Observations:
        """Return these after a response of discovery.

        A response that was requested before a newer observation changes nothing.
        """
        namespaced = (answer.resources or {}).get(gvr.resource)
        if namespaced is not None:
            if self.served is not None and self.served.asked >= answer.asked:
                return self
            denied = _later_than(self.denied, answer.asked)
            return replace(self, served=answer, served_namespaced=namespaced, denied=denied)
        if answer.asked <= self.last_present:
            return self
        message = _not_served(gvr, answer)
        first = last = answer.asked
        if self.denied is not None:
            first, last = min(first, self.denied.first), max(last, self.denied.last)
        return replace(self, denied=Denial(first, last, message))

    def with_proof(self, proof: ServingProof) -> Observations:
        """Return these after a response with objects of the resource."""
        if self.proof is not None and self.proof.time >= proof.time:
            return self
        return replace(self, proof=proof, denied=_later_than(self.denied, proof.time))

    @property
    def last_present(self) -> float:
        """When discovery or a response with objects last showed that it is served."""
        served = self.served.asked if self.served is not None else -math.inf
        return max(served, self.proof.time if self.proof is not None else -math.inf)


def _later_than(denied: Denial | None, time: float) -> Denial | None:
    """Return what remains of ``denied`` after a sign of presence at ``time``."""
    if denied is None or denied.first > time:
        return denied
    return replace(denied, first=denied.last) if denied.last > time else None


def _not_served(gvr: GVR, answer: DiscoveryAnswer) -> str:
    hint = ""
    if near := get_close_matches(gvr.resource, answer.resources or (), n=1):
        hint = f"; did you mean {GVR(gvr.group, gvr.version, near[0])}? (resources are named in the plural)"
    if may_be_custom(gvr):
        return f"no CRD {gvr.crd_name} is installed{hint}"
    return f"the server does not serve {gvr}{hint}"


# ── the verdict ──────────────────────────────────────────────────────────────────────────────


def judge(gvr: GVR, crds: CRDSource | None, seen: Observations, *, confirm_after: float) -> Availability:
    """Return the verdict on ``gvr``: that of the first row that applies.

    ===================  =============================================  ===================================
    CRD watch            observation                                    verdict
    ===================  =============================================  ===================================
    not listed yet       none of any source                             UNKNOWN
    followed             its CRD is established and serves the version  PRESENT
    lost                 the same, before the watch was lost            PRESENT, unless discovery has since
                                                                        *confirmed* that it is gone
    followed or lost     crd_filter excludes its CRD                    ABSENT
    followed             its CRD does not serve it                      ABSENT, unless a response with
                                                                        objects has a newer resourceVersion
    lost                 the same, before the watch was lost            ABSENT, unless discovery or a
                                                                        response with objects is newer
    any                  discovery does not list it (newer than         ABSENT if no objects of it were ever
                         every sign of presence)                        read, or if *confirmed*
    any                  a response has objects of it, or discovery     PRESENT
                         lists it, newer than its CRD's deletion
    followed or lost     its CRD was deleted                            ABSENT
    any                  none of these                                  UNKNOWN, and discovery is read
    ===================  =============================================  ===================================

    *Confirmed*: discovery was read without it at least twice, ``confirm_after`` seconds or more apart, without any sign
    of presence since the first of these requests. An API server that has just started, or a replica that lags behind,
    serves discovery documents that do not list every resource yet.

    An ABSENT verdict is ``lost`` if the CRD watch is and discovery has not confirmed the verdict since.

    Args:
        gvr: the resource.
        crds: the CRD watch; ``None`` if there is no such watch.
        seen: the newest observations.
        confirm_after: seconds between the two requests that confirm an absence.
    """
    lost = _lost(crds, seen)
    if crds is None or not may_be_custom(gvr):
        return _without_crd(gvr, seen, confirm_after, lost, CRDSource())
    if seen.crd is None:
        return _without_crd(gvr, seen, confirm_after, lost, crds)
    if seen.crd.presence is Presence.PRESENT:
        return seen.crd if crds.followed else _after_losing(gvr, crds, seen, confirm_after, lost)
    return _unless_newer(crds, seen, seen.crd, lost)


def _lost(crds: CRDSource | None, seen: Observations) -> SourceFailure | None:
    """Return why an ABSENT verdict may be out of date; ``None`` if it is not."""
    failure, since = (None, -math.inf) if crds is None else (crds.failure, crds.failed_at)
    if failure is None:
        return None if crds is not None else seen.discovery_failure
    confirmed = seen.discovery_failure is None and seen.denied is not None and seen.denied.last > since
    return None if confirmed else failure


def _after_losing(
    gvr: GVR, crds: CRDSource, seen: Observations, confirm_after: float, lost: SourceFailure | None
) -> Availability:
    """Return the verdict for a lost CRD watch, before which the CRD served it."""
    assert seen.crd is not None
    assert seen.crd.generation is not None
    denied = _later_than(seen.denied, crds.failed_at)
    if denied is not None and denied.last - denied.first >= confirm_after:
        return absent(_reason(gvr), denied.message, lost)
    served = seen.served
    newer = served is not None and served.asked > crds.failed_at
    if newer and seen.served_namespaced != seen.crd.generation.namespaced:
        return present("ServedUnseen", seen.served_namespaced)
    return seen.crd


def _unless_newer(
    crds: CRDSource, seen: Observations, verdict: Availability, lost: SourceFailure | None
) -> Availability:
    """Return the CRD's verdict that it is not served, unless there is newer evidence."""
    if verdict.reason.startswith("CRDFilter"):
        return replace(verdict, lost=lost)
    proof = seen.proof
    if proof is not None and _is_newer(proof, crds.version, crds.failed_at, crds):
        return present("ObjectsSeen", proof.namespaced)
    if not crds.followed and seen.served is not None and seen.served.asked > crds.failed_at:
        return present("ServedUnseen", seen.served_namespaced)
    return replace(verdict, lost=lost)


def _without_crd(
    gvr: GVR, seen: Observations, confirm_after: float, lost: SourceFailure | None, crds: CRDSource
) -> Availability:
    """Return the verdict if there is no CRD of it, or CRDs are not known."""
    proof = seen.proof
    if proof is not None and seen.crd_gone_at > -math.inf:
        proof = proof if _is_newer(proof, seen.crd_gone_version, seen.crd_gone_at, crds) else None
    denied = seen.denied
    if denied is not None and (proof is None or denied.last - denied.first >= confirm_after):
        return absent(_reason(gvr), denied.message, lost)
    served = seen.served
    if served is not None and (served.asked < seen.crd_gone_at or _may_be_of_a_crd(served, crds)):
        served = None
    if served is not None and denied is None:
        return present("Served" if served.crds_followed else "ServedUnseen", seen.served_namespaced)
    if proof is not None:
        return present("ObjectsSeen", proof.namespaced, awaits_discovery=served is None and denied is None)
    if seen.crd_gone_at > -math.inf:
        return absent(_reason(gvr), f"no CRD {gvr.crd_name} is installed", lost)
    return _undecided(gvr, crds, seen)


def _may_be_of_a_crd(served: DiscoveryAnswer, crds: CRDSource) -> bool:
    """Return whether the response may be due to a CRD that was deleted since."""
    return crds.followed and not served.crds_followed and served.asked < crds.listed_at


def _undecided(gvr: GVR, crds: CRDSource, seen: Observations) -> Availability:
    if may_be_custom(gvr) and not crds.listed and crds.failure is None:
        return unknown("CRDsPending", "the CRDs have not been listed yet")
    if crds.failure is not None:
        verdict = unknown(crds.failure.reason, crds.failure.message)
    elif seen.discovery_failure is not None:
        verdict = unknown(seen.discovery_failure.reason, seen.discovery_failure.message)
    else:
        verdict = unknown("DiscoveryPending", "discovery has not answered yet")
    return replace(verdict, awaits_discovery=True)


def _is_newer(proof: ServingProof, version: str, time: float, crds: CRDSource) -> bool:
    """Return whether ``proof`` is newer than an observation of CRDs.

    Compared by resourceVersion, or by time if one has none.
    """
    if proof.time < crds.regressed_at:
        return False
    if proof.version.isdigit() and version.isdigit() and time >= crds.regressed_at:
        return is_older(version, proof.version)
    return proof.time > time


def _reason(gvr: GVR) -> str:
    return "CRDNotFound" if may_be_custom(gvr) else "NotServed"
