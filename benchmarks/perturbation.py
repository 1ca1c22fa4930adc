"""How many plans of perturbation testing are run in a second, for each family.

    python -m benchmarks.perturbation [--plans 50] [--seed 0]

The program is the operator of ``examples/website_operator.py``, with a Website that is created, changed and deleted:
three times 300 quiet virtual seconds. Prints a line of JSON for each family: the number of plans, the milliseconds of
CPU for each, and how many that makes in a second of one core; ``for_10000_s`` is what 10,000 of them take. The runs
without perturbations are counted too.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import dynkube
from benchmarks.measure import ROOT, report
from dynkube.controllers import run
from dynkube_testing import FAMILIES, PerturbedRun, perturb
from examples.website_operator import websites

_WEBSITES = Path(ROOT) / "examples" / "websites.yaml"


async def operate(client: dynkube.Client) -> None:
    """Run the operator."""
    await run(client, websites, shutdown_timeout=0)


async def scenario(perturbed: PerturbedRun) -> None:
    """Create, change and delete a Website."""
    site = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": "shop"}, "spec": {"replicas": 2}}
    perturbed.server.load(_WEBSITES)
    perturbed.start(operate)
    perturbed.server.create(site)
    await perturbed.settle()
    perturbed.server.apply({**site, "spec": {"theme": "dark", "replicas": 3}})
    await perturbed.settle()
    perturbed.server.delete("websites", "shop")
    await perturbed.settle()


def main() -> None:
    """Measure each family."""
    parser = argparse.ArgumentParser(description="Measure perturbation testing.")
    parser.add_argument("--plans", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for family in FAMILIES:
        if family == "lost_lease":
            continue  # the operator has no Lease
        begun = time.process_time()
        found = perturb(scenario, plans=options.plans, seed=options.seed, families=[family])
        each = (time.process_time() - begun) / (found.plans + 3)
        report(
            family=family,
            plans=found.plans,
            findings=len(found.findings),
            cpu_ms=1000 * each,
            a_second=1 / each,
            for_10000_s=10_000 * each,
        )


if __name__ == "__main__":
    main()
