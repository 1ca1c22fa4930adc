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
FORBIDDEN = SourceFailure("Forbidden", "403 Forbidden")

PENDING = CRDSource()
UNREADABLE = CRDSource(failure=FORBIDDEN, failed_at=1)
FOLLOWED = CRDSource(listed_at=10, version="100")
RESTORED = replace(FOLLOWED, regressed_at=70)
RELISTED = CRDSource(listed_at=95, version="200")
LOST = replace(FOLLOWED, failure=FORBIDDEN, failed_at=50)

NAMESPACED = ServedAs("v1", namespaced=True)
SERVED = Availability(Presence.PRESENT, "Established", generation=Generation("uid", NAMESPACED))
UNSERVED = absent("VersionNotServed", "only v2")
FILTERED = absent("CRDFiltered", "left out")

NOTHING = Observations()
WITH_CRD = Observations(crd=SERVED)
UNSERVED_CRD = Observations(crd=UNSERVED)
GONE = NOTHING.with_crd_gone(40, "140")


def served_at(time: float, *, crds_followed: bool = True, namespaced: bool = True) -> DiscoveryAnswer:
    served_as = ServedAs("v1", namespaced)
    return DiscoveryAnswer(time, {"widgets": served_as, "pods": served_as}, crds_followed)


def unserved_at(time: float) -> DiscoveryAnswer:
    return DiscoveryAnswer(time, None)


def with_answers(observations: Observations, *answers: DiscoveryAnswer, gvr: GVR = WIDGETS) -> Observations:
    for answer in answers:
        observations = observations.with_answer(gvr, answer)
    return observations


def listed(observations: Observations, time: float, version: str = "") -> Observations:
    return observations.with_proof(ServingProof(time, version, NAMESPACED))


def read(observations: Observations, time: float, version: str = "", *, namespaced: bool = False) -> Observations:
    return observations.with_object(ServingProof(time, version, ServedAs("v1", namespaced)))


def verdict(crds: CRDSource | None, observations: Observations, gvr: GVR = WIDGETS) -> str:
    """Return the presence and its reason, and the reason why its source is lost."""
    found = judge(gvr, crds, observations, confirm_after=CONFIRM)
    return f"{found.presence.name} {found.reason}" + (f", lost: {found.lost.reason}" if found.lost else "")


@pytest.mark.parametrize(
    ("crds", "observations", "expected"),
    [
        (PENDING, NOTHING, "UNKNOWN CRDsPending"),
        (UNREADABLE, NOTHING, "UNKNOWN Forbidden"),
        (UNREADABLE, with_answers(NOTHING, served_at(5, crds_followed=False)), "PRESENT ServedUnseen"),
        (UNREADABLE, with_answers(NOTHING, unserved_at(5)), "UNKNOWN AbsenceUnconfirmed"),
        (UNREADABLE, with_answers(NOTHING, unserved_at(5), unserved_at(35)), "ABSENT CRDNotFound"),
        (PENDING, with_answers(NOTHING, unserved_at(5)), "UNKNOWN CRDsPending"),
        (UNREADABLE, listed(NOTHING, 5), "PRESENT ObjectsSeen"),
        (FOLLOWED, NOTHING, "UNKNOWN DiscoveryPending"),
        (FOLLOWED, replace(NOTHING, discovery_failure=FORBIDDEN), "UNKNOWN Forbidden"),
        (FOLLOWED, with_answers(NOTHING, unserved_at(20)), "UNKNOWN AbsenceUnconfirmed"),
        (FOLLOWED, with_answers(NOTHING, unserved_at(20)).with_no_api(19), "UNKNOWN AbsenceUnconfirmed"),
        (FOLLOWED, with_answers(NOTHING, unserved_at(20)).with_no_api(21), "ABSENT CRDNotFound"),
        (FOLLOWED, with_answers(NOTHING, served_at(20)), "PRESENT Served"),
        (FOLLOWED, with_answers(NOTHING, served_at(20), unserved_at(30)), "PRESENT Served"),
        (FOLLOWED, with_answers(NOTHING, served_at(20), unserved_at(30)).with_no_api(31), "ABSENT CRDNotFound"),
    ],
)
def test_without_a_crd_discovery_decides(crds: CRDSource, observations: Observations, expected: str) -> None:
    assert verdict(crds, observations) == expected


