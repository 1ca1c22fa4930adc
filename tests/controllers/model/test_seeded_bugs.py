"""Bugs that are patched into dynkube.controllers on purpose are found: by fixed scripts here, and by random ones."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

import pytest

from tests.controllers.model import seeded_bugs
from tests.controllers.model.scripts import Script, Step, play
from tests.controllers.model.seeded_bugs import Bug
from tests.controllers.model.shapes import Shape

_BUSY: Final[Step] = ("resize", "default", "a", [1, 3, 0, 2, 1, 3, 2, 0], 6.0)
_SLOW: Final[Step] = ("resize", "default", "a", [1, 3, 2], 0.3)
_DELETE: Final[Step] = ("delete", "default", "a")
_LAG: Final[Step] = ("lag", "child", 8.0, 60.0)
_SECRETS: Final = (("secret", "default", "s", "a", "1"), ("wait", 2.0), ("secret", "default", "s", "b", "2"))
_HANDOVER: Final = (
    _LAG,
    ("wait", 12.0),
    ("put", "default", "a", 3, 2, "x"),
    ("wait", 0.3),
    ("stop", 0),
    ("wait", 12.0),
)
_RESTORE: Final = (("restore", 3.0), ("wait", 1.0), ("put", "default", "a", 3, 2, "x"))

SCRIPTS: Final[Mapping[Bug, tuple[dict[str, Any], tuple[Step, ...]]]] = {
    seeded_bugs.own_deletions_not_waited_for: ({}, (_LAG, ("wait", 12.0), _SLOW)),
    seeded_bugs.a_call_while_a_source_is_listed_again: ({"child": "gadgets"}, _RESTORE),
    seeded_bugs.a_change_during_the_call_lost: ({"pause": 3.0}, (_SLOW,)),
    seeded_bugs.a_key_handed_out_twice: ({"pause": 3.0, "concurrency": 4}, (_SLOW,)),
    seeded_bugs.a_finalizer_removed_before_the_clean_up: ({"finalizer": "plain"}, (_DELETE,)),
    seeded_bugs.a_renew_deadline_ignored: ({"processes": 2}, (("lose_lease", "503"), _BUSY)),
    seeded_bugs.writers_not_cancelled_when_the_lease_is_lost: ({"processes": 2}, (("lose_lease", "take"), _BUSY)),
    seeded_bugs.a_deletion_timestamp_hidden_by_a_predicate: (
        {"finalizer": "plain", "predicate": "fields"},
        (_DELETE,),
    ),
    seeded_bugs.children_of_a_deleted_owner_created_again: (
        {},
        (("lag", "widgets", 8.0, 60.0), ("wait", 12.0), _DELETE, ("wait", 12.0)),
    ),
    seeded_bugs.the_last_writes_of_the_leader_before_not_waited_for: ({"processes": 2}, _HANDOVER),
    seeded_bugs.a_resync_dropped: ({"resync": 45.0}, ()),
    seeded_bugs.the_old_keys_of_a_mapper_not_added: ({"mapped": True}, _SECRETS),
}
"""The settings and steps that show a bug, besides those that install and start everything."""

_FIRST: Final[tuple[Step, ...]] = (
    ("install", "widgets"),
    ("install", "gadgets"),
    ("put", "default", "a", 2, 1, "x"),
    ("start", 0),
    ("start", 1),
    ("wait", 12.0),
)


@pytest.fixture(autouse=True)
def quiet_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="dynkube")


@pytest.mark.parametrize("bug", SCRIPTS, ids=lambda bug: bug.__name__)
def test_a_script_fails_with_a_bug_and_passes_without_it(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    shape, steps = SCRIPTS[bug]
    script = Script(1, Shape(**shape), _FIRST + steps)
    assert play(script).wrong == []

    bug(monkeypatch)

    assert play(script).wrong
