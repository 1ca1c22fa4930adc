"""Display of controllers: phase, queue and calls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dynkube._display import card_of
from dynkube.controllers import ControllerStatus, Outcome, SourceStatus, WorkQueueStatistics
from dynkube.controllers._status import summary_of
from tests.display.kit import NOW, lines

QUEUE = WorkQueueStatistics(
    depth={0: 1, -100: 2},
    delayed=3,
    processing=4,
    adds=10,
    retries=0,
    taken=2,
    queue_seconds=0.001,
    work_seconds=0.0,
    unfinished_work_seconds=0.0,
    longest_running_seconds=0.0,
)
SITES = ControllerStatus("sites", "websites.example.com")


def test_the_title_has_the_name_and_the_resource_once() -> None:
    same = replace(SITES, name="websites.example.com")

    assert lines(card_of(SITES, NOW)) == ["controller · sites · websites.example.com · Stopped"]
    assert lines(card_of(same, NOW)) == ["controller · websites.example.com · Stopped"]


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.05, "12.5 ms"), (0.6, "150.0 ms"), (4.8, "1.2 s"), (8000, "2,000.0 s")], ids=str
)
def test_durations_of_calls_are_shown_in_their_unit(seconds: float, shown: str) -> None:
    status = replace(SITES, outcomes={Outcome.SUCCESS: 3, Outcome.ERROR: 1}, seconds=seconds)

    assert lines(card_of(status, NOW))[1] == f"calls  3 success, 1 error, {shown} each on average"


def test_sources_are_shown_with_their_failures() -> None:
    sources = SourceStatus("orders", True, 1200), SourceStatus("timer", False, 1, 2, "OSError: no connection")

    assert lines(card_of(replace(SITES, sources=sources), NOW))[1:] == [
        "source orders  open, 1,200 keys",
        "source timer   1 key, 2 failures: OSError: no connection",
    ]


def test_several_clusters_are_shown_one_after_the_other() -> None:
    clusters = {name: replace(SITES, cluster=name) for name in ("east", "west")}

    shown = lines(card_of(summary_of(clusters), NOW))

    assert [line.strip() for line in shown if line.strip()] == [
        "controller · sites · websites.example.com · Stopped",
        "controller · sites · websites.example.com · in east · Stopped",
        "controller · sites · websites.example.com · in west · Stopped",
    ]


def test_the_queue_is_shown_with_the_average_wait() -> None:
    assert lines(card_of(replace(SITES, queue=QUEUE), NOW))[1] == (
        "queue  3 ready, 3 delayed, 4 processing, 0.5 ms in the queue on average"
    )