@pytest.mark.parametrize(
    ("crds", "observations", "expected"),
    [
        (FOLLOWED, WITH_CRD, "PRESENT Established"),
        (FOLLOWED, with_answers(WITH_CRD, unserved_at(60), unserved_at(99)), "PRESENT Established"),
        (FOLLOWED, UNSERVED_CRD, "ABSENT VersionNotServed"),
        (FOLLOWED, listed(UNSERVED_CRD, 60, "99"), "ABSENT VersionNotServed"),
        (FOLLOWED, listed(UNSERVED_CRD, 60, "101"), "PRESENT ObjectsSeen"),
        (FOLLOWED, listed(Observations(crd=FILTERED), 60, "101"), "ABSENT CRDFiltered"),
        (FOLLOWED, GONE, "ABSENT CRDNotFound"),
        (FOLLOWED, with_answers(GONE, served_at(39)), "ABSENT CRDNotFound"),
        (FOLLOWED, with_answers(GONE, served_at(41)), "PRESENT Served"),
        (FOLLOWED, listed(GONE, 41, "139"), "ABSENT CRDNotFound"),
        (FOLLOWED, listed(GONE, 41, "141"), "PRESENT ObjectsSeen"),
        (RESTORED, listed(UNSERVED_CRD, 60, "101"), "ABSENT VersionNotServed"),
        (RESTORED, listed(UNSERVED_CRD, 71, "101"), "PRESENT ObjectsSeen"),
        (RESTORED, listed(GONE, 60, "141"), "ABSENT CRDNotFound"),
        (RESTORED, listed(GONE, 71, "99"), "PRESENT ObjectsSeen"),
    ],
)
def test_a_followed_crd_decides_unless_objects_are_newer(
    crds: CRDSource, observations: Observations, expected: str
) -> None:
    assert verdict(crds, observations) == expected


@pytest.mark.parametrize(
    ("crds", "observations", "deleted"),
    [
        (FOLLOWED, GONE, True),
        (FOLLOWED, with_answers(GONE, unserved_at(41)), True),
        (LOST, GONE, True),
        (FOLLOWED, UNSERVED_CRD, False),
        (FOLLOWED, with_answers(NOTHING, served_at(20), unserved_at(30)).with_no_api(31), False),
        (UNREADABLE, with_answers(NOTHING, unserved_at(5), unserved_at(35)), False),
        (LOST, with_answers(WITH_CRD, unserved_at(60), unserved_at(120)), False),
        (LOST, with_answers(listed(GONE, 51, "150"), unserved_at(60), unserved_at(120)), False),  # of another CRD
        (RELISTED, with_answers(listed(GONE, 51, "150"), unserved_at(60), unserved_at(120)), True),  # gone as well
    ],
)
def test_objects_count_as_deleted_if_the_deletion_of_their_crd_was_observed(
    crds: CRDSource, observations: Observations, deleted: bool
) -> None:
    found = judge(WIDGETS, crds, observations, confirm_after=CONFIRM)

    assert (found.presence, found.crd_deleted) == (Presence.ABSENT, deleted)


