"""Bugs that fixed scripts show, and that random ones would have to play for long to find."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

import pytest

from tests.informers.model import set_bugs
from tests.informers.model.finding import title
from tests.informers.model.seeded_bugs import Bug
from tests.informers.model.sets import RacingSetMachine
from tests.informers.model.shrinking import Script, failure_of

_START: Final = (
    "informer_0 = state.start(most=250, selection='{}', early='plain', breathing={}, streaming=False, "
    "resource='configmaps.v1', crd_rights=True)"
)
SCRIPTS: Final[Mapping[Bug, Script]] = {
    set_bugs.failed_reviews_counted_over_the_whole_round: [
        _START.format("many names", False),
        "state.grant(name='green')",
        "state.wait(seconds=100.0)",
        "state.revoke_while_reviews_fail(name='green')",
    ],
    set_bugs.synced_although_the_filter_was_replaced_during_the_round: [
        _START.format("names", True),
        "state.put(at='blue/b', resource='configmaps', size='small', team='y')",
        "state.put(at='default/a', resource='configmaps', size='small', team='x')",
        "state.wait(seconds=100.0)",
        *(f"state.replace_filter(informer=informer_0, shown='team', then='~team', pauses={n})" for n in range(8)),
    ],
    set_bugs.a_restarted_part_listed_from_the_watch_cache: [
        _START.format("names", False),
        "state.wait(seconds=15.0)",
        "state.lag()",
        "informer_1 = state.follow(resource='widgets.example.com', selection='names', shown='all', early='plain')",
        "state.wait(seconds=2.0)",
        "state.serve(plural='widgets', served='v1')",
        "state.wait(seconds=15.0)",
        "state.delete(resource='widgets', at='default/a')",
        "state.wait(seconds=15.0)",
        "state.serve(plural='widgets', served='v2')",
        "state.wait(seconds=100.0)",
    ],
}


@pytest.fixture(autouse=True)
def quiet_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="dynkube")


@pytest.mark.parametrize("bug", SCRIPTS, ids=title)
def test_a_fixed_script_fails_with_a_bug_and_passes_without_it(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    assert failure_of(RacingSetMachine, SCRIPTS[bug]) is None

    bug(monkeypatch)

    assert failure_of(RacingSetMachine, SCRIPTS[bug]) is not None
