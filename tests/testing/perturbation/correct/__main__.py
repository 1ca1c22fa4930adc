"""Many plans over correct controllers: ``python -m tests.testing.perturbation.correct --plans 3000 [NAME ...]``."""

from __future__ import annotations

import argparse
import sys
import time

from dynkube_testing import perturb
from tests.testing.perturbation.correct.catalog import CORRECT


def main() -> int:
    """Print each false alarm, and the number of plans; return an exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*CORRECT], metavar="NAME", help=", ".join(CORRECT))
    parser.add_argument("--plans", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    alarms = 0
    for name in arguments.names:
        begun = time.process_time()
        report = perturb(CORRECT[name], plans=arguments.plans, seed=arguments.seed, max_findings=20)
        spent = time.process_time() - begun
        alarms += len(report.findings)
        print(
            f"{name}: {report.plans} plans, {report.plans / spent:.0f} a second, {report.no_effect} without effect, "
            f"{len(report.findings)} false alarms",
            flush=True,
        )
        for finding in report.findings:
            print(f"  FALSE ALARM, {finding}", flush=True)
    return int(alarms > 0)


if __name__ == "__main__":
    sys.exit(main())
