"""The verdict on whether a resource is served, from the newest observations.

A pure function, which does not depend on the order in which the observations arrived. Two rules:

- A resource becomes ABSENT only by successful responses without it that are newer than every sign of presence, and
  *confirmed*: by another source, or by time. A failing source (an error response, a dead connection) never changes the
  verdict to ABSENT.
- If the source of an ABSENT verdict fails, the verdict stays and has that failure (:attr:`Availability.lost`).
"""

from __future__ import annotations

import math
from dataclasses import replace

from dynkube.errors._evidence import CONFIRMATION, NegativeAnswers, later_than
from dynkube.informers._availability.availability import (
    Availability,
    Doubt,
    Presence,
    SourceFailure,
    absent,
    is_custom,
    may_be_custom,
    present,
    unknown,
)
from dynkube.informers._availability.observations import (
    CRDSource,
    Listed,
    Observations,
    ServingProof,
)
from dynkube.meta import GVR
from dynkube.meta._versions import is_older


def judge(gvr: GVR, crds: CRDSource | None, seen: Observations, *, confirm_after: float) -> Availability:
    """Return the verdict on ``gvr``, by the first row of this table that applies.

    ===================  =============================================  ===================================
    CRD watch            observation                                    verdict
    ===================  =============================================  ===================================
    not listed yet       no observation from any source                 UNKNOWN
    followed or lost     its CRD serves it, but a newer object has      PRESENT, in the scope of that object
                         another scope (and discovery is not newer)
    followed             its CRD is established and serves the version  PRESENT
    lost                 the same, before the watch was lost            PRESENT, unless discovery has since
                                                                        *confirmed* that it is gone
    followed or lost     crd_filter excludes its CRD                    ABSENT
    followed or lost     crd_filter has raised, and never answered      UNKNOWN
    followed             its CRD does not serve it                      ABSENT, unless a response with
                                                                        objects has a newer resourceVersion
    lost                 the same, before the watch was lost            ABSENT, unless discovery or a
                                                                        response with objects is newer
    any                  discovery does not list it (newer than         ABSENT if *confirmed*
                         every sign of presence)
    any                  a response has objects of it, or discovery     PRESENT
                         lists it, newer than its CRD's deletion
    followed or lost     its CRD was deleted                            ABSENT
    any                  none of these                                  UNKNOWN, and discovery is read
    ===================  =============================================  ===================================

    An API server that has just started, or a replica that lags behind, serves discovery documents that do not list
    every resource yet. So that discovery does not list a resource is *confirmed* if at least two of its responses do
    not have it, without any sign of presence since the first of these was requested, and

    - objects of it were read, the two were requested ``confirm_after`` and ``CONFIRMATION.moment`` or more apart, and
      the server was asked in between whether it is ready, and was; without such a report ``CONFIRMATION.starting``; or
    - no objects of it were ever read, and the two were requested ``confirm_after`` seconds or more apart; or
    - no objects of it were ever read, the two were requested ``CONFIRMATION.answers`` or more apart, and the server was
      asked in between whether it is ready, and was.

    One response is enough if no objects of it were ever read, it is not built in (:func:`is_custom`), CRDs were
    followed at that time, and APIServices, which aggregated APIs have, were listed since: these lists are independent
    sources.

    An ABSENT verdict is ``lost`` if the CRD watch is lost and discovery was not read without the resource since.

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
    if seen.crd.presence is Presence.UNKNOWN:
        return seen.crd
    if seen.crd.presence is Presence.PRESENT:
        if (moved := _in_another_scope(crds, seen, confirm_after)) is not None:
            return moved
        return seen.crd if crds.followed else _after_losing(gvr, crds, seen, confirm_after, lost)
    return _unless_newer(crds, seen, seen.crd, lost)


def _lost(crds: CRDSource | None, seen: Observations) -> SourceFailure | None:
    """Return why an ABSENT verdict may be outdated; ``None`` if it is up to date."""
    failure, since = (None, -math.inf) if crds is None else (crds.failure, crds.failed_at)
    if failure is None:
        return None if crds is not None else seen.discovery_failure
    confirmed = seen.discovery_failure is None and seen.denied is not None and seen.denied.last > since
    return None if confirmed else failure


def _after_losing(
    gvr: GVR, crds: CRDSource, seen: Observations, confirm_after: float, lost: SourceFailure | None
) -> Availability:
    """Return the verdict if the CRD served the resource before the watch was lost."""
    assert seen.crd is not None
    assert seen.crd.generation is not None
    denied = later_than(seen.denied, crds.failed_at)
    if denied is not None and _outlasted(seen, denied, confirm_after):
        return absent(_reason(gvr), denied.message, lost)
    served, doubt = seen.served, _doubt(seen, denied, confirm_after)
    if served is None or served.asked <= crds.failed_at:
        return replace(seen.crd, lost=lost, doubt=doubt)
    if served.served_as != seen.crd.generation.served_as:
        return replace(present("ServedUnseen", served.served_as), doubt=doubt)
    return replace(seen.crd, lost=None if seen.discovery_failure is None else lost, doubt=doubt)


def _in_another_scope(crds: CRDSource, seen: Observations, confirm_after: float) -> Availability | None:
    """Return the verdict if a newer object has another scope than the CRD, which was replaced then; else ``None``."""
    assert seen.crd is not None
    assert seen.crd.generation is not None
    proof, known = seen.object_read, seen.crd.generation.served_as
    if proof is None or proof.served_as.namespaced == known.namespaced:
        return None
    if not _is_newer(proof, crds.version, crds.failed_at, crds):
        return None
    denied, served = None if crds.followed else later_than(seen.denied, proof.time), seen.served
    if denied is not None and _outlasted(seen, denied, confirm_after):
        return None
    if not crds.followed and served is not None and served.asked > proof.time:
        return None
    return replace(present("ObjectsSeen", proof.served_as), doubt=_doubt(seen, denied, confirm_after))


def _unless_newer(
    crds: CRDSource, seen: Observations, verdict: Availability, lost: SourceFailure | None
) -> Availability:
    """Return the CRD's ``verdict``, unless a newer response shows that it is served."""
    if verdict.reason.startswith("CRDFilter"):
        return replace(verdict, lost=lost)
    proof = seen.proof
    if proof is not None and _is_newer(proof, crds.version, crds.failed_at, crds):
        return present("ObjectsSeen", proof.served_as)
    served = seen.served
    if not crds.followed and served is not None and served.asked > crds.failed_at:
        return present("ServedUnseen", served.served_as)
    return replace(verdict, lost=lost)


