"""Plays random scripts: ``python -m tests.controllers.model --seeds 0-9999 --jobs 2``, or one seed with its trace.

Each seed is one script. With ``--examples N`` each seed stands for N scripts: those of the seeds from N times it on.
``--replay SEED`` plays one script, shortens it if it fails, and prints it with all that has happened in it.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.controllers.model.scripts import Played, choose, play, shortened

_CHUNK = 20


def main() -> int:
    """Play the scripts; the exit status is the number of failures, at most 99."""
    parser = argparse.ArgumentParser(prog="python -m tests.controllers.model", description=__doc__)
    parser.add_argument("--seeds", type=_seeds, default=range(1000), metavar="FIRST-LAST")
    parser.add_argument("--examples", type=int, default=1, metavar="N", help="scripts for each seed")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that share the scripts")
    parser.add_argument("--replay", type=int, metavar="SEED", help="play one script, and print what happens")
    options = parser.parse_args()
    if options.replay is not None:
        return replay(options.replay)
    seeds = [seed * options.examples + part for seed in options.seeds for part in range(options.examples)]
    chunks = [seeds[at : at + _CHUNK] for at in range(0, len(seeds), _CHUNK)]
    began, failed, calls, writes, cpu = time.monotonic(), 0, 0, 0, 0.0
    with ProcessPoolExecutor(options.jobs) as pool:
        for number, (found, seconds) in enumerate(pool.map(_play_all, chunks), 1):
            cpu += seconds
            for seed, played in found:
                calls, writes = calls + played.calls, writes + played.writes
                failed += bool(played.wrong)
                if played.wrong:
                    print(
                        f"seed {seed}: {played.wrong[0]}\n  python -m tests.controllers.model --replay {seed}",
                        flush=True,
                    )
            if number % 25 == 0:
                print(f"{time.monotonic() - began:7.0f} s  {number * _CHUNK} scripts, {failed} failures", flush=True)
    print(
        f"{len(seeds)} scripts, {failed} failures, {calls} calls, {writes} writes, "
        f"{cpu / max(1, len(seeds)):.2f} s of CPU for each"
    )
    return min(failed, 99)


def _play_all(seeds: list[int]) -> tuple[list[tuple[int, Played]], float]:
    logging.disable()  # failures are expected
    began = time.process_time()
    found = []
    for seed in seeds:
        played = play(choose(seed))
        played.trace.clear()
        found.append((seed, played))
    return found, time.process_time() - began


def replay(seed: int) -> int:
    """Play one script, and print it, shortened if it fails, with its trace."""
    logging.disable()
    script = choose(seed)
    if wrong := play(script).wrong:
        kind = wrong[0].split()[0]
        script = shortened(script, lambda each: any(kind in found for found in play(each).wrong))
    played = play(script)
    print(script)
    print("\n".join(_lines(played)))
    return int(bool(played.wrong))


def _lines(played: Played) -> Iterator[str]:
    yield from played.trace
    yield from (f"WRONG: {each}" for each in played.wrong) if played.wrong else ["nothing was wrong"]


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is a part of what is replayed
        os.execve(
            sys.executable,
            [sys.executable, "-m", "tests.controllers.model", *sys.argv[1:]],
            {**os.environ, "PYTHONHASHSEED": "0"},
        )
    sys.exit(main())