@pytest.mark.parametrize(
    ("observations", "expected"),
    [
        (WITH_CRD, "PRESENT Established, lost: Forbidden"),
        (with_answers(WITH_CRD, unserved_at(20)), "PRESENT Established, lost: Forbidden"),
        (with_answers(WITH_CRD, served_at(60)), "PRESENT Established"),
        (with_answers(WITH_CRD, unserved_at(60)), "PRESENT Established"),
        (with_answers(WITH_CRD, unserved_at(60), unserved_at(119)), "PRESENT Established"),
        (with_answers(WITH_CRD, unserved_at(20), unserved_at(60)), "PRESENT Established"),
        (with_answers(WITH_CRD, unserved_at(60), unserved_at(120)), "ABSENT CRDNotFound"),
        (listed(with_answers(WITH_CRD, unserved_at(60), unserved_at(120)), 70), "PRESENT Established"),
        (with_answers(WITH_CRD, served_at(60, namespaced=False)), "PRESENT ServedUnseen"),
        (UNSERVED_CRD, "ABSENT VersionNotServed, lost: Forbidden"),
        (with_answers(UNSERVED_CRD, unserved_at(60)), "ABSENT VersionNotServed"),
        (with_answers(UNSERVED_CRD, served_at(20)), "ABSENT VersionNotServed, lost: Forbidden"),
        (with_answers(UNSERVED_CRD, served_at(60)), "PRESENT ServedUnseen"),
        (GONE, "ABSENT CRDNotFound, lost: Forbidden"),
        (with_answers(GONE, unserved_at(60)), "ABSENT CRDNotFound"),
        (
            replace(with_answers(GONE, unserved_at(60)), discovery_failure=FORBIDDEN),
            "ABSENT CRDNotFound, lost: Forbidden",
        ),
    ],
)
def test_lost_crds_make_nothing_absent_without_discovery(observations: Observations, expected: str) -> None:
    assert verdict(LOST, observations) == expected


@pytest.mark.parametrize(
    ("crds", "observations", "expected"),
    [
        (FOLLOWED, read(WITH_CRD, 60, "101"), "ObjectsSeen cluster-scoped"),
        (FOLLOWED, read(WITH_CRD, 60, "99"), "Established namespaced"),
        (FOLLOWED, read(WITH_CRD, 60), "Established namespaced"),
        (FOLLOWED, read(WITH_CRD, 60, "101", namespaced=True), "Established namespaced"),
        (LOST, read(WITH_CRD, 60, "101"), "ObjectsSeen cluster-scoped"),
        (LOST, read(WITH_CRD, 49), "Established namespaced"),
        (LOST, read(WITH_CRD, 60), "ObjectsSeen cluster-scoped"),
        (LOST, with_answers(read(WITH_CRD, 60), unserved_at(70), unserved_at(129)), "ObjectsSeen cluster-scoped"),
        (LOST, with_answers(read(WITH_CRD, 60), unserved_at(70), unserved_at(130)), "CRDNotFound"),
        (LOST, with_answers(read(WITH_CRD, 60), served_at(55)), "ObjectsSeen cluster-scoped"),
        (LOST, with_answers(read(WITH_CRD, 60), served_at(65)), "Established namespaced"),
        (FOLLOWED, listed(read(WITH_CRD, 60, "101"), 61, "102"), "ObjectsSeen cluster-scoped"),
        (FOLLOWED, WITH_CRD.with_proof(ServingProof(60, "101", ServedAs("v1", False))), "Established namespaced"),
    ],
)
def test_newer_objects_show_that_a_crd_was_replaced_by_one_of_another_scope(
    crds: CRDSource, observations: Observations, expected: str
) -> None:
    found = judge(WIDGETS, crds, observations, confirm_after=CONFIRM)
    generation = found.generation
    scope = "" if generation is None else " namespaced" if generation.served_as.namespaced else " cluster-scoped"

    assert f"{found.reason}{scope}" == expected


@pytest.mark.parametrize(
    ("observations", "expected"),
    [
        (listed(with_answers(NOTHING, served_at(20)), 25), "PRESENT Served"),
        (with_answers(listed(with_answers(NOTHING, served_at(20)), 25), unserved_at(24)), "PRESENT Served"),
        (with_answers(listed(with_answers(NOTHING, served_at(20)), 25), unserved_at(30)), "PRESENT ObjectsSeen"),
        (
            with_answers(listed(with_answers(NOTHING, served_at(20)), 25), unserved_at(30), unserved_at(90)),
            "ABSENT CRDNotFound",
        ),
        (
            with_answers(
                listed(with_answers(NOTHING, served_at(20)), 25), unserved_at(30), served_at(40), unserved_at(60)
            ),
            "PRESENT ObjectsSeen",
        ),
    ],
)
def test_a_listed_resource_is_absent_once_discovery_has_left_it_out_twice(
    observations: Observations, expected: str
) -> None:
    assert verdict(FOLLOWED, observations) == expected


