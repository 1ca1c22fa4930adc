"""The pauses of a reflector and the deadlines of its streams: pure, without a server."""

from __future__ import annotations

from random import Random

import pytest

from dynkube.errors import APIError, ConnectFailed, Status
from dynkube.informers import InformerSettings
from dynkube.informers._reflector.deadlines import IdleTimeout, Stream
from dynkube.informers._reflector.pauses import Pace
from dynkube.informers._reflector.recovery import Recovery
from dynkube.informers._reflector.transitions import StreamCutShort, Watching

pytestmark = pytest.mark.scenario("P8", "P13")

AGAIN = Recovery(Watching("7"))
LOST = ConnectFailed("refused")


def settings() -> InformerSettings:
    return InformerSettings(random=Random(7))


def test_pauses_after_failures_grow() -> None:
    pace = Pace(settings())

    pauses = [pace.after_failure(LOST, AGAIN, now) for now in range(6)]

    assert all(0.8 * 2**n <= pause < 1.6 * 2**n for n, pause in enumerate(pauses))


def test_an_immediate_recovery_has_no_pause_and_does_not_lengthen_the_next() -> None:
    pace = Pace(settings())

    assert pace.after_failure(LOST, Recovery(Watching("7"), immediate=True), 0) == 0
    assert pace.after_failure(LOST, AGAIN, 0) < 1.6


def test_a_missing_resource_is_retried_sooner_until_it_was_served() -> None:
    pace, missing = Pace(settings()), Recovery(Watching("7"), missing=True)

    assert pace.after_failure(LOST, missing, 0) < 0.4
    assert pace.after_failure(LOST, missing, 1) >= 0.4
    pace.served()
    assert pace.after_failure(LOST, missing, 2) < 0.4


def test_a_retry_after_is_honored() -> None:
    exc = APIError.from_status(Status(429, retry_after=20.0))

    assert 20 <= Pace(settings()).after_failure(exc, AGAIN, 0) <= 22


def test_after_a_stream_that_held_the_pauses_start_again() -> None:
    pace = Pace(settings())
    for now in range(5):
        pace.after_failure(LOST, AGAIN, now)

    pace.held()

    assert pace.after_failure(LOST, AGAIN, 6) < 1.6


def test_a_watch_that_ends_at_its_timeout_is_opened_again_at_once() -> None:
    assert Pace(settings()).after_end(399.5, 400.0, 0, news=False) == 0


def test_a_watch_that_ends_early_is_opened_again_within_the_spread() -> None:
    pauses = [Pace(InformerSettings(random=Random(n))).after_end(100, 400, 0, news=False) for n in range(20)]

    assert max(pauses) <= 1
    assert len(set(pauses)) == 20


def test_a_watch_that_ends_at_once_without_events_is_a_failure() -> None:
    pace = Pace(settings())
    assert pace.after_end(0.5, 400, 0, news=True) >= 0.8

    with pytest.raises(StreamCutShort, match="at once"):
        pace.after_end(0.5, 400, 1, news=False)


def test_the_third_short_watch_in_a_row_is_a_failure() -> None:
    pace = Pace(settings())
    for _ in range(2):
        pace.after_end(5, 400, 0, news=True)

    with pytest.raises(StreamCutShort, match="the server repeatedly ends watches"):
        pace.after_end(5, 400, 0, news=True)


def test_a_watch_that_lasts_resets_the_count_of_short_ones() -> None:
    pace = Pace(settings())
    for _ in range(2):
        pace.after_end(5, 400, 0, news=True)
    pace.after_end(400, 400, 0, news=True)
    for _ in range(2):
        pace.after_end(5, 400, 0, news=True)

    with pytest.raises(StreamCutShort, match="the server repeatedly ends watches"):
        pace.after_end(5, 400, 0, news=True)


def test_the_idle_timeout_doubles_after_each_silence_of_a_resource_without_bookmarks() -> None:
    idle = IdleTimeout(settings())

    failures = [idle.expired(idle.seconds) for _ in range(4)]

    assert [str(each) for each in failures] == [f"no event for {n} s" for n in (90, 180, 360, 615)]
    assert not any(each.certain for each in failures)


def test_after_a_bookmark_silence_is_certain_and_the_idle_timeout_is_the_usual_one() -> None:
    idle = IdleTimeout(settings())
    idle.expired(90)

    idle.bookmark_seen()

    assert idle.seconds == 90
    assert idle.expired(90).certain


def test_a_stream_ends_at_its_idle_timeout_or_its_total_timeout() -> None:
    stream = Stream(415, 90)
    stream.opened = 1000
    assert [stream.deadline(now) for now in (1000, 1300, 1400)] == [1090, 1390, 1415]

    stream.limit(15, 300)

    assert [stream.deadline(now) for now in (1000, 1290)] == [1015, 1300]
    assert [stream.overdue(now) for now in (1414, 1415)] == [False, True]
