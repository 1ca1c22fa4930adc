"""Plays random scripts from a seed, and counts the examples and steps that were really run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.stateful import run_state_machine_as_test

from tests.informers.model.scripted import ScriptedMachine
from tests.informers.model.shrinking import script_of, shrink

STEPS: Final = 50
"""Rules run in each example, without the start and the final settling."""

SEEDS: Final = range(50)
"""The seeds of the recorded campaign; each plays at least 200 examples."""

CI_SEEDS: Final = range(1000, 1004)
"""The seeds that every run of the tests plays, with fewer examples each."""


@dataclass(slots=True)
class Tally:
    """What was played: examples that ran all their steps, shorter ones, and the total of steps."""

    whole: int = 0
    cut: int = 0
    steps: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.whole + other.whole, self.cut + other.cut, self.steps + other.steps)

    def __str__(self) -> str:
        return f"{self.whole} examples of all steps, {self.cut} shorter ones, {self.steps} steps"


def play(
    machine: type[ScriptedMachine], seed: int, examples: int, *, steps: int = STEPS, shrinking: bool = True
) -> Tally:
    """Play about ``examples`` scripts of ``steps`` steps each; the same seed gives the same scripts.

    hypothesis varies scripts by repeating and leaving out parts of earlier ones, which makes some of them shorter.

    Raises:
        AssertionError: a promise was broken; the last note of the exception has the shrunk script. Any other exception
            in the world is raised unchanged, with such a note.
    """
    tally = Tally()

    class Counted(machine):  # type: ignore[misc, valid-type]
        def teardown(self) -> None:
            super().teardown()
            tally.whole += self.steps >= steps
            tally.cut += self.steps < steps
            tally.steps += self.steps

    Counted.__name__ = machine.__name__  # for scripts
    try:
        with _constant_free():
            run_state_machine_as_test(hypothesis.seed(seed)(Counted), settings=_settings(examples, steps))
    except Exception as error:
        script = shrink(machine, script_of(error)) if shrinking else script_of(error)
        error.add_note("\n".join(["Shrunk:", *script, "state.teardown()"]))
        raise
    return tally


@contextmanager
def _constant_free() -> Iterator[None]:
    """Keep hypothesis from using constants of the loaded modules, which would make a seed depend on them.

    There is no public setting for this.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(providers, "_get_local_constants", Constants)
        yield


def _settings(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps + 1,  # the first step is the start
        phases=(Phase.generate,),
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
