"""The sweep itself: what counts as wrong, and that it finds bugs that are put back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio

from dynkube.errors import NotFound, Status
from dynkube.errors._evidence import Evidence
from tests.sweep.answers import ANSWERS
from tests.sweep.cluster import WIDGETS, widgets
from tests.sweep.lab import Lab, Scenario
from tests.sweep.play import play, requests_of
from tests.sweep.scenarios import every
from tests.sweep.sweep import sweep
from tests.sweep.table import Result, cells_of, page, violations


def scenario(play: Callable[[Lab], Awaitable[None]], opening: float = 1.0) -> Scenario:
    return Scenario(feature="test", covers=(), play=play, prepare=widgets, opening=opening)


async def get(lab: Lab) -> None:
    await lab.client.resource(WIDGETS).get("a")


def outcomes(of: Scenario, answer: int, line: int = -1) -> tuple[str, bool]:
    played = play(of, ANSWERS[answer], requests_of(of)[line])
    return played.outcome, played.wrong


def test_an_exception_that_reports_the_answer_is_right() -> None:
    assert outcomes(scenario(get), 3) == ("raised Forbidden", False)


def test_a_result_without_the_object_is_wrong() -> None:
    async def swallow(lab: Lab) -> None:
        try:
            await get(lab)
        except Exception:  # the bug
            lab.check(not lab.exists(WIDGETS, "a"), "returned None, and the object exists")

    assert outcomes(scenario(swallow), 3) == ("returned None, and the object exists", True)


def test_a_stream_that_ends_after_it_was_opened_is_wrong() -> None:
    async def read_again(lab: Lab) -> None:
        lab.opened()
        await trio.sleep(60)
        await get(lab)

    assert outcomes(scenario(read_again), 3) == ("ended: raised Forbidden", True)
    assert outcomes(scenario(read_again, opening=61), 3) == ("raised Forbidden", False)


def test_a_call_that_never_ends_and_an_error_of_another_kind_are_wrong() -> None:
    async def hang(lab: Lab) -> None:
        try:
            await get(lab)
        except Exception:  # the bug
            await trio.sleep_forever()

    async def crash(lab: Lab) -> None:
        try:
            await get(lab)
        except Exception:  # the bug
            raise KeyError("metadata") from None

    assert outcomes(scenario(hang), 3) == ("did not end within 4 hours", True)
    assert outcomes(scenario(crash), 3) == ("raised KeyError, which is no DynkubeError: 'metadata'", True)


def test_a_scenario_that_fails_without_a_fault_is_an_error() -> None:
    async def fail(lab: Lab) -> None:
        await lab.client.resource(WIDGETS).get("z")

    with pytest.raises(RuntimeError, match="test fails without a fault: raised NotFound"):
        requests_of(scenario(fail))


def any_404(exc: BaseException) -> bool:
    """Take each 404 for one of the object."""
    return isinstance(exc, NotFound)


def of_the_object(status: Status, requested: object) -> Evidence:
    """Take each 404 for one of the object, wherever evidence is judged."""
    return Evidence.OBJECT_ABSENT


SEEDED: dict[str, tuple[str, object]] = {
    "wait_for, delete": ("dynkube.client._watch.state.Refusals.confirmed", property(lambda self: True)),
    "apply_all, pruning": ("dynkube.errors._evidence._of_not_found", of_the_object),
    "drain": ("dynkube.workloads._drain.proves_deletion", any_404),
}
"""Bugs by the feature that shows them: an attribute, and what it is replaced by."""


@pytest.mark.parametrize("feature", SEEDED)
def test_a_bug_that_believes_one_negative_answer_is_found(monkeypatch: pytest.MonkeyPatch, feature: str) -> None:
    target, bug = SEEDED[feature]
    monkeypatch.setattr(target, bug)
    (chosen,) = [each for each in every() if each.feature == feature]

    assert any(each.wrong for each in sweep(chosen, ANSWERS[:1]))


def test_a_page_can_be_read_again() -> None:
    results = [
        Result("get, twice", "GET /a", "503", "right result", wrong=False),
        Result("get, twice", "GET /b", "503", "raised NotFound", wrong=True),
        Result("get, twice", "GET /a", "404 HTML", "right result", wrong=False),
    ]

    assert cells_of(page(results)) == {
        ("get, twice", "503"): "right result (`GET /a`); **wrong**: raised NotFound (`GET /b`)",
        ("get, twice", "404 HTML"): "right result",
    }
    assert violations(results) == ["get, twice\n    GET /b\n    503\n    -> raised NotFound"]
