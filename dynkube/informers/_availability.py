"""Whether a resource is served: observations of several sources, and the verdict that follows from them.

Pure but for the clock. Each source stamps what it observes with a time, or with a resourceVersion: *as of when* it
holds. A verdict is a function of the newest observations (:func:`judge`), whatever the order in which they arrived.
Two rules:

- Only a positive answer that is newer than every sign of presence makes a resource ABSENT. A source that is lost
  (an error response, a dead connection) proves nothing, and takes nothing away.
- A verdict whose source is lost says so (:attr:`Availability.lost`).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

import trio

from dynkube.meta import GVR, is_older


class Presence(enum.Enum):
    """The verdict in one word."""

    UNKNOWN = "unknown"
    ABSENT = "absent"
    PRESENT = "present"


@dataclass(frozen=True, slots=True)
class Generation:
    """One incarnation of a resource: objects of two have nothing to do with each other.

    ``uid`` is the CRD's; ``""`` for built-in and aggregated resources, and where CRDs cannot be read.
    """

    uid: str
    namespaced: bool

    def continues(self, before: Generation | None) -> bool:
        """Whether ``before`` is the same incarnation, as far as is known."""
        if before is None or self.namespaced != before.namespaced:
            return False
        return self.uid == before.uid or "" in (self.uid, before.uid)


@dataclass(frozen=True, slots=True)
class SourceFailure:
    """Why a source cannot be followed: one CamelCase word, and the error's text."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Availability:
    """The verdict on one resource.

    Attributes:
        presence: the verdict.
        reason: why, as one CamelCase word; see :class:`~dynkube.informers.State`.
        message: why, in words.
        generation: which incarnation of the resource it is; ``None`` unless present.
        lost: why the source of an ABSENT verdict cannot be followed any more; ``None`` while it can.
        awaits_discovery: whether the next answer of discovery is needed for a better verdict.
    """

    presence: Presence
    reason: str = ""
    message: str = ""
    generation: Generation | None = None
    lost: SourceFailure | None = None
    awaits_discovery: bool = False


def unknown(reason: str, message: str = "") -> Availability:
    """Not yet known whether the resource is served."""
    return Availability(Presence.UNKNOWN, reason, message)


def absent(reason: str, message: str, lost: SourceFailure | None = None) -> Availability:
    """A source that knows says that the resource is not served."""
    return Availability(Presence.ABSENT, reason, message, lost=lost)


def present(reason: str, namespaced: bool, *, awaits_discovery: bool = False) -> Availability:
    """The resource is served; which CRD defines it, if any, is not known."""
    return Availability(
        Presence.PRESENT, reason, generation=Generation("", namespaced), awaits_discovery=awaits_discovery
    )


def may_be_custom(gvr: GVR) -> bool:
    """Whether a CRD could define it: the group of a CRD is a domain, so it has a dot."""
    return "." in gvr.group


# ── observations ─────────────────────────────────────────────────────────────────────────────


class Stamps:
    """Times of observations, on trio's clock: strictly increasing, so that of two observations one is newer."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = -math.inf

    def next(self) -> float:
        """Now, or the next moment that a float can tell from the last one."""
        self._last = max(trio.current_time(), math.nextafter(self._last, math.inf))
        return self._last


@dataclass(frozen=True, slots=True)
class CRDSource:
    """How far the CRDs have been followed.

    Attributes:
        listed_at: when they were listed last; ``-inf`` before that.
        version: the newest resourceVersion that was seen.
        regressed_at: when revisions were last found to have gone back; those seen before are of another history.
        failure: why they cannot be followed now; ``None`` while they can, or before the first attempt has failed.
        failed_at: since when.
    """

    listed_at: float = -math.inf
    version: str = ""
    regressed_at: float = -math.inf
    failure: SourceFailure | None = None
    failed_at: float = math.inf

    @property
    def listed(self) -> bool:
        """Whether they were ever listed."""
        return self.listed_at > -math.inf

    @property
    def followed(self) -> bool:
        """Whether they were listed, and are followed now."""
        return self.listed and self.failure is None


@dataclass(frozen=True, slots=True)
class DiscoveryAnswer:
    """What discovery said of one group-version.

    Attributes:
        asked: when it was asked; the answer may be as old as that.
        resources: those served, and whether each is namespaced; ``None`` where the group-version is not served.
        crds_followed: whether CRDs were followed at that time. If not, what is served may be a CRD's.
    """

    asked: float
    resources: Mapping[str, bool] | None
    crds_followed: bool = True


@dataclass(frozen=True, slots=True)
class ServingProof:
    """The server answered a list of the resource's objects, or with one of them.

    Attributes:
        time: when.
        version: the resourceVersion of the list or the object.
        namespaced: the resource's scope.
    """

    time: float
    version: str
    namespaced: bool


@dataclass(frozen=True, slots=True)
class Denial:
    """Answers of discovery, all newer than every sign of presence, that a resource is not served.

    Attributes:
        first: when the first of them was asked for.
        last: when the last was.
        message: what they say.
    """

    first: float
    last: float
    message: str


@dataclass(frozen=True, slots=True)
class Observations:
    """The newest observations of one resource by each source.

    Attributes:
        crd: what its CRD says; ``None`` where there is no such CRD, as of ``CRDSource``.
        crd_gone_at: when its CRD was seen to go; ``-inf`` if it never was.
        crd_gone_version: the resourceVersion of that.
        served: the newest answer of discovery with it: when it was asked, and so on.
        served_namespaced: the scope in that answer.
        denied: the answers of discovery without it since then.
        proof: the newest answer with objects of it.
        discovery_failure: why discovery could not be read last time; ``None`` if it could.
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
        """Its CRD was deleted."""
        return replace(self, crd_gone_at=now, crd_gone_version=version)

    def with_answer(self, gvr: GVR, answer: DiscoveryAnswer) -> Observations:
        """Discovery answered. An answer that was asked for before a newer observation changes nothing."""
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
        """The server answered with objects of it."""
        if self.proof is not None and self.proof.time >= proof.time:
            return self
        return replace(self, proof=proof, denied=_later_than(self.denied, proof.time))

    @property
    def last_present(self) -> float:
        """When discovery or an answer with objects last showed it to be served."""
        served = self.served.asked if self.served is not None else -math.inf
        return max(served, self.proof.time if self.proof is not None else -math.inf)


