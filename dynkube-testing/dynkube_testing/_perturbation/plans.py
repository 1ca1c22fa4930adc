"""Plans: which perturbations happen in a run, and when; as text that can be parsed back."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Self

from dynkube.errors import InvalidInput

_CALL = re.compile(r"\s*([a-z_]+)\s*\(([^()]*)\)\s*\Z")


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One perturbation of a run; its text is like ``crash(at=3, how=processed, seconds=5)``.

    Attributes:
        family: What happens: a name in :data:`dynkube_testing.FAMILIES`.
        at: When it begins: at this request of the program, or at this event, counted from 1. The family says which
            requests are counted.
        resource: The resource that is affected, as ``PLURAL.GROUP``, if the family affects one.
        how: A variant of the family.
        back: How many writes of the program ago the moment is that a stale server shows.
        seconds: How long it lasts, in virtual seconds.
    """

    family: str
    at: int
    resource: str = ""
    how: str = ""
    back: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        given = [(each.name, getattr(self, each.name)) for each in fields(self)[1:]]
        return f"{self.family}({', '.join(f'{name}={_text(value)}' for name, value in given if value)})"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the text of a perturbation.

        Raises:
            InvalidInput: The text is malformed.
        """
        if (call := _CALL.match(text)) is None:
            raise InvalidInput(f"{text!r} is not a perturbation: write it like 'crash(at=3, seconds=5)'")
        pairs = [part.partition("=")[::2] for part in call[2].split(",") if part.strip()]
        given = {name.strip(): value.strip() for name, value in pairs}
        kinds = {"at": int, "resource": str, "how": str, "back": int, "seconds": float}
        try:
            values = {name: kinds[name](value) for name, value in given.items()}
        except KeyError as error:
            raise InvalidInput(f"{text!r}: unknown argument {error}; known are {', '.join(kinds)}") from None
        except ValueError as error:
            raise InvalidInput(f"{text!r}: {error}") from None
        if values.get("at", 0) < 1:
            raise InvalidInput(f"{text!r}: at must be 1 or more")
        return cls(call[1], **values)


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class PerturbationPlan:
    """What happens in one run; its text is like ``crash(at=3, seconds=5) + lag(at=1, resource=pods, seconds=30)``.

    Attributes:
        perturbations: They are independent of each other. Without any, the run is a reference.
        seed: Seed of the server, of the clients' delays and of trio's scheduler.
    """

    perturbations: tuple[Perturbation, ...] = ()
    seed: int = 0

    def __str__(self) -> str:
        text = " + ".join(map(str, self.perturbations)) or "nothing"
        return f"{text} # seed {self.seed}" if self.seed else text

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the text of a plan.

        Raises:
            InvalidInput: The text is malformed.
        """
        body, _, comment = text.partition("#")
        seed = comment.strip().removeprefix("seed").strip() or "0"
        if not seed.isdecimal():
            raise InvalidInput(f"{text!r}: {comment.strip()!r} is not a seed: write '# seed 7'")
        parts = [] if body.strip() == "nothing" else body.split("+")
        return cls(tuple(map(Perturbation.parse, parts)), int(seed))
