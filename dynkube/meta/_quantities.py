"""Quantities: ``"250m"`` of a core, ``"1.5Gi"`` of memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final

_QUANTITY: Final = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([eE][+-]?[0-9]{1,2})|([numkMGTPE]|[KMGTPE]i)?)\Z"
)
_FACTORS: Final[Mapping[str, Fraction]] = {
    "": Fraction(1),
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
    **{suffix: Fraction(1, 1000) ** power for power, suffix in enumerate("mun", 1)},
}
_LONGEST: Final = 60  # characters of a quantity


def quantity(text: object) -> Fraction | None:
    """Return the number that a quantity stands for (``"250m"``, ``"1.5Gi"``, ``2``); ``None`` if it is malformed."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        text = str(text)
    found = _QUANTITY.match(text) if isinstance(text, str) and len(text) <= _LONGEST else None
    if found is None:
        return None
    number, exponent, suffix = found.groups()
    return Fraction(Decimal(f"{number}{exponent or ''}")) * _FACTORS[suffix or ""]
