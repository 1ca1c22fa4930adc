"""Ranges of costs and sizes, which grow up to the largest unsigned integer of 64 bits."""

from __future__ import annotations

import math
from typing import NamedTuple

MOST = 2**64 - 1


class Range(NamedTuple):
    """The smallest and the largest possible cost or size."""

    low: int
    high: int

    @classmethod
    def exactly(cls, value: int) -> Range:
        return cls(value, value)

    def plus(self, *others: Range) -> Range:
        low, high = self
        for other in others:
            low, high = min(low + other.low, MOST), min(high + other.high, MOST)
        return Range(low, high)

    def multiplied(self, other: Range) -> Range:
        return Range(min(self.low * other.low, MOST), min(self.high * other.high, MOST))

    def factor(self, factor: float) -> Range:
        """Return the range multiplied by a number, rounded up."""
        return Range(_factor(self.low, factor), _factor(self.high, factor))

    def union(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))


def _factor(value: int, factor: float) -> int:
    product = math.ceil(float(value) * factor)
    return product if product < 2**64 else MOST


UNKNOWN = Range(0, MOST)
NOTHING = Range(0, 0)
ONE = Range(1, 1)
