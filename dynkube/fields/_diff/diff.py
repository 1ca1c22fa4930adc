"""``Diff``: the differences between two states of an object. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dynkube._displayable import Displayable
from dynkube._text.tables import Table, json_cell, printable
from dynkube.errors import FieldConflict
from dynkube.fields._diff.unified import unified
from dynkube.fields._entries import Manager
from dynkube.fields._path import FieldPath
from dynkube.meta import MISSING

_VALUE_WIDTH = 60


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs.

    Attributes:
        path: path of the field.
        before: its value in the first state; :data:`~dynkube.MISSING` if absent. Secret values are redacted.
        after: its value in the second state; absent and Secret values as for ``before``.
        managers: other owners of the field in the live object.
    """

    path: FieldPath
    before: Any = field(hash=False)  # may be a dict, which is not hashable
    after: Any = field(hash=False)
    managers: tuple[Manager, ...] = ()

    def __str__(self) -> str:
        return printable(f"{self.path}: {_cell(self.before)} -> {_cell(self.after)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff(Displayable):
    """The differences between two states of an object; false if there are none.

    ``print(diff)`` shows a unified diff of both as YAML, like ``kubectl diff``; ``print(diff.table())`` shows one
    field per line; a notebook shows both. Fields set by the server (managedFields, resourceVersion, generation, uid,
    creationTimestamp) are left out, and Secret values are redacted. Printing is synchronous and CPU-bound: three
    seconds for a document of 40,000 lines of which every second one differs.

    Attributes:
        subject: the object, as in ``"ConfigMap shop/web"``; empty for a part of one, such as a pod template.
        names: names of the two states: ``("live", "applied")`` or ``("applied", "live")``.
        before: the first state; ``None`` if there is no object.
        after: the second state; ``None`` if there is no object.
        changes: the fields that differ.
        conflicts: fields that an apply would take over from other managers, so that it requires ``force``.
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
        first, second = (printable(f"{name} {self.subject}".rstrip()) for name in self.names)
        try:
            return unified(self.before, self.after, (first, second))
        except RecursionError:  # the YAML encoder recurses; the table does not
            subject = printable(self.subject) or "An object"
            return f"{subject}, which is nested too deeply for YAML, field by field:\n{self.table()}"

    def table(self) -> str:
        """Return a table with one field per line: both values and the other owners."""
        return "\n".join(filter(None, (str(self._table()), self._note()))) if self else self._nothing()

    def _table(self) -> Table:
        rows = tuple(
            (str(each.path), _cell(each.before), _cell(each.after), ", ".join(map(str, each.managers)))
            for each in self.changes
        )
        return Table(("FIELD", *(name.upper() for name in self.names), "MANAGER"), rows)

    def _note(self) -> str:
        if not self.conflicts:
            return ""
        count = len(self.conflicts)
        owned = "1 field is owned by another manager" if count == 1 else f"{count} fields are owned by other managers"
        return f"{owned}: an apply without force fails with a conflict."

    def _nothing(self) -> str:
        return printable(": ".join(filter(None, (self.subject, "nothing differs"))))


def _cell(value: Any) -> str:
    return "" if value is MISSING else json_cell(value, _VALUE_WIDTH)
