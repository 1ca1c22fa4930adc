"""The machine finds bugs: each of two dozen that were put into dynkube on purpose."""

from __future__ import annotations

import logging

import pytest

from tests.informers.model.finding import BUGS, Found, find, recorded, title
from tests.informers.model.seeded_bugs import Bug
from tests.informers.model.shrinking import failure_of

RECORDED = recorded()


@pytest.fixture(autouse=True)
def quiet_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="dynkube")


def found(bug: Bug) -> Found:
    """How it was found when the README was written."""
    return RECORDED[title(bug)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("bug", BUGS, ids=title)
def test_random_scripts_find_it_again(bug: Bug) -> None:
    seed = found(bug).seed

    # What a seed plays changes with hypothesis: with another release, it may be a later one.
    assert find(BUGS[bug], bug, range(seed, seed + 40), shrinking=False)


@pytest.mark.parametrize("bug", BUGS, ids=title)
def test_the_script_in_the_readme_shows_it_and_passes_without_it(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    script = found(bug).script
    assert failure_of(BUGS[bug], script) is None

    bug(monkeypatch)

    assert failure_of(BUGS[bug], script) is not None
