"""Making a plan smaller that finds a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from dynkube_testing._perturbation.plans import Perturbation, PerturbationPlan

_SECONDS = (0.0, 1.0, 5.0, 20.0, 60.0)


def shrunk(plan: PerturbationPlan, finds: Callable[[PerturbationPlan], bool], *, most: int = 60) -> PerturbationPlan:
    """Return a plan that ``finds`` the same, with fewer, shorter and earlier perturbations if possible.

    Args:
        plan: A plan for which ``finds`` is true.
        finds: Runs a plan, and returns whether the problem is found.
        most: How many plans to run.
    """
    left, smaller = most, True
    while smaller and left > 0:
        smaller = False
        for candidate in _smaller(plan):
            left -= 1
            if finds(candidate):
                plan, smaller = candidate, True
                break
            if left <= 0:
                break
    return plan


def _smaller(plan: PerturbationPlan) -> Iterator[PerturbationPlan]:
    parts = plan.perturbations
    for number in range(len(parts)):
        if len(parts) > 1:
            yield replace(plan, perturbations=parts[:number] + parts[number + 1 :])
    for number, part in enumerate(parts):
        for simpler in _simpler(part):
            yield replace(plan, perturbations=(*parts[:number], simpler, *parts[number + 1 :]))


def _simpler(part: Perturbation) -> Iterator[Perturbation]:
    if part.family != "refuse" or part.seconds:
        yield from (replace(part, seconds=seconds) for seconds in _SECONDS if seconds < part.seconds)
    if part.back > 1:
        yield replace(part, back=1)
    for at in sorted({1, part.at // 2, part.at - 1}):
        if 1 <= at < part.at:
            yield replace(part, at=at, back=min(part.back, at))
