"""``Diff``: what differs between two states of an object, for programs and for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dynkube._display import Shown, Table, json_cell, printable
from dynkube.client._apply.diff_text import unified
from dynkube.errors import FieldConflict
from dynkube.fields import FieldPath, Manager
from dynkube.meta import MISSING

if TYPE_CHECKING:
    from dynkube._display import Card

_VALUE_WIDTH = 60


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs.

    Attributes:
        path: which one.
        before: its value in the first state; :data:`~dynkube.MISSING` where it has none. Of a Secret's data only
            whether it differs is told.
        after: its value in the second state, likewise.
        managers: who else owns it in the live object.
    """

    path: FieldPath
    before: Any = field(hash=False)  # perhaps a dict, which has no hash
    after: Any = field(hash=False)
    managers: tuple[Manager, ...] = ()

    def __str__(self) -> str:
        return printable(f"{self.path}: {_cell(self.before)} -> {_cell(self.after)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff(Shown):
    """What differs between two states of an object; false where nothing does.

    ``print(diff)`` shows both as YAML, line by line, as ``kubectl diff`` does; ``print(diff.table())`` shows one
    field a line; a notebook shows both. What a server sets by itself (managedFields, resourceVersion, generation, uid,
    creationTimestamp) is left out, and the values of Secrets are not shown. Printing is a plain calculation: three
    seconds for a document of 40,000 lines of which every second one differs.

    Attributes:
        subject: of what, as in ``"ConfigMap shop/web"``.
        names: what the two states are called: ``("live", "applied")`` or ``("applied", "live")``.
        before: the first state; ``None`` where there is no object.
        after: the second state, likewise.
        changes: the fields that differ.
        conflicts: the fields that an apply takes from others, so that it needs ``force``.
    """

    subject: str
    names: tuple[str, str]
    before: Mapping[str, Any] | None = field(repr=False, hash=False)
    after: Mapping[str, Any] | None = field(repr=False, hash=False)
    changes: tuple[FieldChange, ...]
    conflicts: tuple[FieldConflict, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __str__(self) -> str:
        if not self:
            return ""
        first, second = (printable(f"{name} {self.subject}") for name in self.names)
        try:
            return unified(self.before, self.after, (first, second))
        except RecursionError:  # YAML takes several calls a level; the table takes none
            return f"{printable(self.subject)}, which is nested too deeply for YAML, field by field:\n{self.table()}"

    def table(self) -> str:
        """One field a line, with both values and who else owns it."""
        return "\n".join(filter(None, (str(self._table()), self._note()))) if self else self._nothing()

    def _card(self, now: datetime) -> Card:
        from dynkube.client._apply.diff_shown import diff_card

        return diff_card(self, self._note())

    def _card_among(self, others: int, room: int) -> tuple[Card, int]:
        """As one of several on a page: a card with fewer rows, and what is left of the room for YAML."""
        from dynkube.client._apply.diff_shown import ROWS, diff_card, size_of

        rows = max(10, min(ROWS, 3 * ROWS // (1 + others)))
        return diff_card(self, self._note(), rows, room), max(0, room - size_of(self))

    def _table(self) -> Table:
        rows = tuple(
            (str(each.path), _cell(each.before), _cell(each.after), ", ".join(map(str, each.managers)))
            for each in self.changes
        )
        return Table(("FIELD", *(name.upper() for name in self.names), "MANAGER"), rows)

    def _note(self) -> str:
        if not self.conflicts:
            return ""
        owned = "1 field is" if len(self.conflicts) == 1 else f"{len(self.conflicts)} fields are"
        return f"{owned} owned by others: an apply without force is a conflict."

    def _nothing(self) -> str:
        return printable(f"{self.subject}: nothing differs")


def _cell(value: Any) -> str:
    return "" if value is MISSING else json_cell(value, _VALUE_WIDTH)
