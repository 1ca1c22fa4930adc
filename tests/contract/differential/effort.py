"""The number of sequences that a run plays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import hypothesis

from tests.contract.differential.side_by_side import Difference

_Test = TypeVar("_Test", bound=Callable[..., None])
_USUAL_EXAMPLES = 30
_BESIDE_ITSELF = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The usual run plays the same few sequences each time; a *survey* plays a given number of new ones.

    Attributes:
        examples: the number of sequences of a survey for each area; ``None`` for the usual run.
        seed_number: the seed of a survey; the same seed gives the same sequences.
    """

    examples: int | None
    seed_number: int

    @property
    def survey(self) -> bool:
        """Whether to continue after a difference, in order to find all of them."""
        return self.examples is not None

    def settings(self, *, itself: bool) -> hypothesis.settings:
        """Return hypothesis settings; ``itself``: compare the embedded server with itself, which needs few examples."""
        phases = [hypothesis.Phase.generate] + ([] if self.survey else [hypothesis.Phase.shrink])
        return hypothesis.settings(
            max_examples=self.examples or (_BESIDE_ITSELF if itself else _USUAL_EXAMPLES),
            derandomize=not self.survey,
            phases=phases,
            database=None,
            deadline=None,
            suppress_health_check=list(hypothesis.HealthCheck),
        )

    def seed(self, test: _Test) -> _Test:
        return hypothesis.seed(self.seed_number)(test) if self.survey else test

    def report(self, found: Mapping[str, Difference]) -> str:
        """Return a text with each kind of difference, and the first script that showed it."""
        shown = "\n\n".join(f"── {number}. {each}" for number, each in enumerate(found.values(), 1))
        return f"{len(found)} kinds of difference (--differential-seed {self.seed_number}):\n\n{shown}"
