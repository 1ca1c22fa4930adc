"""Findings and reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import wrap

from dynkube_testing._perturbation.explanation import explained
from dynkube_testing._perturbation.oracles import Problem
from dynkube_testing._perturbation.plans import PerturbationPlan
from dynkube_testing._perturbation.recording import Entry
from dynkube_testing._perturbation.run import Outcome

_SHOWN_DETAILS, _SHOWN_ENTRIES, _WIDTH = 12, 40, 112


@dataclass(frozen=True, slots=True)
class Finding:
    """A plan under which a program did something wrong.

    Attributes:
        plan: The smallest plan that was found.
        problems: What was wrong.
        timeline: What has happened, oldest first.
        plans: How many plans have found the same.
        explanation: What each perturbation of the plan did, in words.
    """

    plan: PerturbationPlan
    problems: tuple[Problem, ...]
    timeline: tuple[Entry, ...] = field(repr=False)
    plans: int = 1
    explanation: tuple[str, ...] = ()

    @property
    def families(self) -> frozenset[str]:
        """The families of the perturbations."""
        return frozenset(each.family for each in self.plan.perturbations)

    @classmethod
    def of(cls, plan: PerturbationPlan, problems: Sequence[Problem], outcome: Outcome) -> Finding:
        """Return the finding of a run of a plan."""
        writes = outcome.recording.writes
        pairs = zip(plan.perturbations, outcome.applied, strict=True)
        explanation = tuple(explained(each, applied, writes) for each, applied in pairs)
        return cls(plan, tuple(problems), tuple(outcome.recording.entries), explanation=explanation)

    def __str__(self) -> str:
        plans = f" ({self.plans} plans)" if self.plans > 1 else ""
        lines = [f"{self.problems[0].summary}{plans}", f"  plan: {self.plan}"]
        lines += [f"    {line}" for text in self.explanation for line in wrap(text, _WIDTH)]
        for problem in self.problems:
            if problem is not self.problems[0]:
                lines.append(f"  also: {problem.summary}")
            elif problem.oracle == "state":
                lines.append("  compared with the unperturbed runs:")
            lines += [f"    {line}" for line in problem.details[:_SHOWN_DETAILS]]
            if (hidden := len(problem.details) - _SHOWN_DETAILS) > 0:
                lines.append(f"    and {hidden} more")
        return "\n".join([*lines, "  timeline (seconds):", *self._around_the_faults()])

    def _around_the_faults(self) -> list[str]:
        """Return the lines of the timeline around the first perturbation."""
        faults = [number for number, entry in enumerate(self.timeline) if entry.who == "fault"]
        first = max(0, (faults[0] if faults else len(self.timeline)) - _SHOWN_ENTRIES // 3)
        shown = [f"    {entry}" for entry in self.timeline[first : first + _SHOWN_ENTRIES]]
        before, after = first, len(self.timeline) - first - len(shown)
        return [
            *([f"    ({before} lines before)"] if before else []),
            *shown,
            *([f"    ({after} lines after)"] if after > 0 else []),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbationReport:
    """What :func:`dynkube_testing.perturb` has found.

    Attributes:
        findings: What is wrong; those with the same problem are one.
        runs: The number of runs by family; a plan of several perturbations counts for each of them.
        plans: The number of plans that were run.
        no_effect: The number of plans without a result: the perturbations did not happen, as the program did something
            else meanwhile, or the scenario could not go on, as a CRD that it used was removed at that moment.
        seconds: The duration, by the real clock.
    """

    findings: Sequence[Finding]
    runs: Counter[str]
    plans: int
    no_effect: int
    seconds: float

    def raise_for_findings(self) -> None:
        """Raise an AssertionError with the text of the report if there are findings."""
        if self.findings:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        tried = f"{self.plans} plan{'' if self.plans == 1 else 's'}"
        head = (
            f"{tried} in {self.seconds:.1f} s, {self.no_effect} without effect: "
            f"{len(self.findings) or 'no'} finding{'s' * (len(self.findings) != 1)}"
        )
        found = [f"{number}. {finding}" for number, finding in enumerate(self.findings, 1)]
        return "\n\n".join([head, *found])
