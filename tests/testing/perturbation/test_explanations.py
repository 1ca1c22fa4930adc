"""What a finding says about its plan."""

from __future__ import annotations

import pytest

from dynkube_testing import FAMILIES, Perturbation
from dynkube_testing._perturbation.explanation import explained
from dynkube_testing._perturbation.recording import Write

WRITES = [Write("create", "configmaps", "default/"), Write("patch", "secrets/status", "default/a")]


STALE = "when write 2 of the program (patch secrets/status default/a) was processed, the program was killed; "


@pytest.mark.parametrize(
    ("plan", "texts"),
    [
        ("crash(at=1, how=unsent)", ["write 1 of the program (create configmaps default) was sent, before the server"]),
        ("crash(at=1, how=processed, seconds=5)", ["was processed, before the response", "it started again 5 s later"]),
        ("stale(at=2, back=1, seconds=60)", [STALE, "the objects as they were before that write, for 60 s"]),
        ("stale(at=2, back=2)", [STALE, "before write 1 of the program (create configmaps default), for 0 s"]),
        ("refuse(at=1, how=409)", ["(create configmaps default) got the error response 409"]),
    ],
)
def test_a_plan_is_explained_in_words(plan: str, texts: list[str]) -> None:
    explanation = explained(Perturbation.parse(plan), True, WRITES)

    assert [text for text in texts if text not in explanation] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_is_explained_in_words(family: str) -> None:
    text = explained(Perturbation(family, 2, resource="pods", back=1, how="503", seconds=7.0), True, WRITES)

    assert "write 2 " in text or "pods" in text
    assert "7 s" in text or family in {"conflict", "lost_answer"}


def test_a_perturbation_that_did_not_happen_is_named() -> None:
    assert explained(Perturbation("crash", 9), False, WRITES).startswith("crash did not happen")
