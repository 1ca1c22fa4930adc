"""Runs many plans against the zoo: ``python -m tests.testing.perturbation.zoo --plans 10000 [NAME ...]``."""

from __future__ import annotations

import argparse
import sys
import time

from dynkube_testing import perturb
from tests.testing.perturbation.zoo.catalog import BUGS


def main() -> int:
    """Say which plan finds each bug first, and whether its fixed twin passes all plans; return an exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*BUGS], metavar="NAME", help=", ".join(BUGS))
    parser.add_argument("--plans", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    failed = False
    for name in arguments.names:
        bug = BUGS[name]
        hunt = perturb(bug.with_bug, plans=arguments.plans, seed=arguments.seed, max_findings=1)
        first = f"plan {hunt.plans}: {hunt.findings[0].plan}" if hunt.findings else "NOT FOUND"
        print(f"{name}: {first}", flush=True)
        begun = time.process_time()
        report = perturb(
            bug.without_bug, plans=arguments.plans, seed=arguments.seed, families=bug.families, max_findings=20
        )
        spent = time.process_time() - begun
        print(f"  fixed: {report.plans} plans, {report.plans / spent:.0f} a second, {report.no_effect} without effect")
        for finding in report.findings:
            print(f"  FALSE ALARM, {finding}")
        failed |= bool(report.findings) or not hunt.findings
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
