"""Field conflicts of a server-side apply: parsing, and text for terminals.

The server reports the field and the manager, but not since when the manager owns it, nor our value and the live one;
the caller that sent the apply can add those. Cause messages have the format of apimachinery's field manager, v1.20 to
v1.36: ``conflict with "kubectl" with subresource "status" using apps/v1 at 2024-05-01T10:00:00Z``, where the version is
present for an Update only, the subresource since v1.22, and the time in some older servers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, TypedDict, final

from dynkube._text.tables import Table, json_cell, printable
from dynkube.errors._status import StatusCause

_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_WHO = re.compile(rf"conflict with {_QUOTED}(?: with subresource {_QUOTED})?(?: using (\S+))?(?: at (\S+))?")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
COLUMNS = ("FIELD", "YOURS", "LIVE", "MANAGER", "OPERATION", "SINCE")
_MOST_IN_MESSAGE = 10
_VALUE_WIDTH = 40


@final
class _Unread:
    """Type of :data:`UNREAD`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNREAD"

    def __reduce__(self) -> str:
        return "UNREAD"


UNREAD: Final = _Unread()
"""In a :class:`FieldConflict`: a value that was not, or could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldConflict:
    """One field that another manager owns with a different value.

    Attributes:
        path: the field, as in ``.spec.containers[name="web"].image``.
        manager: the name of the owning field manager.
        operation: how the manager wrote the field: ``"Apply"``, or ``"Update"`` for any other write; ``""`` where the
            server's message has an unknown format; ``manager`` is then the whole message.
        subresource: the subresource that the manager wrote through; ``""`` for the object itself.
        api_version: the API version that the manager wrote. For an Apply only the live object has it.
        time: when the manager last changed its fields; ``None`` where not known.
        ours: the value that was to be applied, or :data:`UNREAD`. ``"***"`` for the data of a Secret.
        live: the value in the live object, or :data:`UNREAD`. ``"***"`` for the data of a Secret.
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
        values = "" if self.ours is UNREAD else f"yours {value_text(self.ours)}, "
        values += "" if self.live is UNREAD else f"live {value_text(self.live)}, "
        since = f" since {_time(self.time)}" if self.time else ""
        who = f"owned by {json_cell(self.manager)} ({operation_text(self)}{since})" if self.operation else self.manager
        return printable(f"{self.path}: {values}{who}")


def conflicts_of(causes: Iterable[StatusCause]) -> tuple[FieldConflict, ...]:
    """Parse the ``FieldManagerConflict`` causes of a Status, in order.

    Other causes are skipped.
    """
    owners: dict[str, _Owner] = {}  # thousands of fields share a few managers, and so a few messages
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
    if found is None:  # a format of a future server: shown as it is, rather than lost
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
    """Parse a ``metav1.Time``; return ``None`` if it is not one."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if isinstance(text, str) and text else None
    except (ValueError, OverflowError):
        return None


def _unquoted(text: str) -> str:
    """Undo Go's ``%q`` quoting of a string.

    The quotes themselves are stripped already.
    """

    def plain(found: re.Match[str]) -> str:
        *codes, letter = found.groups()
        digits = next(filter(None, codes), None)
        if digits is None:
            return _LETTERS.get(letter, letter)
        return chr(int(digits, 16)) if int(digits, 16) <= 0x10FFFF else "\N{REPLACEMENT CHARACTER}"

    return _ESCAPE.sub(plain, text)


# ── text ──────────────────────────────────────────────────────────────────────────────────────


def one_line(conflicts: Sequence[FieldConflict]) -> str:
    """Return the conflicts on one line for an error message; at most the first ten."""
    shown = "; ".join(map(str, conflicts[:_MOST_IN_MESSAGE]))
    left = len(conflicts) - _MOST_IN_MESSAGE
    return f"{shown}; and {left} more" if left > 0 else shown


def text_of(conflicts: Sequence[FieldConflict]) -> str:
    """Return a table for a terminal, followed by the ways to resolve the conflicts."""
    ways = "\n".join(f"- {printable(way)}" for way in ways_out(conflicts))
    return f"{_table(conflicts)}\n\nFor each of these fields:\n{ways}"


def _table(conflicts: Sequence[FieldConflict]) -> Table:
    rows = tuple(
        (each.path, value_text(each.ours), value_text(each.live), each.manager, operation_text(each), _time(each.time))
        for each in conflicts
    )
    return Table(COLUMNS, rows)


def ways_out(conflicts: Sequence[FieldConflict]) -> tuple[str, ...]:
    """Return the ways to resolve the conflicts."""
    path = repr(conflicts[0].path) if conflicts else "path"
    return (
        "remove it from your manifest to leave it to its manager;",
        f"take ownership of it, with force=[{path}, ...] for some of the fields or force=True for all;",
        "or set the live value in your manifest to share ownership.",
    )


def value_text(value: object) -> str:
    """Return a short text for the value of a conflicting field; ``?`` if the value was not fetched."""
    return "?" if value is UNREAD else json_cell(value, _VALUE_WIDTH)


def operation_text(conflict: FieldConflict) -> str:
    """Return how the manager wrote the field: operation and subresource."""
    return f"{conflict.operation} {conflict.subresource}".strip()


def _time(time: datetime | None) -> str:
    return "" if time is None else time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
