"""Runs the whole sweep and writes docs/transient-answers.md: ``python -m tests.sweep``."""

from __future__ import annotations

import argparse
import re
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from tests.sweep.lab import Scenario
from tests.sweep.scenarios import every
from tests.sweep.sweep import sample, sweep
from tests.sweep.table import PAGE, Result, page, violations


def main(argv: list[str] | None = None) -> int:
    """Play the scenarios and print what is wrong; the exit status is 1 if anything is."""
    parser = argparse.ArgumentParser(prog="python -m tests.sweep", description=__doc__)
    parser.add_argument("features", nargs="*", help="only features that match one of these regular expressions")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--sample", action="store_true", help="each answer at one request only, as in the test suite")
    parser.add_argument("--all", action="store_true", help="print every outcome, and not only what is wrong")
    options = parser.parse_args(argv)
    began = time.monotonic()
    chosen = [index for index, each in enumerate(every()) if _is_chosen(each, options.features)]
    with ProcessPoolExecutor(options.jobs) as pool:
        runs = [pool.submit(_sweep, index, options.sample) for index in chosen]
        results: list[Result] = []
        for run in runs:
            found = run.result()
            results += found
            for text in map(str, found) if options.all else violations(found):
                print(text, flush=True)
    wrong = sum(each.wrong for each in results)
    print(f"{len(chosen)} features, {len(results)} runs, {wrong} wrong, {time.monotonic() - began:.0f} s")
    if not options.features and not options.sample:
        PAGE.write_text(page(results), encoding="utf-8")
    return min(wrong, 1)


def _is_chosen(scenario: Scenario, patterns: list[str]) -> bool:
    return not patterns or any(re.search(each, scenario.feature) for each in patterns)


def _sweep(index: int, only_sample: bool) -> list[Result]:
    scenario = every()[index]
    return sample(scenario) if only_sample else list(sweep(scenario))


if __name__ == "__main__":
    sys.exit(main())
