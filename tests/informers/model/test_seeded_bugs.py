"""The machine finds each of two dozen bugs that are patched into dynkube on purpose."""

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
    """Return the finding that is recorded in the README."""
    return RECORDED[title(bug)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("bug", BUGS, ids=title)
def test_random_scripts_find_each_bug_again(bug: Bug) -> None:
    seed = found(bug).seed

    # Another release of hypothesis plays other scripts for a seed, so a later seed may find the bug.
    assert find(BUGS[bug], bug, range(seed, seed + 40), shrinking=False)


@pytest.mark.parametrize("bug", BUGS, ids=title)
def test_the_script_in_the_readme_fails_with_the_bug_and_passes_without_it(
    bug: Bug, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = found(bug).script
    assert failure_of(BUGS[bug], script) is None

    bug(monkeypatch)

    assert failure_of(BUGS[bug], script) is not None