def _later_than(denied: Denial | None, time: float) -> Denial | None:
    """What is left of ``denied`` after a sign of presence at ``time``."""
    if denied is None or denied.first > time:
        return denied
    return replace(denied, first=denied.last) if denied.last > time else None


def _not_served(gvr: GVR, answer: DiscoveryAnswer) -> str:
    hint = ""
    if near := get_close_matches(gvr.resource, answer.resources or (), n=1):
        hint = f"; its version serves {GVR(gvr.group, gvr.version, near[0])} (resources are named by their plural)"
    if may_be_custom(gvr):
        return f"no CRD {gvr.crd_name} is installed{hint}"
    return f"the server does not serve {gvr}{hint}"


# ── the verdict ──────────────────────────────────────────────────────────────────────────────


def judge(gvr: GVR, crds: CRDSource | None, seen: Observations, *, confirm_after: float) -> Availability:
    """The verdict on ``gvr``. The first row that fits counts.

    ===================  =============================================  ===================================
    CRDs                 observation                                    verdict
    ===================  =============================================  ===================================
    not listed yet       none of any source                             UNKNOWN
    followed             its CRD is established and serves the version  PRESENT
    lost                 the same, as of then                           PRESENT, unless discovery has since
                                                                        *confirmed* that it is gone
    followed or lost     crd_filter leaves its CRD out                  ABSENT
    followed             its CRD does not serve it                      ABSENT, unless an answer with objects
                                                                        is newer by resourceVersion
    lost                 the same, as of then                           ABSENT, unless discovery or an answer
                                                                        with objects is newer
    any                  discovery does not list it (newer than         ABSENT if nothing of it was ever
                         every sign of presence)                        read, or if *confirmed*
    any                  the server answered with objects of it, or     PRESENT
                         discovery lists it, newer than its CRD's end
    followed or lost     its CRD was deleted                            ABSENT
    any                  none of these                                  UNKNOWN, and discovery is asked
    ===================  =============================================  ===================================

    *Confirmed*: discovery was asked at least twice, ``confirm_after`` seconds or more apart, and no sign of presence
    came since the first of these questions. An API server that has just started, or one of several that lags behind,
    serves discovery documents that do not list every resource yet.

    An ABSENT verdict is ``lost`` where the CRDs are, and discovery has not confirmed it since.

    Args:
        gvr: the resource.
        crds: the CRD watch; ``None`` where there is no such watch.
        seen: the newest observations.
        confirm_after: seconds.
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
    """Why an ABSENT verdict may be out of date."""
    failure, since = (None, -math.inf) if crds is None else (crds.failure, crds.failed_at)
    if failure is None:
        return None if crds is not None else seen.discovery_failure
    confirmed = seen.discovery_failure is None and seen.denied is not None and seen.denied.last > since
    return None if confirmed else failure


def _after_losing(
    gvr: GVR, crds: CRDSource, seen: Observations, confirm_after: float, lost: SourceFailure | None
) -> Availability:
    """CRDs cannot be followed any more, and its CRD served it when they could."""
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
    """Its CRD is there and does not serve it, unless something newer shows the contrary."""
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
    """There is no CRD of it, or that is not known."""
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
    """Whether the answer may be about a CRD that is not in the list of CRDs, which is newer."""
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
    """Whether ``proof`` is newer than an observation of CRDs: by resourceVersion, and by time where there is none."""
    if proof.time < crds.regressed_at:
        return False
    if proof.version.isdigit() and version.isdigit() and time >= crds.regressed_at:
        return is_older(version, proof.version)
    return proof.time > time


def _reason(gvr: GVR) -> str:
    return "CRDNotFound" if may_be_custom(gvr) else "NotServed"