def _without_crd(
    gvr: GVR, seen: Observations, confirm_after: float, lost: SourceFailure | None, crds: CRDSource
) -> Availability:
    """Return the verdict if the resource has no CRD, or CRDs are not known."""
    proof, crd_deleted = seen.proof, seen.crd_gone_at > -math.inf
    if proof is not None and crd_deleted:
        proof = proof if _is_newer(proof, seen.crd_gone_version, seen.crd_gone_at, crds) else None
    denied = seen.denied
    if denied is not None and _confirmed(gvr, crds, seen, denied, confirm_after, read=proof is not None):
        # Objects that were read since may be of another CRD of that name, which was never seen. They are deleted if
        # CRDs were read after them.
        outlived = proof is not None and (not crds.followed or _is_newer(proof, crds.version, crds.listed_at, crds))
        return absent(_reason(gvr), denied.message, lost, crd_deleted=crd_deleted and not outlived)
    served = seen.served
    if served is not None and (served.asked < seen.crd_gone_at or _may_be_of_a_crd(served, crds)):
        served = None
    doubt = _doubt(seen, denied, confirm_after, read=proof is not None)
    if proof is not None and (served is None or denied is not None):
        awaits_discovery = served is None and denied is None
        return replace(present("ObjectsSeen", proof.served_as), awaits_discovery=awaits_discovery, doubt=doubt)
    if served is not None:
        return replace(present("Served" if served.crds_followed else "ServedUnseen", served.served_as), doubt=doubt)
    if crd_deleted:
        return absent(_reason(gvr), f"no CRD {gvr.crd_name} is installed", lost, crd_deleted=True)
    return _undecided(gvr, crds, seen, doubt)


def _may_be_of_a_crd(served: Listed, crds: CRDSource) -> bool:
    """Return whether a CRD that was deleted since may have served the resource."""
    return crds.followed and not served.crds_followed and served.asked < crds.listed_at


