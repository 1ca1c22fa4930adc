"""Runs the whole campaign: ``make model``, or ``python -m tests.informers.model --seeds 0-49 --examples 200``."""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Final

from tests.informers.model.availability import AvailabilityMachine
from tests.informers.model.campaign import SEEDS, STEPS, Tally, play
from tests.informers.model.finding import BUGS, find, recorded, title
from tests.informers.model.machine import InformerMachine
from tests.informers.model.scripted import ScriptedMachine
from tests.informers.model.seeded_bugs import Bug
from tests.informers.model.sets import RacingSetMachine, SetMachine

MACHINES: Final[Mapping[str, type[ScriptedMachine]]] = {
    "informers": InformerMachine,
    "availability": AvailabilityMachine,
    "sets": SetMachine,
    "races": RacingSetMachine,
}


def main(argv: list[str] | None = None) -> int:
    """Run the campaign and print its progress.

    The exit status is the number of seeds with a finding, or of bugs that were not found, at most 99.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.informers.model", description=__doc__)
    parser.add_argument("--machine", choices=sorted(MACHINES), default="informers", help="which scripts to play")
    parser.add_argument("--seeds", type=_seeds, default=SEEDS, metavar="FIRST-LAST", help="recorded: 0-49")
    parser.add_argument("--examples", type=int, default=200, metavar="N", help="whole examples from each seed")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that share the seeds")
    parser.add_argument("--bugs", action="store_true", help="find each seeded bug again instead")
    options = parser.parse_args(argv)
    if options.bugs:
        return min(_find_bugs_again(options.jobs), 99)
    began, total, failed = time.monotonic(), Tally(), 0
    with ProcessPoolExecutor(options.jobs) as pool:
        runs = {pool.submit(_play, options.machine, seed, options.examples): seed for seed in options.seeds}
        for played, run in enumerate(as_completed(runs), 1):
            tally, script = run.result()
            total += tally
            failed += bool(script)
            at = f"{time.monotonic() - began:7.1f} s  {played}/{len(runs)}"
            print(f"{at}  seed {runs[run]}: {script or tally}", flush=True)
    print(f"{total} (of {STEPS}), {failed} seeds with violations, {time.monotonic() - began:.0f} s")
    return min(failed, 99)


def _play(machine: str, seed: int, examples: int) -> tuple[Tally, str]:
    """Play until this many examples were complete; return the script of the finding, if any."""
    logging.disable()  # failures are expected here, and logging them takes longer than causing them
    total, part = Tally(), 0
    try:
        while total.whole < examples:
            total += play(MACHINES[machine], seed * 1000 + part, examples - total.whole)
            part += 1
    except Exception as exc:
        return total, "".join(traceback.format_exception(exc))
    return total, ""


def _find_bugs_again(jobs: int) -> int:
    """Return how many seeded bugs random scripts did not find."""
    missed = 0
    with ProcessPoolExecutor(jobs) as pool:
        searches = {pool.submit(_find_again, bug): title(bug) for bug in BUGS}
        for search in as_completed(searches):
            seed = search.result()
            missed += seed is None
            print(f"{searches[search]}: {'not found' if seed is None else f'found from seed {seed}'}", flush=True)
    return missed


def _find_again(bug: Bug) -> int | None:
    """Return the seed that finds the bug; another release of hypothesis plays other scripts, so a later one may."""
    logging.disable()
    first = recorded()[title(bug)].seed
    found = find(BUGS[bug], bug, range(first, first + 40), shrinking=False)
    return found.seed if found else None


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    sys.exit(main())
