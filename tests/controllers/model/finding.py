"""Says after how many scripts each seeded bug is found: ``python -m tests.controllers.model.finding [NAME ...]``."""

from __future__ import annotations

import argparse
import logging
import sys
from dataclasses import dataclass

import pytest

from tests.controllers.model.scripts import Script, choose, play, shortened
from tests.controllers.model.seeded_bugs import SEEDED, Bug


@dataclass(frozen=True, slots=True)
class Found:
    """The script that has found a bug, its number, and what was wrong."""

    scripts: int
    script: Script
    wrong: str


def find(bug: Bug, seeds: range) -> Found | None:
    """Play scripts with a bug until one fails; ``None`` if none fails."""
    with pytest.MonkeyPatch.context() as patch:
        bug(patch)
        for number, seed in enumerate(seeds, 1):
            script = choose(seed)
            if wrong := play(script).wrong:
                return Found(number, script, wrong[0])
    return None


def shortest(bug: Bug, script: Script) -> Script:
    """Return what is left of a script that finds a bug."""
    with pytest.MonkeyPatch.context() as patch:
        bug(patch)
        return shortened(script, lambda each: bool(play(each).wrong))


def main() -> int:
    """Search for the bugs; the exit status is the number of those that were not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.controllers.model.finding", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="functions of seeded_bugs.py; default: all")
    parser.add_argument("--most", type=int, default=1000, metavar="N", help="scripts for each bug")
    parser.add_argument("--shorten", action="store_true", help="print the script, shortened")
    options = parser.parse_args()
    logging.disable()
    missed = 0
    for bug in SEEDED:
        if options.names and bug.__name__ not in options.names:
            continue
        found = find(bug, range(options.most))
        missed += found is None
        shown = "not found" if found is None else f"after {found.scripts} scripts: {found.wrong}"
        print(f"{bug.__name__}: {shown}", flush=True)
        if found is not None and options.shorten:
            print(shortest(bug, found.script), flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(main())