def _lasted(denied: NegativeAnswers, seconds: float) -> bool:
    """Return whether discovery did not list the resource for so long; computed as in :func:`_doubt`."""
    return denied.last >= denied.first + seconds


def _reported(seen: Observations, denied: NegativeAnswers) -> bool:
    """Return whether the API server has reported that it is ready, after the first of the responses."""
    return seen.ready_at > denied.first


def _span(confirm_after: float, *, reported: bool) -> float:
    """Return for how long discovery must not list a resource whose objects were read, as these are taken back."""
    return max(confirm_after, CONFIRMATION.moment if reported else CONFIRMATION.starting)


def _outlasted(seen: Observations, denied: NegativeAnswers, confirm_after: float) -> bool:
    """Return whether discovery's responses prove that a resource is gone whose objects were read."""
    reported = denied.first < seen.ready_at < denied.last
    return _lasted(denied, _span(confirm_after, reported=reported))


def _confirmed(
    gvr: GVR, crds: CRDSource, seen: Observations, denied: NegativeAnswers, confirm_after: float, *, read: bool
) -> bool:
    """Return whether discovery's responses prove that the resource is not served.

    Args:
        gvr: the resource.
        crds: the CRD watch; it has no CRD of the resource.
        seen: the observations.
        denied: the responses.
        confirm_after: as in :func:`judge`.
        read: whether objects of the resource were read.
    """
    if read:
        return _outlasted(seen, denied, confirm_after)
    if _lasted(denied, confirm_after):
        return True
    custom = is_custom(gvr) and crds.listed and (crds.followed or denied.first < crds.failed_at)
    if custom and seen.no_api_at > denied.first:
        return True
    return denied.first < seen.ready_at < denied.last and _lasted(denied, CONFIRMATION.answers)


def _doubt(
    seen: Observations, denied: NegativeAnswers | None, confirm_after: float, *, read: bool = True
) -> Doubt | None:
    """Return what is needed to confirm ``denied``; ``None`` while discovery fails, as it is read again then anyway."""
    if denied is None or seen.discovery_failure is not None:
        return None
    if read:
        reported = _reported(seen, denied)
        read_at = denied.first + _span(confirm_after, reported=reported)
        # A later report than the first one after ``seen.denied`` is not recorded.
        awaits_ready = not reported and seen.denied is not None and not _reported(seen, seen.denied)
        return Doubt(denied.first, max(seen.ready_at, read_at), awaits_ready=awaits_ready)
    if _reported(seen, denied):
        # Not before the report, as an answer is needed that was requested after it.
        return Doubt(denied.first, max(seen.ready_at, denied.first + min(CONFIRMATION.answers, confirm_after)))
    return Doubt(denied.first, denied.first + confirm_after, awaits_ready=True)


def _undecided(gvr: GVR, crds: CRDSource, seen: Observations, doubt: Doubt | None) -> Availability:
    if may_be_custom(gvr) and not crds.listed and crds.failure is None:
        return unknown("CRDsPending", "the CRDs have not been listed yet")
    if seen.denied is not None and doubt is not None:
        message = f"{seen.denied.message}, according to discovery, which is read again to confirm that"
        return replace(unknown("AbsenceUnconfirmed", message), doubt=doubt)
    if crds.failure is not None:
        verdict = unknown(crds.failure.reason, crds.failure.message)
    elif seen.discovery_failure is not None:
        verdict = unknown(seen.discovery_failure.reason, seen.discovery_failure.message)
    else:
        verdict = unknown("DiscoveryPending", "discovery has not answered yet")
    return replace(verdict, awaits_discovery=True)


def _is_newer(proof: ServingProof, version: str, time: float, crds: CRDSource) -> bool:
    """Return whether ``proof`` is newer than an observation of CRDs.

    Compared by resourceVersion; by time if one of them has no numeric resourceVersion.
    """
    if proof.time < crds.regressed_at:
        return False
    if proof.version.isdigit() and version.isdigit() and time >= crds.regressed_at:
        return is_older(version, proof.version)
    return proof.time > time


def _reason(gvr: GVR) -> str:
    return "CRDNotFound" if may_be_custom(gvr) else "NotServed"
