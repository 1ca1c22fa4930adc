"""Floor 0: how things show themselves, in notebooks and terminals. Plain data in, text out; no I/O.

A class becomes :class:`Shown` and makes a :class:`Card` of what it has; views that several classes need are here too.
Start reading in ``cards.py``. Most programs show nothing, so all but :class:`Shown` is loaded when it is first used:
import it where a card is made.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from dynkube._display.shown import Shown

if TYPE_CHECKING:
    from dynkube._display.ages import age_of, duration_text
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
    from dynkube._display.lists import Column, list_card, object_columns
    from dynkube._display.objects import object_card, unreadable_card
    from dynkube._display.pills import pill
    from dynkube._display.tables import Table, json_cell, printable, shortened
    from dynkube._display.text import plain
    from dynkube._display.trees import tree_rows
    from dynkube._display.values import DEFAULT, Limits, inline, yaml_code
    from dynkube._display.words import Aside, counted, short, size_text

_HOMES: Final[dict[str, tuple[str, ...]]] = {
    "ages": ("age_of", "duration_text"),
    "cards": (
        "Block",
        "Bullets",
        "Card",
        "Chips",
        "Code",
        "Facts",
        "Grid",
        "Line",
        "Note",
        "Section",
        "Span",
        "Tone",
        "line",
        "muted",
    ),
    "definitions": ("definition_versions",),
    "health": ("condition_chips", "object_age", "object_health"),
    "lists": ("Column", "list_card", "object_columns"),
    "objects": ("object_card", "unreadable_card"),
    "pills": ("pill",),
    "tables": ("Table", "json_cell", "printable", "shortened"),
    "text": ("plain",),
    "trees": ("tree_rows",),
    "values": ("DEFAULT", "Limits", "inline", "yaml_code"),
    "words": ("Aside", "counted", "short", "size_text"),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "DEFAULT",
    "Aside",
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
    "Shown",
    "Span",
    "Table",
    "Tone",
    "age_of",
    "condition_chips",
    "counted",
    "definition_versions",
    "duration_text",
    "inline",
    "json_cell",
    "line",
    "list_card",
    "muted",
    "object_age",
    "object_card",
    "object_columns",
    "object_health",
    "pill",
    "plain",
    "printable",
    "short",
    "shortened",
    "size_text",
    "tree_rows",
    "unreadable_card",
    "yaml_code",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'dynkube._display' has no attribute {name!r}")
    value: object = getattr(import_module(f"dynkube._display.{home}"), name)
    globals()[name] = value
    return value
