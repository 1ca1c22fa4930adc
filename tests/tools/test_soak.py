"""A short soak passes, and finds lost and invalid events; ``make soak`` runs longer."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

import dynkube
from benchmarks.soak import controllers
from benchmarks.soak.embedded import embedded
from benchmarks.soak.figures import Sample, growth, not_flat
from benchmarks.soak.observers import Fold, Violations
from benchmarks.soak.run import Options, Outcome, Soak
from dynkube import Unstructured
from dynkube.controllers._own_writes import OwnWrites
from dynkube_testing import APIServer, Rewrite
from tests.informers.kit import WIDGETS, crd, quiet, widget

SHORT = Options(
    seconds=60.0,
    check_every=30.0,
    timeout=900.0,
    rate=20.0,
    writers=1,
    resources=20,
    changing=4,
    crd_lifetime=(2.0, 20.0),
    fault_every=1.0,
)
SAMPLE = Sample(
    seconds=0.0,
    cpu=0.0,
    blocks=1000,
    heap=9,
    rss=50.0,
    tasks=100,
    threads=1,
    files=9,
    watches=20,
    objects=0,
    writes=0,
    events=0,
)


def without_deletions(event: dict[str, Any]) -> dict[str, Any] | None:
    return None if event["type"] == "DELETED" else event


async def soak(options: Options, *, lose_events: bool = False) -> Outcome:
    async with embedded(Random(options.seed)) as (cluster, client):
        if lose_events:
            cluster.fault_target.inject(Rewrite(without_deletions), verb="watch", resource="configmaps")
        return await Soak(cluster, client, options, lambda text: None).run()


async def test_no_difference_remains_after_a_minute_of_faults() -> None:
    outcome = await soak(SHORT)

    assert outcome.divergences == []
    assert outcome.violations.first == []
    assert outcome.checks == 3
    assert outcome.injected
    assert outcome.cycles
    assert sum(outcome.written.values()) > 1000


async def test_a_lost_event_is_found_and_described() -> None:
    outcome = await soak(replace(SHORT, fault_every=0.0, rate=200.0), lose_events=True)

    assert outcome.divergences
    found = str(outcome.divergences[0])
    assert found.startswith("configmaps.v1")
    assert "LIVE" in found


async def test_the_same_seed_makes_the_same_writes() -> None:
    first, second = [await soak(replace(SHORT, seconds=10.0, fault_every=0.0, seed=7)) for _ in range(2)]

    assert first.written == second.written


async def test_invalid_events_are_counted() -> None:
    async with APIServer() as server, dynkube.connect(transport=server.transport()) as client:
        server.create(crd())
        informer = client.informer(WIDGETS, indexes={"team": lambda obj: []})
        violations = Violations()
        fold = Fold("the handler", informer, violations)
        old, new = (Unstructured(server.create(widget(name))) for name in "ab")

        fold.added(old)
        fold.added(old)
        fold.updated(new, old)
        fold.deleted(new)
        fold.enter()
        fold.enter()
        fold.removed = True
        fold.deleted(old)
        await quiet()

        assert [what.partition(" ")[0] for what in violations.first] == ["the"] * len(violations.first)
        assert violations.count == 6


def test_growth_compares_the_last_third_with_the_second() -> None:
    samples = [replace(SAMPLE, blocks=blocks) for blocks in (10, 500, 1000, 1020, 1100, 1090)]

    assert growth(samples, "blocks") == (1095 - 1010) / 1010
    assert not_flat(samples) == ["blocks grew by 8.4% from the second third of the run to the last"]
    assert growth(samples[:5], "blocks") is None


async def test_twenty_controllers_make_everything_what_it_should_be_with_few_writes() -> None:
    result = await controllers.run_embedded(60.0, 30.0, 1, lambda text: None)

    assert result.wrong == []
    assert 0 < result.writes.total() < 4 * result.changes.total()


async def test_it_finds_objects_that_are_not_reconciled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OwnWrites, "hold", lambda self, key: key.name == "site-1")  # for ever

    result = await controllers.run_embedded(30.0, 30.0, 1, lambda text: None)

    assert any("site-1" in each for each in result.wrong)
