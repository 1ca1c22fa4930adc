"""Series of equal events, the limit for each object, and Event objects. The cases of client-go's correlator."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from random import Random

import pytest

from dynkube import Unstructured
from dynkube.controllers._event_series import (
    FINISH,
    REFRESH,
    EventCorrelator,
    EventKey,
    EventSeries,
    ObjectIdentity,
    SpamFilter,
    event_name,
    limited_note,
    micro_time,
    object_reference,
)

POD = ObjectIdentity("v1", "Pod", "shop", "web", "u-1")
OTHER = ObjectIdentity("v1", "Pod", "shop", "db", "u-2")


def key(reason: str = "Failed", regarding: ObjectIdentity = POD) -> EventKey:
    return EventKey("Warning", reason, reason, regarding, None)


def correlator(*, burst: int = 25, queue_size: int = 1000, size: int = 4096) -> EventCorrelator:
    events = EventCorrelator(SpamFilter(burst, 300.0, size), queue_size, size)
    assert events.due(0) is None  # the half-hour intervals start here
    return events


def record(events: EventCorrelator, what: EventKey, now: float) -> str:
    """Record an event as the recorder does; return the outcome as a word."""
    if events.repeated(what, f"at {now:g}", now):
        return "repeated"
    return events.add(EventSeries(key=what, content={}, name="web.1", observed=f"at {now:g}"), now) or "new"


def written(events: EventCorrelator, now: float) -> Iterator[str]:
    """Return the writes that are due, as ``REASON COUNT``."""
    while (series := events.due(now)) is not None:
        yield f"{series.key.reason} {series.count}"
        events.done(series, series.count)


# ── series ────────────────────────────────────────────────────────────────────────────────────


def test_the_second_event_is_written_at_once_and_later_ones_are_only_counted() -> None:
    events = correlator()

    assert record(events, key(), 0) == "new"
    assert list(written(events, 0)) == ["Failed 1"]
    assert record(events, key(), 10) == "repeated"
    assert list(written(events, 10)) == ["Failed 2"]
    assert [record(events, key(), now) for now in (20, 30, 40)] == ["repeated"] * 3
    assert list(written(events, 40)) == []


def test_a_series_ends_six_minutes_after_its_last_event_and_its_last_count_is_written() -> None:
    events = correlator()
    for now in (0, 100, 200):
        record(events, key(), now)
        list(written(events, now))

    assert events.deadline() == 200 + FINISH
    assert list(written(events, 200 + FINISH - 1)) == []
    assert list(written(events, 200 + FINISH)) == ["Failed 3"]
    assert record(events, key(), 200 + FINISH) == "new"


def test_an_event_that_did_not_occur_again_is_forgotten_without_a_write() -> None:
    events = correlator()
    record(events, key(), 0)
    list(written(events, 0))

    assert list(written(events, FINISH)) == []
    assert events.deadline() == float("inf")


def test_an_ended_series_starts_again_even_if_its_end_was_not_processed_yet() -> None:
    events = correlator()
    for now in (0, 1, 2):
        record(events, key(), now)
        list(written(events, now))

    assert record(events, key(), 2 + FINISH) == "new"
    assert list(written(events, 2 + FINISH)) == ["Failed 1", "Failed 3"]


def test_the_counts_of_active_series_are_written_every_half_hour() -> None:
    events = correlator()
    minutes: list[tuple[int, str]] = []
    for minute in range(95):
        record(events, key(), minute * 60)
        minutes += [(minute, text) for text in written(events, minute * 60)]

    assert minutes == [(0, "Failed 1"), (1, "Failed 2"), (30, "Failed 31"), (60, "Failed 61"), (90, "Failed 91")]
    assert events.deadline() == min(4 * REFRESH, 94 * 60 + FINISH)


def test_a_repetition_before_the_write_is_included_in_it() -> None:
    events = correlator()

    assert [record(events, key(), now) for now in (0, 1, 2)] == ["new", "repeated", "repeated"]

    assert list(written(events, 2)) == ["Failed 3"]


def test_a_repetition_during_the_write_causes_another_write() -> None:
    events = correlator()
    record(events, key(), 0)
    series = events.due(0)
    assert series is not None

    record(events, key(), 1)
    assert events.due(1) is series
    events.done(series, 1)

    assert list(written(events, 1)) == ["Failed 2"]


def test_a_count_that_grows_during_its_write_waits_as_any_other() -> None:
    events = correlator()
    record(events, key(), 0)
    list(written(events, 0))
    record(events, key(), 1)
    series = events.due(1)
    assert series is not None

    record(events, key(), 2)
    events.done(series, 2)

    assert list(written(events, 2)) == []
    assert list(written(events, 2 + FINISH)) == ["Failed 3"]


def test_a_series_that_ends_during_its_write_is_written_once_more() -> None:
    events = correlator()
    record(events, key(), 0)
    record(events, key(), 0)
    series = events.due(0)
    assert series is not None

    record(events, key(), 1)
    record(events, key(), 1 + FINISH)  # another series
    events.done(series, 2)

    assert list(written(events, 1 + FINISH)) == ["Failed 1", "Failed 3"]


def test_events_with_the_same_object_type_reason_action_and_related_object_are_equal() -> None:
    events = correlator()
    same, others = (
        key(),
        [
            key("Other"),
            key(regarding=OTHER),
            key()._replace(type="Normal"),
            key()._replace(action="Other"),
            key()._replace(related=OTHER),
            key(regarding=POD._replace(uid="u-3")),
        ],
    )

    assert [record(events, each, 0) for each in (same, *others, same)] == ["new"] * 7 + ["repeated"]


def test_a_changed_object_is_the_same_object() -> None:
    objects = [pod(resourceVersion=version) for version in ("1", "2")]

    assert len({ObjectIdentity.of(obj) for obj in objects}) == 1


def test_the_least_recently_used_series_is_forgotten_first_and_its_count_written() -> None:
    events = correlator(size=2)
    for reason in ("One", "Two"):
        for now in (0, 1, 2):
            record(events, key(reason), now)
            list(written(events, now))
    record(events, key("One"), 3)

    record(events, key("Three"), 4)

    assert list(written(events, 4)) == ["Three 1", "Two 3"]
    assert [record(events, key(reason), 5) for reason in ("One", "Three", "Two")] == ["repeated", "repeated", "new"]


def test_at_the_end_all_counts_are_due() -> None:
    events = correlator(queue_size=1)
    for reason in ("One", "Two", "Three"):
        for now in (0, 1, 2):
            record(events, key(reason), now)
            list(written(events, now))
    record(events, key("New"), 3)

    events.write_all()

    assert list(written(events, 3)) == ["New 1", "One 3", "Two 3", "Three 3"]
    events.write_all()
    assert list(written(events, 3)) == []


# ── limits ────────────────────────────────────────────────────────────────────────────────────


def test_an_object_has_a_burst_of_events_and_then_one_in_five_minutes() -> None:
    events = correlator()
    reasons = (f"Reason{number}" for number in range(100))

    assert [record(events, key(next(reasons)), 0) for _ in range(27)] == ["new"] * 25 + ["spam"] * 2
    assert record(events, key(next(reasons)), 299) == "spam"
    assert [record(events, key(next(reasons)), 300) for _ in range(2)] == ["new", "spam"]
    assert [record(events, key(next(reasons)), 1200) for _ in range(4)] == ["new"] * 3 + ["spam"]


def test_the_limit_of_one_object_does_not_affect_another() -> None:
    events = correlator(burst=1)

    assert [record(events, key(reason), 0) for reason in ("One", "Two")] == ["new", "spam"]
    assert record(events, key("One", OTHER), 0) == "new"


def test_repetitions_are_not_limited() -> None:
    events = correlator(burst=1)

    assert [record(events, key(), second) for second in range(60)] == ["new"] + ["repeated"] * 59


def test_tokens_do_not_accumulate_beyond_the_burst() -> None:
    limit = SpamFilter(2, 10.0)
    limit.allows(POD, 0)

    assert [limit.allows(POD, 1e6) for _ in range(3)] == [True, True, False]


def test_the_limits_of_the_least_recently_used_objects_are_forgotten() -> None:
    limit = SpamFilter(1, 300.0, size=2)
    objects = [POD._replace(uid=str(number)) for number in range(3)]

    assert [limit.allows(each, 0) for each in objects] == [True] * 3
    assert [limit.allows(each, 1) for each in (objects[2], objects[1], objects[0])] == [False, False, True]


def test_a_full_queue_rejects_new_events_without_using_a_token() -> None:
    events = correlator(burst=2, queue_size=1)

    assert [record(events, key(reason), 0) for reason in ("One", "Two", "Two", "Two")] == ["new"] + ["queue_full"] * 3
    assert (len(events), list(written(events, 0)), len(events)) == (1, ["One 1"], 0)
    assert record(events, key("Two"), 0) == "new"


def test_a_count_that_does_not_fit_in_the_queue_is_written_when_the_series_ends() -> None:
    events = correlator(queue_size=1)
    record(events, key("One"), 0)
    list(written(events, 0))
    record(events, key("Two"), 1)

    assert record(events, key("One"), 2) == "repeated"

    assert list(written(events, 2)) == ["Two 1"]
    assert list(written(events, 2 + FINISH)) == ["One 2"]


# ── Event objects ─────────────────────────────────────────────────────────────────────────────


def pod(**metadata: str) -> Unstructured:
    return Unstructured(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop", **metadata}}
    )


def test_a_reference_has_the_fields_of_the_object() -> None:
    assert object_reference(pod()) == {"apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web"}
    assert object_reference(pod(uid="u", resourceVersion="7")).items() >= {"uid": "u", "resourceVersion": "7"}.items()


def test_a_single_event_has_no_series() -> None:
    single = EventSeries(key=key(), content={"note": "n"}, name="web.1", observed="now")
    assert single.document() == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "web.1", "namespace": "shop"},
        "note": "n",
    }

    repeated = EventSeries(key=key(), content={}, name="web.1", observed="now", count=2)
    assert repeated.patch() == {"series": {"count": 2, "lastObservedTime": "now"}}
    assert repeated.document()["series"] == repeated.patch()["series"]


def test_an_event_is_named_after_the_object_and_the_time() -> None:
    assert event_name("web", 0x1234ABCD, Random(7)) == "web.1234abcd"
    assert event_name("x" * 246, 0xABCDEF, Random(7)) == "x" * 246 + ".abcdef"


@pytest.mark.parametrize("name", ["2001:db8::1", "system:node", "Upper", "-x", "x" * 247])
def test_an_object_name_that_is_too_long_gives_a_random_event_name(name: str) -> None:
    random = Random(7)

    first, second = (event_name(name, 0xABCDEF, random) for _ in range(2))

    assert first != second
    assert len(first) == len("01234567-0123-4123-8123-0123456789ab")


def test_a_note_is_cut_to_1024_bytes_between_characters() -> None:
    assert limited_note("x" * 1024) == "x" * 1024
    assert limited_note("x" * 1025) == "x" * 1021 + "…"
    assert limited_note("€" * 342) == "€" * 340 + "…"
    assert len(limited_note("é" * 600).encode()) == 1023
    assert limited_note("a\ud800b") == "a?b"


def test_a_time_is_in_utc_with_microseconds() -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)

    assert micro_time(noon) == "2026-01-02T12:00:00.000000Z"
    assert micro_time(noon.replace(microsecond=7).astimezone(timezone(timedelta(hours=5)))).endswith("12:00:00.000007Z")