def test_a_discovery_response_from_before_crds_were_listed_is_requested_again() -> None:
    observations = with_answers(NOTHING, served_at(20, crds_followed=False))

    found = judge(WIDGETS, CRDSource(listed_at=30), observations, confirm_after=CONFIRM)

    assert (found.presence, found.reason, found.awaits_discovery) == (Presence.UNKNOWN, "DiscoveryPending", True)


@pytest.mark.parametrize(
    ("crds", "observations", "expected"),
    [
        (None, NOTHING, "UNKNOWN DiscoveryPending"),
        (None, with_answers(NOTHING, served_at(5), gvr=PODS), "PRESENT Served"),
        (None, with_answers(NOTHING, unserved_at(5), gvr=PODS), "UNKNOWN AbsenceUnconfirmed"),
        (None, with_answers(NOTHING, unserved_at(5), unserved_at(35), gvr=PODS), "ABSENT NotServed"),
        (FOLLOWED, with_answers(NOTHING, unserved_at(5), unserved_at(35), gvr=PODS), "ABSENT NotServed"),
        (LOST, with_answers(NOTHING, unserved_at(5), unserved_at(35), gvr=PODS), "ABSENT NotServed, lost: Forbidden"),
        (None, with_answers(NOTHING, served_at(4), unserved_at(5), gvr=PODS), "PRESENT Served"),
    ],
)
def test_built_in_resources_have_no_crd(crds: CRDSource | None, observations: Observations, expected: str) -> None:
    assert verdict(crds, observations, gvr=PODS) == expected


@pytest.mark.parametrize(
    ("observations", "expected"),
    [
        (with_answers(NOTHING, unserved_at(5), unserved_at(34)), "UNKNOWN"),
        (with_answers(NOTHING, unserved_at(5), unserved_at(35)), "ABSENT"),
        (with_answers(NOTHING, unserved_at(5)).with_ready(6), "UNKNOWN"),
        (with_answers(with_answers(NOTHING, unserved_at(5)).with_ready(6), unserved_at(9)), "UNKNOWN"),
        (with_answers(with_answers(NOTHING, unserved_at(5)).with_ready(6), unserved_at(10)), "ABSENT"),
        (with_answers(NOTHING, unserved_at(5), unserved_at(10)).with_ready(4), "UNKNOWN"),
        (with_answers(NOTHING, unserved_at(5), unserved_at(10)).with_ready(11), "UNKNOWN"),
        (with_answers(with_answers(NOTHING, unserved_at(5)).with_ready(6), unserved_at(10)).with_ready(11), "ABSENT"),
    ],
)
@pytest.mark.parametrize("gvr", [PODS, GVR("storage.k8s.io", "v1", "pods")], ids=str)
def test_a_built_in_resource_is_absent_once_a_ready_server_or_time_has_confirmed_it(
    gvr: GVR, observations: Observations, expected: str
) -> None:
    assert judge(gvr, FOLLOWED, observations, confirm_after=CONFIRM).presence.name == expected


@pytest.mark.parametrize("ready", [None, 6.0, 8.0, 12.0, 50.0])
@given(first=st.floats(min_value=0, max_value=5))
def test_a_read_at_the_time_that_a_doubt_names_confirms_it(first: float, ready: float | None) -> None:
    seen = with_answers(NOTHING, unserved_at(first), gvr=PODS)
    if ready is not None:
        seen = seen.with_ready(ready)

    doubt = judge(PODS, None, seen, confirm_after=CONFIRM).doubt

    assert doubt is not None
    assert doubt.awaits_ready == (ready is None)
    later = with_answers(seen, unserved_at(math.nextafter(doubt.read_at, math.inf)), gvr=PODS)
    assert judge(PODS, None, later, confirm_after=CONFIRM).presence is Presence.ABSENT


