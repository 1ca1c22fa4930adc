"""What stands in the way of a server-side apply, field by field: read from a Status, and shown to people.

The server says which field and which manager; since when the manager holds it, our value and the live one it does
not say. Who sent the apply can add those. The words of a cause are those of apimachinery's field manager, from
v1.20 to v1.36: ``conflict with "kubectl" with subresource "status" using apps/v1 at 2024-05-01T10:00:00Z``, where
the version is said of an Update only, the subresource since v1.22, and the time by some older servers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypedDict, final

from dynkube._display import Table, json_cell, printable
from dynkube.errors._status import StatusCause

if TYPE_CHECKING:
    from dynkube._display import Card, Line

_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_WHO = re.compile(rf"conflict with {_QUOTED}(?: with subresource {_QUOTED})?(?: using (\S+))?(?: at (\S+))?")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_COLUMNS = ("FIELD", "YOURS", "LIVE", "MANAGER", "OPERATION", "SINCE")
_MOST_IN_MESSAGE = 10
_VALUE_WIDTH = 40
_ROWS = 100


@final
class _Unread:
    """Type of :data:`UNREAD`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNREAD"

    def __reduce__(self) -> str:
        return "UNREAD"


UNREAD: Final = _Unread()
"""In a :class:`FieldConflict`, a value that nobody looked up, or that could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldConflict:
    """One field that another manager owns with another value.

    Attributes:
        path: which field, as a person writes it: ``.spec.containers[name="web"].image``.
        manager: who owns it.
        operation: how it came to own it: ``"Apply"``, or ``"Update"`` for any other write; ``""`` where the server
            said so in words that are not known, which ``manager`` has then.
        subresource: through which subresource; ``""`` for the object itself.
        api_version: which version of the API the manager wrote. Of an Apply only the live object tells.
        time: when the manager last changed its fields; ``None`` where nobody told.
        ours: the value that was to be applied, or :data:`UNREAD`. Of a Secret's data it is ``"***"``.
        live: the value in the live object, likewise.
    """

    path: str
    manager: str
    operation: str = "Update"
    subresource: str = ""
    api_version: str = ""
    time: datetime | None = None
    # Values may be dicts, which have no hash; equal conflicts still have equal hashes.
    ours: object = field(default=UNREAD, hash=False)
    live: object = field(default=UNREAD, hash=False)

    def __str__(self) -> str:
        values = "" if self.ours is UNREAD else f"yours {_cell(self.ours)}, "
        values += "" if self.live is UNREAD else f"live {_cell(self.live)}, "
        since = f" since {_time(self.time)}" if self.time else ""
        who = f"owned by {json_cell(self.manager)} ({_operation(self)}{since})" if self.operation else self.manager
        return printable(f"{self.path}: {values}{who}")


def conflicts_of(causes: Iterable[StatusCause]) -> tuple[FieldConflict, ...]:
    """What the causes of an answer say, in their order; those that are about something else are left out."""
    owners: dict[str, _Owner] = {}  # of thousands of fields there are few, and each has one message
    found = []
    for cause in causes:
        if cause.reason == "FieldManagerConflict":
            if cause.message not in owners:
                owners[cause.message] = _owner_in(cause.message)
            found.append(FieldConflict(path=cause.field, **owners[cause.message]))
    return tuple(found)


class _Owner(TypedDict):
    manager: str
    operation: str
    subresource: str
    api_version: str
    time: datetime | None


def _owner_in(message: str) -> _Owner:
    found = _WHO.match(message)
    if found is None:  # words of a server to come: shown as they are, rather than lost
        return _Owner(manager=message, operation="", subresource="", api_version="", time=None)
    manager, subresource, api_version, time = found.groups(default="")
    return _Owner(
        manager=_unquoted(manager),
        operation="Update" if api_version else "Apply",
        subresource=_unquoted(subresource),
        api_version=api_version,
        time=read_time(time),
    )


def read_time(text: object) -> datetime | None:
    """A ``metav1.Time``; ``None`` for what is none."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if isinstance(text, str) and text else None
    except (ValueError, OverflowError):
        return None


def _unquoted(text: str) -> str:
    """What Go's ``%q`` has written, without its quotes."""

    def plain(found: re.Match[str]) -> str:
        *codes, letter = found.groups()
        digits = next(filter(None, codes), None)
        if digits is None:
            return _LETTERS.get(letter, letter)
        return chr(int(digits, 16)) if int(digits, 16) <= 0x10FFFF else "\N{REPLACEMENT CHARACTER}"

    return _ESCAPE.sub(plain, text)


# ── for people ────────────────────────────────────────────────────────────────────────────────


def one_line(conflicts: Sequence[FieldConflict]) -> str:
    """All conflicts in a message; of very many the first ones."""
    shown = "; ".join(map(str, conflicts[:_MOST_IN_MESSAGE]))
    left = len(conflicts) - _MOST_IN_MESSAGE
    return f"{shown}; and {left} more" if left > 0 else shown


def text_of(conflicts: Sequence[FieldConflict]) -> str:
    """The table for a terminal, and under it what can be done."""
    ways = "\n".join(f"- {printable(way)}" for way in _ways_out(conflicts))
    return f"{_table(conflicts)}\n\nFor each of these fields:\n{ways}"


def card_of(conflicts: Sequence[FieldConflict], head: Line, now: datetime) -> Card:
    """The same for a notebook."""
    from dynkube._display import Bullets, Card, Grid, Note, Span, Tone, age_of, line, muted, short

    rows = tuple(
        (
            line(Span(short(each.path, 300), Tone.STRONG)),
            line(_cell(each.ours)),
            line(_cell(each.live)),
            line(short(each.manager, 120)),
            line(_operation(each)),
            line(muted(age_of(each.time, now))),
        )
        for each in conflicts[:_ROWS]
    )
    left = len(conflicts) - _ROWS
    said = f"and {left:,} more; for each of these fields:" if left > 0 else "For each of these fields:"
    columns = (*_COLUMNS[:-1], "AGE")
    return Card(head, (Grid(columns, rows), Note(line(said)), Bullets(_ways_out(conflicts))))


def _table(conflicts: Sequence[FieldConflict]) -> Table:
    rows = tuple(
        (each.path, _cell(each.ours), _cell(each.live), each.manager, _operation(each), _time(each.time))
        for each in conflicts
    )
    return Table(_COLUMNS, rows)


def _ways_out(conflicts: Sequence[FieldConflict]) -> tuple[str, ...]:
    path = repr(conflicts[0].path) if conflicts else "path"
    return (
        "leave it out of what you apply, and it stays as its manager has it;",
        f"take it over, with force=[{path}, ...] for some and force=True for all of them;",
        "or send the value that is live, and you own it together.",
    )


def _cell(value: object) -> str:
    return "?" if value is UNREAD else json_cell(value, _VALUE_WIDTH)


def _operation(conflict: FieldConflict) -> str:
    return f"{conflict.operation} {conflict.subresource}".strip()


def _time(time: datetime | None) -> str:
    return "" if time is None else time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
