"""Perturbs operators on kopf and on controller-runtime over TCP, each with a bug and without it.

    python -m tests.testing.perturbation.operators [--plans 20] [--seed 1] [kopf] [controller-runtime]

The one on controller-runtime is built first, which needs Go and takes minutes the first time. A plan takes 10 to 20
seconds, of which the program works for one or two. Exits with 1 if a bug is not found, or if one is found that is not
there.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from dynkube_testing import perturb
from tests.testing.perturbation.kit import Scenario
from tests.testing.perturbation.operators.scenarios import GO_PROGRAM, controller_runtime, kopf

OPERATORS = ("kopf", "controller-runtime")


def try_both(name: str, scenarios: dict[str, Scenario], plans: int, seed: int) -> bool:
    """Perturb an operator with its bug and without it; return whether only the bug was found."""
    right = True
    for ships, scenario in scenarios.items():
        report = perturb(scenario, plans=plans, seed=seed, max_findings=1, real_time=True)
        print(f"{name}, ships {ships}: {report}", flush=True)
        right = right and bool(report.findings) == (ships == "generated")
    return right


def main() -> None:
    """Parse the command line, and perturb the operators one after the other."""
    parser = argparse.ArgumentParser(description="Perturb operators over TCP.")
    parser.add_argument("operators", nargs="*", default=[], help=f"some of {', '.join(OPERATORS)}; default: all")
    parser.add_argument("--plans", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    right = True
    for name in options.operators or OPERATORS:
        with TemporaryDirectory() as folder:
            program = Path(folder, "fleet")
            if name == "controller-runtime":
                subprocess.run(["go", "build", "-o", str(program), "."], cwd=GO_PROGRAM, check=True)
            names = ("generated", "named")
            scenarios = {each: kopf(each) if name == "kopf" else controller_runtime(each, program) for each in names}
            right = try_both(name, scenarios, options.plans, options.seed) and right
    sys.exit(0 if right else 1)


if __name__ == "__main__":
    main()
