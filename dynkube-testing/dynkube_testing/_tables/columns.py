"""Columns of tables, and printers, which compute the cells of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._tables.ages import Ages
from dynkube_testing._tables.fields import Fields
from dynkube_testing._tables.text import containers_text

Cell: TypeAlias = str | int | float | bool | None
Value: TypeAlias = Callable[[Fields], Cell]
ColumnType: TypeAlias = Literal["string", "integer", "number", "boolean", "date"]


def _empty(_obj: Fields, _ages: Ages) -> Cell:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table, like ``metav1.TableColumnDefinition``.

    Attributes:
        name: The heading; kubectl prints it in capitals.
        type: The JSON type of the cells.
        description: The meaning of the cells.
        format: ``"name"`` for the column with the object's name.
        priority: 0 if kubectl always shows the column; larger if only ``-o wide`` shows it.
        cell: Function that returns the cell of an object, for printers whose columns are independent.
    """

    name: str
    type: str = "string"
    description: str = ""
    format: str = ""
    priority: int = 0
    cell: Callable[[Fields, Ages], Cell] = field(default=_empty, repr=False)

    @property
    def definition(self) -> JSONObject:
        """The column as a JSON object."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


# ── values ────────────────────────────────────────────────────────────────────────────────────


def text(path: str, default: str = "") -> Value:
    """Return the value of a column: the string at ``path``."""
    return lambda obj: obj.text(path, default)


def number(path: str, default: int = 0) -> Value:
    """Return the value of a column: the integer at ``path``."""
    return lambda obj: obj.number(path, default)


def flag(path: str, default: bool = False) -> Value:
    """Return the value of a column: the boolean at ``path``."""
    return lambda obj: obj.flag(path, default)


def scalar(path: str, default: str = "") -> Value:
    """Return the value of a column: the quantity, or string or number, at ``path``."""
    return lambda obj: obj.scalar(path, default)


def count(*paths: str) -> Value:
    """Return the value of a column: how many entries the lists and maps at ``paths`` have."""
    return lambda obj: sum(len(obj.each(path)) + len(obj.mapping(path)) for path in paths)


def joined(path: str, default: str = "") -> Value:
    """Return the value of a column: the strings in the list at ``path``."""
    return lambda obj: ",".join(obj.texts(path)) or default


# ── columns ───────────────────────────────────────────────────────────────────────────────────


def column(name: str, description: str, value: str | Value = "", type: ColumnType = "string") -> Column:  # noqa: A002
    """Return a column that is always shown; ``value`` is the path of a string, or a function of the object."""
    return Column(name=name, type=type, description=description, cell=_cell(value))


def integer(name: str, description: str, path: str, default: int = 0) -> Column:
    """Return a column with the integer at ``path``."""
    return column(name, description, number(path, default), "integer")


def boolean(name: str, description: str, path: str, default: bool = False) -> Column:
    """Return a column with the boolean at ``path``."""
    return column(name, description, flag(path, default), "boolean")


def wide(name: str, description: str, value: str | Value = "") -> Column:
    """Return a string column that kubectl only shows with ``-o wide``."""
    return Column(name=name, description=description, priority=1, cell=_cell(value))


def _cell(value: str | Value) -> Callable[[Fields, Ages], Cell]:
    found = text(value) if isinstance(value, str) else value
    return lambda obj, _ages: found(obj)


NAME = Column(
    name="Name",
    format="name",
    description="Name of the object, unique for its kind in its namespace",
    cell=lambda obj, _ages: obj.name,
)
AGE = Column(name="Age", description="Time since the object was created", cell=lambda obj, ages: ages.of(obj))
CREATED_AT = Column(
    name="Created At",
    type="date",
    description="When the object was created",
    cell=lambda obj, _ages: obj.text("metadata.creationTimestamp"),
)


def template_columns(path: str, selector: Value | None = None) -> tuple[Column, ...]:
    """Return the columns for the containers of the pod spec at ``path`` and, if given, for a selector."""
    containers = (
        wide("Containers", "Names of the containers in the pod template", lambda obj: containers_text(obj, path)[0]),
        wide("Images", "Images of the containers in the pod template", lambda obj: containers_text(obj, path)[1]),
    )
    return containers if selector is None else (*containers, wide("Selector", SELECTION, selector))


SELECTION = "Which pods it looks after, by their labels"


def _no_conditions(_obj: Fields) -> Sequence[JSONObject]:
    return ()


@dataclass(frozen=True, slots=True)
class Printer:
    """Converts objects of one kind to rows.

    Attributes:
        columns: The columns, in order.
        row: Function that returns the cells of one object; ``None`` if each column has its own.
        conditions: Function that returns the ``conditions`` of an object's row, which are empty for most kinds.
    """

    columns: tuple[Column, ...]
    row: Callable[[Fields, Ages], Sequence[Cell]] | None = None
    conditions: Callable[[Fields], Sequence[JSONObject]] = _no_conditions

    def cells(self, obj: Fields, ages: Ages) -> Sequence[Cell]:
        """Return the cells of one object."""
        return [each.cell(obj, ages) for each in self.columns] if self.row is None else self.row(obj, ages)

    @property
    def definitions(self) -> list[JSONObject]:
        """The columns as JSON objects."""
        return [each.definition for each in self.columns]
