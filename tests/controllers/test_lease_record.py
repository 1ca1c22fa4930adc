"""The pure part of leader election: settings, the record in a Lease, and who may write it next."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from dynkube import Unstructured
from dynkube.controllers._lease_record import (
    UNSEEN,
    Claim,
    LeaderElection,
    LeaseRecord,
    Observation,
    claim,
    held_record,
    micro_time,
    observed,
    read_record,
    released_record,
    unobserved,
)
from dynkube.errors import InvalidInput

TIME = "2026-01-01T00:00:00.000000Z"
LATER = "2026-01-01T01:00:00.000000Z"
THEIRS = LeaseRecord(holder="b", seconds=15, transitions=3, acquired=TIME, renewed=TIME)
OURS = replace(THEIRS, holder="a")


# ── settings ─────────────────────────────────────────────────────────────────────────────────


def test_the_defaults_are_those_of_kubernetes() -> None:
    settings = LeaderElection("sites")

    assert (settings.lease_duration, settings.renew_deadline, settings.retry_period) == (15, 10, 2)
    assert settings.release_on_exit


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lease_duration": 10, "renew_deadline": 10}, "lease_duration=10 is not greater than renew_deadline=10"),
        ({"renew_deadline": 2.4}, r"renew_deadline=2.4 is not greater than 1.2 \* retry_period=2.0"),
        ({"lease_duration": 0}, "lease_duration=0: pass a positive number"),
        ({"renew_deadline": -1}, "renew_deadline=-1: pass a positive number"),
        ({"retry_period": 0.0}, "retry_period=0.0: pass a positive number"),
        ({"retry_period": math.nan}, "retry_period=nan: pass a positive number"),
        ({"retry_period": True}, "retry_period=True: pass a positive number"),
        ({"renew_deadline": "10"}, "renew_deadline='10': pass a positive number"),
        ({"lease_duration": math.inf}, "lease_duration=inf: pass a positive number"),
        ({"lease_duration": 0.9, "renew_deadline": 0.5, "retry_period": 0.1}, "lease_duration=0.9: pass 1 to"),
        ({"lease_duration": 2**31}, "lease_duration=2147483648: pass 1 to 2147483647 seconds"),
        ({"name": ""}, "name='': pass a lowercase DNS name"),
        ({"name": "Sites"}, "name='Sites': pass a lowercase DNS name"),
        ({"name": "sites\n"}, "name='sites.n': pass a lowercase DNS name"),
        ({"name": "a" * 254}, "pass a lowercase DNS name"),
        ({"name": None}, "name=None: pass a lowercase DNS name"),
        ({"namespace": "a.b"}, "namespace='a.b' may only contain"),
        ({"namespace": ""}, "namespace='' may only contain"),
        ({"namespace": 5}, "namespace=5 is not a string"),
        ({"identity": ""}, "identity='': pass 1 to 512 printable characters"),
        ({"identity": "a\nb"}, "identity='a.nb': pass 1 to 512 printable"),
        ({"identity": "a" * 513}, "pass 1 to 512 printable"),
        ({"identity": 5}, "identity=5: pass 1 to 512 printable"),
        ({"labels": "a=b"}, "labels='a=b': pass a dict of labels"),
        ({"labels": {"a b": "c"}}, "'a b'"),
        ({"labels": {"a": "b c"}}, "'b c'"),
        ({"labels": {"a": 5}}, "5"),
    ],
)
def test_invalid_settings_are_rejected(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        LeaderElection(**{"name": "sites", **given})


@pytest.mark.parametrize(
    "given",
    [
        {"lease_duration": 1, "renew_deadline": 0.9, "retry_period": 0.5},
        {"lease_duration": 2**31 - 1},
        {"renew_deadline": 14.999, "retry_period": 12.4},
        {"name": "a" * 253, "namespace": "kube-system", "identity": "x" * 512},
        {"name": "sites.example.com"},
    ],
)
def test_settings_at_their_limits_are_accepted(given: dict[str, Any]) -> None:
    election = LeaderElection(**{"name": "sites", **given})

    assert {field: getattr(election, field) for field in given} == given


# ── reading and writing ──────────────────────────────────────────────────────────────────────


def lease(**fields: object) -> Unstructured:
    return Unstructured({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **fields})


def test_a_record_is_read_as_it_was_written() -> None:
    record = replace(OURS, strategy="OldestEmulationVersion", preferred="c")

    assert read_record(lease(spec=record.spec())) == record


def test_absent_fields_are_not_written() -> None:
    assert LeaseRecord(holder="").spec() == {"holderIdentity": "", "leaseTransitions": 0}


@pytest.mark.parametrize("fields", [{}, {"spec": None}, {"spec": {}}, {"spec": {"holderIdentity": None}}])
def test_a_lease_without_a_holder_is_not_held(fields: dict[str, object]) -> None:
    assert read_record(lease(**fields)) == LeaseRecord(holder="")


@pytest.mark.parametrize("spec", [[], "a", 5, {"holderIdentity": 5}, {"holderIdentity": {}}, {"holderIdentity": False}])
def test_a_holder_that_is_not_a_string_is_an_unknown_holder(spec: object) -> None:
    assert read_record(lease(spec=spec)).holder is None


@pytest.mark.parametrize("wrong", ["15", 15.0, -1, 2**31, 10**400, True, [15], {}])
def test_numbers_of_wrong_types_count_as_absent(wrong: object) -> None:
    spec = {"holderIdentity": "b", "leaseDurationSeconds": wrong, "leaseTransitions": wrong}

    assert read_record(lease(spec=spec)) == LeaseRecord(holder="b")


@pytest.mark.parametrize("wrong", [5, None, [TIME], {"time": TIME}])
def test_strings_of_wrong_types_count_as_absent(wrong: object) -> None:
    names = ("acquireTime", "renewTime", "strategy", "preferredHolder")

    assert read_record(lease(spec={"holderIdentity": "b", **dict.fromkeys(names, wrong)})) == LeaseRecord(holder="b")


def test_an_invalid_acquire_time_counts_as_absent() -> None:
    assert read_record(lease(spec={"acquireTime": "yesterday"})).acquired == ""
    assert read_record(lease(spec={"acquireTime": "2026-01-01T00:00:00+01:00"})).acquired != ""


def test_a_preferred_holder_counts_only_with_a_strategy() -> None:
    assert read_record(lease(spec={"preferredHolder": "c"})).preferred == ""


def test_the_first_holder_does_not_count_as_a_transition() -> None:
    record = held_record(None, "a", seconds=15, time=LATER)

    assert record == LeaseRecord(holder="a", seconds=15, transitions=0, acquired=LATER, renewed=LATER)


def test_a_renewal_changes_only_the_renew_time() -> None:
    assert held_record(OURS, "a", seconds=15, time=LATER) == replace(OURS, renewed=LATER)


def test_an_acquisition_counts_as_a_transition_and_sets_the_acquire_time() -> None:
    record = held_record(THEIRS, "a", seconds=15, time=LATER)

    assert record == LeaseRecord(holder="a", seconds=15, transitions=4, acquired=LATER, renewed=LATER)


def test_transitions_are_counted_up_to_the_maximum_of_their_type() -> None:
    last = replace(THEIRS, transitions=2**31 - 1)

    assert held_record(last, "a", seconds=15, time=LATER).transitions == 2**31 - 1


def test_a_holder_removes_the_preferred_one_and_keeps_the_strategy() -> None:
    record = held_record(replace(THEIRS, strategy="s", preferred="a"), "a", seconds=15, time=LATER)

    assert (record.strategy, record.preferred) == ("s", "")


def test_a_released_lease_has_no_holder_and_the_shortest_duration() -> None:
    assert released_record(OURS, time=LATER) == replace(OURS, holder="", seconds=1, renewed=LATER)


def test_times_are_written_in_utc_with_microseconds() -> None:
    cet = timezone(timedelta(hours=1))

    assert micro_time(datetime(2026, 1, 1, 1, tzinfo=cet)) == TIME
    assert micro_time(datetime(2026, 1, 1, 0, 0, 0, 12, tzinfo=UTC)) == "2026-01-01T00:00:00.000012Z"
    with pytest.raises(InvalidInput, match="has no time zone: pass a function like"):
        micro_time(datetime(2026, 1, 1))  # noqa: DTZ001


# ── observing and deciding ───────────────────────────────────────────────────────────────────


def test_the_age_of_a_lease_starts_with_its_last_change() -> None:
    first = observed(UNSEEN, THEIRS, 10)

    assert observed(first, THEIRS, 20) is first
    assert observed(first, replace(THEIRS, renewed=LATER), 20).since == 20
    assert observed(first, replace(THEIRS, holder="c"), 20).since == 20


def test_a_deletion_is_a_change_and_so_is_the_next_creation() -> None:
    first = observed(UNSEEN, THEIRS, 10)
    deleted = observed(first, None, 20)

    assert deleted == Observation(THEIRS, exists=False, since=20)
    assert observed(deleted, None, 25) is deleted
    assert observed(deleted, THEIRS, 30) == Observation(THEIRS, exists=True, since=30)
    assert observed(UNSEEN, None, 5) is UNSEEN


def test_the_age_of_a_deletion_starts_with_the_first_response_after_a_time_without_any() -> None:
    deleted = Observation(THEIRS, exists=False, since=20)
    unknown = unobserved(deleted)

    assert claim(unknown, "a", leading=False, now=1000, lease_duration=15) is Claim.WAIT
    assert observed(unknown, None, 1000) == Observation(THEIRS, exists=False, since=1000)
    assert observed(unknown, OURS, 1000) == Observation(OURS, exists=True, since=1000)
    assert claim(unobserved(UNSEEN), "a", leading=False, now=0, lease_duration=15) is Claim.TAKE


def test_an_unchanged_record_keeps_its_age_over_a_time_without_responses() -> None:
    observation = Observation(THEIRS, exists=True, since=20)

    assert unobserved(observation) is observation


@pytest.mark.parametrize(
    ("record", "expires"),
    [
        (THEIRS, 115),
        (replace(THEIRS, seconds=60), 160),
        (replace(THEIRS, seconds=None), 120),
        (LeaseRecord(holder=None), 120),
        (LeaseRecord(holder=None, seconds=60), 160),
        (LeaseRecord(holder="", seconds=1), 120),
    ],
)
def test_a_lease_expires_after_the_duration_in_its_record(record: LeaseRecord, expires: float) -> None:
    assert Observation(record, exists=True, since=100).expires(20) == expires


PREFERRED = replace(THEIRS, strategy="s", preferred="c")


@pytest.mark.parametrize(
    ("record", "exists", "leading", "before", "after"),
    [
        (None, False, False, Claim.TAKE, Claim.TAKE),
        (OURS, False, True, Claim.RENEW, Claim.RENEW),
        (OURS, False, False, Claim.WAIT, Claim.TAKE),
        (THEIRS, False, True, Claim.WAIT, Claim.TAKE),
        (THEIRS, False, False, Claim.WAIT, Claim.TAKE),
        (LeaseRecord(holder="", seconds=15), False, False, Claim.WAIT, Claim.TAKE),
        (PREFERRED, True, False, Claim.WAIT, Claim.TAKE),
        (replace(PREFERRED, holder="a"), True, True, Claim.WAIT, Claim.TAKE),
        (replace(PREFERRED, holder=""), True, False, Claim.WAIT, Claim.TAKE),
        (replace(PREFERRED, holder="", preferred="a"), True, False, Claim.TAKE, Claim.TAKE),
        (OURS, True, True, Claim.RENEW, Claim.RENEW),
        (OURS, True, False, Claim.RENEW, Claim.RENEW),
        (LeaseRecord(holder=""), True, False, Claim.TAKE, Claim.TAKE),
        (LeaseRecord(holder=""), True, True, Claim.TAKE, Claim.TAKE),
        (LeaseRecord(holder=None), True, False, Claim.WAIT, Claim.TAKE),
        (THEIRS, True, False, Claim.WAIT, Claim.TAKE),
        (THEIRS, True, True, Claim.WAIT, Claim.TAKE),
    ],
)
def test_the_decision_to_write_depends_on_holder_age_and_preference(
    record: LeaseRecord | None, exists: bool, leading: bool, before: Claim, after: Claim
) -> None:
    observation = Observation(record, exists=exists, since=100)

    assert claim(observation, "a", leading=leading, now=114.9, lease_duration=15) is before
    assert claim(observation, "a", leading=leading, now=115, lease_duration=15) is after


@pytest.mark.parametrize(
    ("observation", "obstacle"),
    [
        (Observation(THEIRS, exists=True, since=0), "it is held by 'b'"),
        (Observation(replace(THEIRS, holder="b\n" * 999), exists=True, since=0), r"it is held by 'b\nb\n"),
        (Observation(PREFERRED, exists=True, since=0), "'c' is its preferred holder"),
        (Observation(LeaseRecord(holder=None), exists=True, since=0), "its holderIdentity is not a string"),
        (Observation(THEIRS, exists=False, since=0), "it was deleted"),
    ],
)
def test_messages_say_why_a_lease_is_not_acquired(observation: Observation, obstacle: str) -> None:
    assert observation.obstacle("a").startswith(obstacle)
    assert len(observation.obstacle("a")) < 500
