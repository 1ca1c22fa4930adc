"""Layer 0: rendering for notebooks and terminals.

Plain data in, text or HTML out; no I/O. A class inherits from :class:`Shown` and returns a :class:`Card` of its data;
views shared by several classes are here too. Start reading in ``cards.py``. Most programs render nothing, so everything
except :class:`Shown` is loaded on first use: import it in the function that makes a card.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dynkube._display.bounds import bounded
    from dynkube._display.cards import (
        Block,
        Bullets,
        Card,
        Chips,
        Code,
        Facts,
        Grid,
        Line,
        Note,
        Section,
        Span,
        Tone,
        line,
        muted,
    )
    from dynkube._display.definitions import definition_versions
    from dynkube._display.health import condition_chips, object_age, object_health
    from dynkube._display.lists import Column, common, ends, list_card, object_columns
    from dynkube._display.objects import object_card, unreadable_card
    from dynkube._display.pills import pill
    from dynkube._display.text import plain
    from dynkube._display.trees import tree_rows
    from dynkube._display.values import DEFAULT, Limits, inline, yaml_code

# The modules that have the names, in the order of lookup: from small, common ones to those that import the others.
_HOMES: Final = (
    "cards",
    "bounds",
    "pills",
    "text",
    "values",
    "trees",
    "health",
    "lists",
    "definitions",
    "objects",
)

__all__ = [
    "DEFAULT",
    "Block",
    "Bullets",
    "Card",
    "Chips",
    "Code",
    "Column",
    "Facts",
    "Grid",
    "Limits",
    "Line",
    "Note",
    "Section",
    "Span",
    "Tone",
    "bounded",
    "common",
    "condition_chips",
    "definition_versions",
    "ends",
    "inline",
    "line",
    "list_card",
    "muted",
    "object_age",
    "object_card",
    "object_columns",
    "object_health",
    "pill",
    "plain",
    "tree_rows",
    "unreadable_card",
    "yaml_code",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        for home in _HOMES:
            module = import_module(f"dynkube._display.{home}")
            if name in vars(module):
                value: object = vars(module)[name]
                globals()[name] = value
                return value
    raise AttributeError(f"module 'dynkube._display' has no attribute {name!r}")
