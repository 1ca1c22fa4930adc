"""Perturbation testing of a scenario."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from dynkube.errors import InvalidInput
from dynkube_testing._perturbation.families import FAMILIES, Points, check_families, check_perturbation, plans_for
from dynkube_testing._perturbation.oracles import Problem, Reference, problems
from dynkube_testing._perturbation.plans import PerturbationPlan
from dynkube_testing._perturbation.report import Finding, PerturbationReport
from dynkube_testing._perturbation.run import Outcome, RunLimits, Scenario, ServerFactory, played
from dynkube_testing._perturbation.shrinking import shrunk
from dynkube_testing._server import APIServer

_REFERENCES = 3
_IN_REAL_TIME = RunLimits(quiet=10.0, timeout=120.0)
_MANY, _FEW = 60, 6  # runs to make a finding smaller; few in real time
_SHORTER = 0.1  # durations of perturbations in real time, as a part of those in virtual time


def new_server(random: Random) -> APIServer:
    """Return the server of a run: an empty one, which lists and watches apart, as it is read in most clusters."""
    return APIServer(random=random, watch_list=False)


def perturb(
    scenario: Scenario,
    *,
    plans: int = 100,
    seed: int = 0,
    families: Sequence[str] = FAMILIES,
    server: ServerFactory = new_server,
    limits: RunLimits | None = None,
    max_findings: int = 5,
    real_time: bool = False,
    clock: Callable[[], float] = time.perf_counter,
) -> PerturbationReport:
    """Run a scenario many times, and perturb what its program sees of the cluster.

    ``scenario`` is an async function of a :class:`PerturbedRun`: it fills the server, starts the program under test,
    changes objects as users do, and calls ``settle()`` in between. It is run three times without perturbations; these
    runs say which objects are expected, and where perturbations can matter. Then it is run once for each plan. A run
    is wrong if the objects differ when it has settled, if it does not settle, if objects are created and deleted again
    and again, if the program keeps ending by itself, or if the scenario raises. A plan that finds something is made
    smaller before it is reported.

    Each run is a trio run of its own, with a server of its own, in virtual time. It blocks, and cannot be called from
    a trio task.

    Args:
        scenario: The scenario.
        plans: How many plans to run at most; fewer if there are no more different ones.
        seed: Seed of the plans and of all runs.
        families: The families of perturbations to use.
        server: Returns a new server, which must use the random generator that it is called with.
        limits: When a program counts as settled, and what ends a run; in real time by default after 10 quiet seconds,
            and at the latest after 120.
        max_findings: Stop after this many different findings.
        real_time: Run in the time of the machine, as commands need it (:meth:`PerturbedRun.start_command`). A run takes
            its quiet seconds, perturbations last a tenth, and plans cannot be replayed exactly.
        clock: Clock for the duration in the report.

    Raises:
        InvalidInput: An argument is invalid, or the scenario fails or never settles without perturbations, or has
            nothing that these families perturb.
    """
    _check(plans, families, max_findings)
    allowed, begun = limits or _default_limits(real_time), clock()

    def run(plan: PerturbationPlan) -> Outcome:
        return played(scenario, plan, server, allowed, real_time=real_time)

    outcomes = _unperturbed(run, seed)
    reference = Reference.of(outcomes)
    points = Points.of(outcomes[0].recording, outcomes[0].definitions)
    allowed = _tightened(allowed, outcomes)
    hunt = _Hunt(run, reference, attempts=_FEW if real_time else _MANY)
    planned = plans_for(points, families, plans, Random(seed), shorter=_SHORTER if real_time else 1.0)
    if not planned:
        raise InvalidInput(
            f"there is nothing to perturb by {', '.join(families)}: the program sends no such requests, and gets no "
            "events"
        )
    for plan in planned:
        if len(hunt.found) >= max_findings:
            break
        hunt.try_plan(plan)
    return PerturbationReport(
        findings=tuple(hunt.found),
        runs=hunt.runs,
        plans=hunt.plans,
        no_effect=hunt.no_effect,
        seconds=clock() - begun,
    )


def replay(
    scenario: Scenario,
    plan: PerturbationPlan | str,
    *,
    seed: int = 0,
    server: ServerFactory = new_server,
    limits: RunLimits | None = None,
    real_time: bool = False,
) -> Finding | None:
    """Run a scenario under one plan again, as :func:`perturb` did; return what is wrong, or ``None``.

    Args:
        scenario: The scenario.
        plan: The plan, or its text in a report.
        seed: The seed of ``perturb``, for the runs without perturbations.
        server: As for ``perturb``.
        limits: As for ``perturb``.
        real_time: As for ``perturb``.

    Raises:
        InvalidInput: As for ``perturb``; or ``plan`` is malformed.
    """
    plan = PerturbationPlan.parse(plan) if isinstance(plan, str) else plan
    for each in plan.perturbations:
        check_perturbation(each)
    allowed = limits or _default_limits(real_time)

    def run(plan: PerturbationPlan) -> Outcome:
        return played(scenario, plan, server, allowed, real_time=real_time)

    outcomes = _unperturbed(run, seed)
    allowed = _tightened(allowed, outcomes)
    outcome = run(plan)
    wrong = problems(outcome, Reference.of(outcomes))
    return Finding.of(plan, wrong, outcome) if wrong else None


def _default_limits(real_time: bool) -> RunLimits:
    return _IN_REAL_TIME if real_time else RunLimits()


def _unperturbed(run: Callable[[PerturbationPlan], Outcome], seed: int) -> list[Outcome]:
    """Return three runs without perturbations."""
    outcomes = [run(PerturbationPlan(seed=seed + number)) for number in range(_REFERENCES)]
    for outcome in outcomes:
        _check_reference(outcome, len(outcomes[0].states))
    return outcomes


class _Hunt:
    """Runs plans, and collects what they find."""

    def __init__(self, run: Callable[[PerturbationPlan], Outcome], reference: Reference, *, attempts: int) -> None:
        self._run = run
        self._attempts = attempts
        self._reference = reference
        self.found: list[Finding] = []
        self.runs: Counter[str] = Counter()
        self.plans = 0
        self.no_effect = 0

    def try_plan(self, plan: PerturbationPlan) -> None:
        """Run a plan, and remember what is wrong."""
        outcome = self._run(plan)
        self.plans += 1
        self.runs.update(each.family for each in plan.perturbations)
        if outcome.interrupted or not any(outcome.applied):
            self.no_effect += 1
        if not (wrong := problems(outcome, self._reference)):
            return
        signature, families = wrong[0].signature, {each.family for each in plan.perturbations}
        for number, known in enumerate(self.found):
            if known.problems[0].signature == signature and known.families <= families:
                self.found[number] = replace(known, plans=known.plans + 1)
                return
        small, outcome, left = self._smaller(plan, outcome, wrong)
        left.sort(key=lambda problem: problem.signature != signature)
        self.found.append(Finding.of(small, left, outcome))

    def _smaller(
        self, plan: PerturbationPlan, outcome: Outcome, wrong: list[Problem]
    ) -> tuple[PerturbationPlan, Outcome, list[Problem]]:
        """Return the smallest plan with the first of the problems, and its last run that had it."""
        signature, last = wrong[0].signature, (plan, outcome, wrong)

        def finds(candidate: PerturbationPlan) -> bool:
            nonlocal last
            outcome, found = self._wrong(candidate)
            if signature not in {each.signature for each in found}:
                return False
            last = candidate, outcome, found
            return True

        shrunk(plan, finds, most=self._attempts)
        return last

    def _wrong(self, plan: PerturbationPlan) -> tuple[Outcome, list[Problem]]:
        outcome = self._run(plan)
        return outcome, problems(outcome, self._reference)


def _tightened(limits: RunLimits, outcomes: Sequence[Outcome]) -> RunLimits:
    """Return limits under which a program that loops is ended soon."""
    usual = max(outcome.recording.requests for outcome in outcomes)
    return replace(limits, requests=min(limits.requests, 10 * usual + 1000))


def _check(plans: int, families: Sequence[str], max_findings: int) -> None:
    for name, value in (("plans", plans), ("max_findings", max_findings)):
        if value < 1:
            raise InvalidInput(f"{name} is {value!r}: pass a positive number")
    check_families(families)


def _check_reference(outcome: Outcome, settles: int) -> None:
    if outcome.failure is not None:
        raise InvalidInput("the scenario fails without perturbations too") from outcome.failure
    if outcome.ended:
        raise InvalidInput(f"the scenario ends without perturbations too: {outcome.ended}")
    if outcome.recording.exits:
        ends = next(entry.text for entry in outcome.recording.entries if entry.text.startswith("ends by itself"))
        raise InvalidInput(f"the program {ends}, without perturbations too: it must run until it is cancelled")
    if not outcome.states:
        raise InvalidInput("the scenario never calls settle(), so there is nothing to compare")
    if len(outcome.states) != settles:
        raise InvalidInput("the scenario calls settle() more or less often in some runs without perturbations")
    if not any(entry.who == "program" and " " in entry.text for entry in outcome.recording.entries):
        raise InvalidInput("the program sends no requests: call run.start(program)")
