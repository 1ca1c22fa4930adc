"""Fuzz one target for some time: ``python -m tests.fuzzing patches --seconds 900``.

With atheris installed (``pip install atheris``) inputs are guided by the coverage of ``dynkube``; without it they are
random. The first failure ends the run; hypothesis prints its input, and simplifies it first if inputs are random.
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

_BATCH = 500  # examples between two checks of the time
_CHOICES = 8192  # bytes of random choices for one example


def main() -> None:
    """Fuzz the target of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", help="connections, responses, yaml, patches or schemas")
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
    atheris: Any = importlib.import_module("atheris")  # optional: only Linux has wheels
    with atheris.instrument_imports(include=["dynkube", "dynkube_testing"]):
        from tests.fuzzing.targets import TARGETS
    target = TARGETS[name]
    check = _property(target.inputs, target.check, 1)
    # An example takes some hundred bytes of choices. By default libFuzzer starts with one byte, and had reached 11
    # after ten minutes.
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