# ── any order ────────────────────────────────────────────────────────────────────────────────

moments = st.integers(min_value=1, max_value=300).map(float)
discovery_answers = st.tuples(st.booleans(), moments)
proofs = moments


@given(st.lists(discovery_answers, max_size=8), st.lists(proofs, max_size=3), st.randoms(use_true_random=False))
@pytest.mark.parametrize("crds", [None, PENDING, UNREADABLE, FOLLOWED, LOST], ids=str)
def test_stale_observations_never_give_absent_in_any_order(
    crds: CRDSource | None, answers: list[tuple[bool, float]], proof_times: list[float], random: Random
) -> None:
    discovered = [served_at(time) if served else unserved_at(time) for served, time in answers]
    arrivals: list[DiscoveryAnswer | ServingProof] = [*discovered]
    arrivals += [ServingProof(time, "", NAMESPACED) for time in proof_times]
    random.shuffle(arrivals)
    observations = NOTHING
    for arrival in arrivals:
        if isinstance(arrival, ServingProof):
            observations = listed(observations, arrival.time)
        else:
            observations = with_answers(observations, arrival)

    if judge(WIDGETS, crds, observations, confirm_after=CONFIRM).presence is Presence.ABSENT:
        last_present = max([time for served, time in answers if served] + proof_times, default=-math.inf)
        newer = [time for served, time in answers if not served and time > last_present]
        assert newer
        assert not proof_times or max(newer) - min(newer) >= CONFIRM


@given(
    st.lists(discovery_answers, max_size=8),
    st.lists(proofs, max_size=3),
    st.lists(st.tuples(proofs, st.booleans()), max_size=3),
    st.sampled_from([PENDING, FOLLOWED]),
)
def test_losing_the_crds_makes_no_resource_absent(
    answers: list[tuple[bool, float]],
    proof_times: list[float],
    objects: list[tuple[float, bool]],
    crds: CRDSource,
) -> None:
    for crd in (None, SERVED, UNSERVED):
        discovered = [served_at(time) if served else unserved_at(time) for served, time in answers]
        observations = with_answers(Observations(crd=crd), *discovered)
        for time in proof_times:
            observations = listed(observations, time)
        for time, namespaced in objects:
            observations = read(observations, time, namespaced=namespaced)
        lost = replace(crds, failure=FORBIDDEN, failed_at=301)

        before, after = (judge(WIDGETS, source, observations, confirm_after=CONFIRM) for source in (crds, lost))

        if crds.listed and after.presence is Presence.ABSENT:
            assert before.presence is Presence.ABSENT
            assert after.lost == FORBIDDEN


# ── objects that were read ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("confirm_after", "ready", "last", "expected"),
    [
        (27.0, None, 89.0, "PRESENT"),
        (27.0, None, 90.0, "ABSENT"),
        (27.0, 31.0, 56.0, "PRESENT"),
        (27.0, 31.0, 57.0, "ABSENT"),
        (0.9, None, 89.0, "PRESENT"),
        (0.9, 31.0, 39.0, "PRESENT"),
        (0.9, 31.0, 40.0, "ABSENT"),
    ],
)
def test_objects_that_were_read_outlast_a_server_that_is_starting(
    confirm_after: float, ready: float | None, last: float, expected: str
) -> None:
    seen = with_answers(listed(with_answers(NOTHING, served_at(20)), 25), unserved_at(30))
    if ready is not None:
        seen = seen.with_ready(ready)

    seen = with_answers(seen, unserved_at(last))

    assert judge(WIDGETS, FOLLOWED, seen, confirm_after=confirm_after).presence.name == expected
