"""Fuzz one target for some time: ``python -m tests.fuzzing patches --seconds 900``.

With atheris installed (``pip install atheris``) inputs are found by the coverage of ``dynkube``; without it they are
drawn at random. What fails ends the run: the input is printed by hypothesis, which also simplifies it where atheris
does not do the drawing.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import time
from typing import Any

import hypothesis
from hypothesis import HealthCheck, given

_BATCH = 500  # examples between two looks at the clock
_CHOICES = 8192  # bytes of choices that one example may take


def main() -> None:
    """Fuzz what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", help="connections, answers, yaml, patches or schemas")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random", action="store_true", help="without atheris, also where it is installed")
    given_arguments = parser.parse_args()
    if not given_arguments.random and importlib.util.find_spec("atheris") is not None:
        _by_coverage(given_arguments.target, given_arguments.seconds, given_arguments.seed)
    else:
        _at_random(given_arguments.target, given_arguments.seconds, given_arguments.seed)


def _at_random(name: str, seconds: float, seed: int) -> None:
    from tests.fuzzing.targets import TARGETS

    target, end, tried = TARGETS[name], time.monotonic() + seconds, 0
    while time.monotonic() < end:
        hypothesis.seed(seed + tried)(_property(target.inputs, target.check, _BATCH))()
        tried += _BATCH
    print(f"{name}: {tried} examples at random, no finding")


def _by_coverage(name: str, seconds: float, seed: int) -> None:
    atheris: Any = importlib.import_module("atheris")  # optional: there are wheels for Linux alone
    with atheris.instrument_imports(include=["dynkube"]):
        from tests.fuzzing.targets import TARGETS
    target = TARGETS[name]
    check = _property(target.inputs, target.check, 1)
    # An example takes some hundred bytes of choices. Left alone, libFuzzer begins with one byte; after ten minutes it
    # had come to 11.
    options = [f"-max_total_time={seconds:.0f}", f"-seed={seed}", "-len_control=0", f"-max_len={_CHOICES}"]
    atheris.Setup([sys.argv[0], *options], check.hypothesis.fuzz_one_input)
    atheris.Fuzz()


def _property(inputs: Any, check: Any, examples: int) -> Any:
    @hypothesis.settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=False
    )
    @given(inputs)
    def no_input_is_a_finding(given_input: Any) -> None:
        check(given_input)

    return no_input_is_a_finding


if __name__ == "__main__":
    main()
