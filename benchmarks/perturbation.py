"""What runs of perturbation testing cost, by family: plans per CPU second.

    python -m benchmarks.perturbation [--plans 40] [--seed 0] [--family crash ...]

The program is `examples/website_operator.py`, with leader election: two Websites are created, one of them is changed
and deleted. It has no known bugs, so no time is spent on making findings smaller. Prints one line of JSON for each
family: the plans that were run, how many of them had no effect, the findings, and the CPU seconds for the plans, with
the three runs without perturbations that are made first (``reference_s``) taken out.
"""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import dynkube
from benchmarks.measure import report
from dynkube.controllers import LeaderElection, run
from dynkube_testing import FAMILIES, PerturbationReport, PerturbedRun, perturb
from examples.website_operator import websites

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "websites.yaml"
START = datetime(2026, 1, 1, tzinfo=UTC)


async def operator(client: dynkube.Client) -> None:
    """Run the example until it is cancelled."""
    election = LeaderElection("websites", namespace="default")
    await run(client, websites, election=election, shutdown_timeout=0, random=Random(0), now=lambda: START)


async def scenario(run: PerturbedRun) -> None:
    """Create two Websites, change one, and delete it."""
    run.server.load(EXAMPLE)
    run.start(operator)
    for name in ("shop", "blog"):
        run.server.create(website(name, replicas=1))
    await run.settle()
    run.server.apply(website("shop", replicas=3))
    await run.settle()
    run.server.delete("websites", "shop")
    await run.settle()


def website(name: str, **spec: object) -> dict[str, object]:
    """Return a Website."""
    return {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": name}, "spec": spec}


def measured(plans: int, seed: int, families: list[str]) -> PerturbationReport:
    """Run plans of some families; the duration in the report is CPU time."""
    return perturb(scenario, plans=plans, seed=seed, families=families, clock=time.process_time)


def main() -> None:
    """Measure each family."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", action="append", choices=FAMILIES, default=None)
    options = parser.parse_args()
    measured(1, options.seed, ["conflict"])  # imports, and caches of schemas
    for family in options.family or FAMILIES:
        one, found = (measured(plans, options.seed, [family]) for plans in (1, options.plans))
        cost = (found.seconds - one.seconds) / max(1, found.plans - one.plans)
        report(
            benchmark="perturbation",
            family=family,
            plans=found.plans,
            no_effect=found.no_effect,
            findings=len(found.findings),
            plans_per_cpu_s=1 / cost,
            reference_s=one.seconds - cost,
        )


if __name__ == "__main__":
    main()
