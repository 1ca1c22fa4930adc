"""How much a run tries."""

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
    """The usual run plays the same few sequences each time; a survey as many new ones as it is told to.

    Attributes:
        examples: Sequences for each area, of a survey; ``None`` for the usual run.
        seed_number: Of a survey; the same number gives the same sequences.
    """

    examples: int | None
    seed_number: int

    @property
    def survey(self) -> bool:
        """Whether to go on after a difference, in order to find all there are."""
        return self.examples is not None

    def settings(self, *, itself: bool) -> hypothesis.settings:
        """Those of hypothesis; the embedded server beside ``itself`` only shows that the comparison works."""
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
        """All kinds of difference, each by its shortest script."""
        shown = "\n\n".join(f"── {number}. {each}" for number, each in enumerate(found.values(), 1))
        return f"{len(found)} kinds of difference (--differential-seed {self.seed_number}):\n\n{shown}"
