"""When a reflector counts as healthy again: transient failures, persistent failures, and failures that recur."""

from __future__ import annotations

import pytest

from dynkube.errors import ConnectionLost, DynkubeError, UnreadableEvent
from dynkube.informers._reflector.health import ReflectorHealth
from dynkube.informers._reflector.transitions import StreamSilent

pytestmark = pytest.mark.scenario("P8")

LOST = ConnectionLost("reset")
UNREADABLE = UnreadableEvent("not JSON")


def fail_twice(health: ReflectorHealth, at: float, exc: DynkubeError = LOST) -> float:
    """Record two consecutive failures and a stream; return for how long the stream has to hold."""
    health.failed(exc, at)
    health.failed(exc, at + 1)
    hold = health.opened(at + 2)
    assert hold is not None
    return hold


def test_the_first_failure_is_transient_and_the_second_in_a_row_is_not() -> None:
    health = ReflectorHealth()

    assert [health.failed(LOST, now) for now in (0, 1, 2)] == [0, 1, 2]


def test_after_a_transient_failure_one_second_or_one_event_proves_health() -> None:
    health = ReflectorHealth()
    health.failed(LOST, 0)

    assert health.opened(1) == 1
    assert health.proven_by_event(1.1)


def test_a_failure_soon_after_recovery_is_not_transient() -> None:
    health = ReflectorHealth()
    health.failed(LOST, 0)
    health.healed(2)

    assert health.failed(LOST, 5) == 1
    assert health.opened(6) == 10
    assert not health.proven_by_event(10)
    assert health.proven_by_event(16)


def test_a_failure_soon_after_the_first_success_is_transient() -> None:
    health = ReflectorHealth()
    health.healed(0)

    assert health.failed(LOST, 1) == 0


@pytest.mark.parametrize(("exc", "holds"), [(LOST, [1, 10, 40, 60, 60]), (UNREADABLE, [1, 10, 40, 160, 600, 600])])
def test_recurring_failures_need_a_longer_time_without_failure_each_time(exc: DynkubeError, holds: list[float]) -> None:
    health = ReflectorHealth()
    observed: list[float] = []
    for number in range(len(holds)):
        observed.append(fail_twice(health, number * 1000.0, exc))
        health.healed(number * 1000.0 + 700)

    assert observed == holds


def test_failures_are_forgotten_after_ten_minutes_without_any() -> None:
    health = ReflectorHealth()
    fail_twice(health, 0)
    health.healed(10)
    assert fail_twice(health, 100) == 10
    health.healed(200)

    assert fail_twice(health, 801) == 1


def test_a_failure_long_after_recurring_ones_is_transient_again() -> None:
    health = ReflectorHealth()
    fail_twice(health, 0)
    health.healed(10)
    assert fail_twice(health, 100) == 10
    health.healed(200)

    assert health.failed(LOST, 801) == 0
    assert health.opened(802) == 1


def test_streams_that_end_normally_do_not_restart_the_time_of_proof() -> None:
    health = ReflectorHealth()
    fail_twice(health, 0, UNREADABLE)
    health.healed(10)
    assert fail_twice(health, 100, UNREADABLE) == 10

    assert health.opened(108) == 4
    assert health.opened(500) == 0


def test_after_silence_only_an_event_proves_health() -> None:
    health = ReflectorHealth()
    health.failed(StreamSilent("nothing for 90 s"), 0)

    assert health.opened(1) is None
    assert health.proven_by_event(2)


def test_after_uncertain_silence_no_event_is_needed() -> None:
    health = ReflectorHealth()
    health.failed(StreamSilent("nothing for 90 s", certain=False), 0)

    assert health.opened(1) == 1


def fail_lists(health: ReflectorHealth, *times: float) -> None:
    for time in times:
        health.failed(LOST, time, listing=True)


def test_a_complete_list_heals_failures_of_lists() -> None:
    health = ReflectorHealth()
    fail_lists(health, 0, 1, 5)

    health.listed(10)

    assert health.streak == 0


def test_a_complete_list_does_not_heal_failures_of_watches() -> None:
    health = ReflectorHealth()
    health.failed(LOST, 0)
    fail_lists(health, 1, 2)

    health.listed(10)

    assert health.streak == 3


def test_a_streaming_list_that_breaks_after_its_headers_is_a_failure_of_watches() -> None:
    health = ReflectorHealth()
    fail_lists(health, 0)
    health.opened(1)
    fail_lists(health, 2)

    health.listed(10)

    assert health.streak == 2


def test_a_list_heals_failures_once_but_not_when_they_recur() -> None:
    health = ReflectorHealth()
    fail_lists(health, 0, 1)
    health.listed(2)
    assert health.streak == 0
    fail_lists(health, 100, 101)

    health.listed(102)

    assert health.streak == 2
    assert health.opened(102) == 10


def test_a_watch_failure_soon_after_a_list_healed_is_not_transient() -> None:
    health = ReflectorHealth()
    fail_lists(health, 0, 1)
    health.listed(2)

    assert health.failed(LOST, 3) == 1
