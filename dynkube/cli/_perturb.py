"""``dynkube perturb``: perturbation testing of a scenario."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from dynkube._text.tables import printable
from dynkube.cli._packages import embedded_server_required
from dynkube.cli._targets import load_function


def perturb(
    scenario: str,
    *,
    plans: Annotated[int, Parameter(validator=Number(gte=1))] = 100,
    seed: int = 0,
    family: Annotated[list[str] | None, Parameter(negative="")] = None,
    plan: str | None = None,
    max_findings: Annotated[int, Parameter(validator=Number(gte=1))] = 5,
    real_time: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Run a program many times against an embedded API server, and perturb what it sees of the cluster.

    The server is in memory: no cluster is used. Exits with 1 if something was found.

    Args:
        scenario: MODULE:NAME or FILE.py:NAME of an async function of a dynkube_testing.PerturbedRun.
        plans: How many plans to run at most.
        seed: Seed of the plans and of all runs.
        family: Use only this family of perturbations; may be repeated.
        plan: Run only this plan, as a finding prints it, like 'crash(at=3, how=processed) # seed 7'.
        max_findings: Stop after this many different findings.
        real_time: Run in real time instead of virtual time, as scenarios with commands need it.
    """
    function = load_function(scenario)
    with embedded_server_required("perturb"):
        import dynkube_testing as testing

        if plan is not None:
            finding = testing.replay(function, plan, seed=seed, real_time=real_time)
            _print(finding or "nothing found")
            return int(finding is not None)
        families = testing.FAMILIES if family is None else family
        report = testing.perturb(
            function, plans=plans, seed=seed, families=families, max_findings=max_findings, real_time=real_time
        )
        _print(report)
        return int(bool(report.findings))


def _print(text: object) -> None:
    for line in str(text).splitlines():
        print(printable(line))
