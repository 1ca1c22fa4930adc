"""Plans that find something are made smaller."""

from __future__ import annotations

from dynkube_testing import PerturbationPlan
from dynkube_testing._perturbation.shrinking import shrunk


def smallest(plan: str, *, needs: str = "", at: int = 1, seconds: float = 0.0, most: int = 60) -> tuple[str, int]:
    """Shrink a plan that finds something while a perturbation of that family is late and long enough."""
    tried = []

    def finds(candidate: PerturbationPlan) -> bool:
        tried.append(candidate)
        return any(
            each.family == needs and each.at >= at and each.seconds >= seconds for each in candidate.perturbations
        )

    return str(shrunk(PerturbationPlan.parse(plan), finds, most=most)), len(tried)


def test_perturbations_that_are_not_needed_are_dropped() -> None:
    assert smallest("lag(at=3, resource=pods, seconds=60) + conflict(at=2) # seed 5", needs="conflict") == (
        "conflict(at=1) # seed 5",
        2,
    )


def test_what_is_needed_becomes_as_short_and_as_early_as_possible() -> None:
    found, _ = smallest("crash(at=9, how=unsent, seconds=60)", needs="crash", at=4, seconds=5)

    assert found == "crash(at=4, how=unsent, seconds=5)"


def test_only_so_many_plans_are_tried() -> None:
    found, tried = smallest("crash(at=9000, how=unsent, seconds=60)", needs="crash", at=8000, most=7)

    assert tried == 7
    assert PerturbationPlan.parse(found).perturbations[0].at > 8000
