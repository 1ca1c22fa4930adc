"""Strategies for values that are mostly valid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

Draw: TypeAlias = st.DrawFn
Values: TypeAlias = st.SearchStrategy[Any]


def rarely(draw: Draw, one_in: int) -> bool:
    """Return true once in so many times; hypothesis shrinks it to false."""
    return draw(st.integers(0, one_in - 1)) == one_in - 1


def mostly(good: Sequence[Any], rare: Sequence[Any]) -> Values:
    """Return a strategy for one of the good values, and in about one of twenty cases a rare one."""
    return st.sampled_from([*good] * (20 * len(rare) // len(good) + 1) + [*rare])


def fields(**named: Values) -> Values:
    """Return a strategy for a dictionary with some of these."""
    return st.lists(st.sampled_from(sorted(named)), max_size=5, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({name: named[name] for name in chosen})
    )
