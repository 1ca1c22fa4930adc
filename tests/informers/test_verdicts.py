"""Whether a resource is served, judged from the observations of each source: in tables, and in any order."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube import GVR
from dynkube.informers._availability.availability import (
    Availability,
    Generation,
    Presence,
    ServedAs,
    SourceFailure,
    absent,
)
from dynkube.informers._availability.observations import CRDSource, DiscoveryAnswer, Observations, ServingProof
from dynkube.informers._availability.verdict import judge

WIDGETS = GVR("example.com", "v1", "widgets")
PODS = GVR("", "v1", "pods")
CONFIRM = 30.0
REFUSED = SourceFailure("Forbidden", "403 Forbidden")

PENDING = CRDSource()
UNREADABLE = CRDSource(failure=REFUSED, failed_at=1)
FOLLOWED = CRDSource(listed_at=10, version="100")
RESTORED = replace(FOLLOWED, regressed_at=70)
LOST = replace(FOLLOWED, failure=REFUSED, failed_at=50)

NAMESPACED = ServedAs("v1", namespaced=True)
SERVED = Availability(Presence.PRESENT, "Established", generation=Generation("uid", NAMESPACED))
UNSERVED = absent("VersionNotServed", "only v2")
FILTERED = absent("CRDFiltered", "left out")

NOTHING = Observations()
WITH_CRD = Observations(crd=SERVED)
UNSERVED_CRD = Observations(crd=UNSERVED)
GONE = NOTHING.with_crd_gone(40, "140")


def yes(asked: float, *, crds_followed: bool = True, namespaced: bool = True) -> DiscoveryAnswer:
    served_as = ServedAs("v1", namespaced)
    return DiscoveryAnswer(asked, {"widgets": served_as, "pods": served_as}, crds_followed)


def no(asked: float) -> DiscoveryAnswer:
    return DiscoveryAnswer(asked, None)


def told(seen: Observations, *answers: DiscoveryAnswer, gvr: GVR = WIDGETS) -> Observations:
    for answer in answers:
        seen = seen.with_answer(gvr, answer)
    return seen


def listed(seen: Observations, time: float, version: str = "") -> Observations:
    return seen.with_proof(ServingProof(time, version, NAMESPACED))


def read(seen: Observations, time: float, version: str = "", *, namespaced: bool = False) -> Observations:
    return seen.with_object(ServingProof(time, version, ServedAs("v1", namespaced)))


def verdict(crds: CRDSource | None, seen: Observations, gvr: GVR = WIDGETS) -> str:
    """Return the presence and its reason, and the reason why its source is lost."""
    found = judge(gvr, crds, seen, confirm_after=CONFIRM)
    return f"{found.presence.name} {found.reason}" + (f", lost: {found.lost.reason}" if found.lost else "")


@pytest.mark.parametrize(
    ("crds", "seen", "expected"),
    [
        (PENDING, NOTHING, "UNKNOWN CRDsPending"),
        (UNREADABLE, NOTHING, "UNKNOWN Forbidden"),
        (UNREADABLE, told(NOTHING, yes(5, crds_followed=False)), "PRESENT ServedUnseen"),
        (UNREADABLE, told(NOTHING, no(5)), "ABSENT CRDNotFound"),
        (UNREADABLE, listed(NOTHING, 5), "PRESENT ObjectsSeen"),
        (FOLLOWED, NOTHING, "UNKNOWN DiscoveryPending"),
        (FOLLOWED, replace(NOTHING, discovery_failure=REFUSED), "UNKNOWN Forbidden"),
        (FOLLOWED, told(NOTHING, no(20)), "ABSENT CRDNotFound"),
        (FOLLOWED, told(NOTHING, yes(20)), "PRESENT Served"),
        (FOLLOWED, told(NOTHING, yes(20), no(30)), "ABSENT CRDNotFound"),
    ],
)
def test_without_a_crd_discovery_decides(crds: CRDSource, seen: Observations, expected: str) -> None:
    assert verdict(crds, seen) == expected


@pytest.mark.parametrize(
    ("crds", "seen", "expected"),
    [
        (FOLLOWED, WITH_CRD, "PRESENT Established"),
        (FOLLOWED, told(WITH_CRD, no(60), no(99)), "PRESENT Established"),
        (FOLLOWED, UNSERVED_CRD, "ABSENT VersionNotServed"),
        (FOLLOWED, listed(UNSERVED_CRD, 60, "99"), "ABSENT VersionNotServed"),
        (FOLLOWED, listed(UNSERVED_CRD, 60, "101"), "PRESENT ObjectsSeen"),
        (FOLLOWED, listed(Observations(crd=FILTERED), 60, "101"), "ABSENT CRDFiltered"),
        (FOLLOWED, GONE, "ABSENT CRDNotFound"),
        (FOLLOWED, told(GONE, yes(39)), "ABSENT CRDNotFound"),
        (FOLLOWED, told(GONE, yes(41)), "PRESENT Served"),
        (FOLLOWED, listed(GONE, 41, "139"), "ABSENT CRDNotFound"),
        (FOLLOWED, listed(GONE, 41, "141"), "PRESENT ObjectsSeen"),
        (RESTORED, listed(UNSERVED_CRD, 60, "101"), "ABSENT VersionNotServed"),
        (RESTORED, listed(UNSERVED_CRD, 71, "101"), "PRESENT ObjectsSeen"),
        (RESTORED, listed(GONE, 60, "141"), "ABSENT CRDNotFound"),
        (RESTORED, listed(GONE, 71, "99"), "PRESENT ObjectsSeen"),
    ],
)
def test_a_followed_crd_decides_unless_objects_are_newer(crds: CRDSource, seen: Observations, expected: str) -> None:
    assert verdict(crds, seen) == expected


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (WITH_CRD, "PRESENT Established, lost: Forbidden"),
        (told(WITH_CRD, no(20)), "PRESENT Established, lost: Forbidden"),
        (told(WITH_CRD, yes(60)), "PRESENT Established"),
        (told(WITH_CRD, no(60)), "PRESENT Established"),
        (told(WITH_CRD, no(60), no(89)), "PRESENT Established"),
        (told(WITH_CRD, no(20), no(60)), "PRESENT Established"),
        (told(WITH_CRD, no(60), no(90)), "ABSENT CRDNotFound"),
        (listed(told(WITH_CRD, no(60), no(90)), 70), "PRESENT Established"),
        (told(WITH_CRD, yes(60, namespaced=False)), "PRESENT ServedUnseen"),
        (UNSERVED_CRD, "ABSENT VersionNotServed, lost: Forbidden"),
        (told(UNSERVED_CRD, no(60)), "ABSENT VersionNotServed"),
        (told(UNSERVED_CRD, yes(20)), "ABSENT VersionNotServed, lost: Forbidden"),
        (told(UNSERVED_CRD, yes(60)), "PRESENT ServedUnseen"),
        (GONE, "ABSENT CRDNotFound, lost: Forbidden"),
        (told(GONE, no(60)), "ABSENT CRDNotFound"),
        (replace(told(GONE, no(60)), discovery_failure=REFUSED), "ABSENT CRDNotFound, lost: Forbidden"),
    ],
)
def test_lost_crds_make_nothing_absent_without_discovery(seen: Observations, expected: str) -> None:
    assert verdict(LOST, seen) == expected


@pytest.mark.parametrize(
    ("crds", "seen", "expected"),
    [
        (FOLLOWED, read(WITH_CRD, 60, "101"), "ObjectsSeen cluster-scoped"),
        (FOLLOWED, read(WITH_CRD, 60, "99"), "Established namespaced"),
        (FOLLOWED, read(WITH_CRD, 60), "Established namespaced"),
        (FOLLOWED, read(WITH_CRD, 60, "101", namespaced=True), "Established namespaced"),
        (LOST, read(WITH_CRD, 60, "101"), "ObjectsSeen cluster-scoped"),
        (LOST, read(WITH_CRD, 49), "Established namespaced"),
        (LOST, read(WITH_CRD, 60), "ObjectsSeen cluster-scoped"),
        (LOST, told(read(WITH_CRD, 60), no(70), no(99)), "ObjectsSeen cluster-scoped"),
        (LOST, told(read(WITH_CRD, 60), no(70), no(100)), "CRDNotFound"),
        (LOST, told(read(WITH_CRD, 60), yes(55)), "ObjectsSeen cluster-scoped"),
        (LOST, told(read(WITH_CRD, 60), yes(65)), "Established namespaced"),
        (FOLLOWED, listed(read(WITH_CRD, 60, "101"), 61, "102"), "ObjectsSeen cluster-scoped"),
        (FOLLOWED, WITH_CRD.with_proof(ServingProof(60, "101", ServedAs("v1", False))), "Established namespaced"),
    ],
)
def test_newer_objects_show_that_a_crd_was_replaced_by_one_of_another_scope(
    crds: CRDSource, seen: Observations, expected: str
) -> None:
    found = judge(WIDGETS, crds, seen, confirm_after=CONFIRM)
    generation = found.generation
    scope = "" if generation is None else " namespaced" if generation.served_as.namespaced else " cluster-scoped"

    assert f"{found.reason}{scope}" == expected


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (listed(told(NOTHING, yes(20)), 25), "PRESENT Served"),
        (told(listed(told(NOTHING, yes(20)), 25), no(24)), "PRESENT Served"),
        (told(listed(told(NOTHING, yes(20)), 25), no(30)), "PRESENT ObjectsSeen"),
        (told(listed(told(NOTHING, yes(20)), 25), no(30), no(60)), "ABSENT CRDNotFound"),
        (told(listed(told(NOTHING, yes(20)), 25), no(30), yes(40), no(60)), "PRESENT ObjectsSeen"),
    ],
)
def test_a_listed_resource_is_absent_once_discovery_has_left_it_out_twice(seen: Observations, expected: str) -> None:
    assert verdict(FOLLOWED, seen) == expected


def test_a_discovery_response_from_before_crds_were_listed_is_requested_again() -> None:
    seen = told(NOTHING, yes(20, crds_followed=False))

    found = judge(WIDGETS, CRDSource(listed_at=30), seen, confirm_after=CONFIRM)

    assert (found.presence, found.reason, found.awaits_discovery) == (Presence.UNKNOWN, "DiscoveryPending", True)


@pytest.mark.parametrize(
    ("crds", "seen", "expected"),
    [
        (None, NOTHING, "UNKNOWN DiscoveryPending"),
        (None, told(NOTHING, yes(5), gvr=PODS), "PRESENT Served"),
        (None, told(NOTHING, no(5), gvr=PODS), "ABSENT NotServed"),
        (FOLLOWED, told(NOTHING, no(5), gvr=PODS), "ABSENT NotServed"),
        (LOST, told(NOTHING, no(5), gvr=PODS), "ABSENT NotServed, lost: Forbidden"),
    ],
)
def test_built_in_resources_have_no_crd(crds: CRDSource | None, seen: Observations, expected: str) -> None:
    assert verdict(crds, seen, gvr=PODS) == expected


# ── any order ────────────────────────────────────────────────────────────────────────────────

moments = st.integers(min_value=1, max_value=300).map(float)
answers = st.tuples(st.booleans(), moments)
proofs = moments


@given(st.lists(answers, max_size=8), st.lists(proofs, max_size=3), st.randoms(use_true_random=False))
@pytest.mark.parametrize("crds", [None, PENDING, UNREADABLE, FOLLOWED, LOST], ids=str)
def test_stale_observations_never_give_absent_in_any_order(
    crds: CRDSource | None, said: list[tuple[bool, float]], seen_at: list[float], random: Random
) -> None:
    observations = [yes(asked) if served else no(asked) for served, asked in said]
    arrivals: list[DiscoveryAnswer | ServingProof] = [*observations]
    arrivals += [ServingProof(time, "", NAMESPACED) for time in seen_at]
    random.shuffle(arrivals)
    seen = NOTHING
    for arrival in arrivals:
        seen = listed(seen, arrival.time) if isinstance(arrival, ServingProof) else told(seen, arrival)

    if judge(WIDGETS, crds, seen, confirm_after=CONFIRM).presence is Presence.ABSENT:
        last_present = max([asked for served, asked in said if served] + seen_at, default=-math.inf)
        newer = [asked for served, asked in said if not served and asked > last_present]
        assert newer
        assert not seen_at or max(newer) - min(newer) >= CONFIRM


@given(st.lists(answers, max_size=8), st.lists(proofs, max_size=3), st.sampled_from([PENDING, FOLLOWED]))
def test_losing_the_crds_makes_no_resource_absent(
    said: list[tuple[bool, float]], seen_at: list[float], crds: CRDSource
) -> None:
    for crd in (None, SERVED, UNSERVED):
        seen = told(Observations(crd=crd), *(yes(asked) if served else no(asked) for served, asked in said))
        for time in seen_at:
            seen = listed(seen, time)
        lost = replace(crds, failure=REFUSED, failed_at=301)

        before, after = (judge(WIDGETS, source, seen, confirm_after=CONFIRM) for source in (crds, lost))

        if crds.listed and after.presence is Presence.ABSENT:
            assert before.presence is Presence.ABSENT
            assert after.lost == REFUSED
