"""The machine's oracle sees each of the bugs that are patched into dynkube on purpose.

Random scripts found them; the README has what was left of these scripts. ``make model ARGS=--bugs`` searches for each
bug again, minutes for some of them.
"""

from __future__ import annotations

import logging

import pytest

from tests.informers.model.finding import BUGS, recorded, title
from tests.informers.model.seeded_bugs import Bug
from tests.informers.model.shrinking import failure_of

RECORDED = recorded()


@pytest.fixture(autouse=True)
def quiet_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="dynkube")


@pytest.mark.parametrize("bug", BUGS, ids=title)
def test_the_script_in_the_readme_fails_with_the_bug_and_passes_without_it(
    bug: Bug, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = RECORDED[title(bug)].script
    assert failure_of(BUGS[bug], script) is None

    bug(monkeypatch)

    assert failure_of(BUGS[bug], script) is not None
