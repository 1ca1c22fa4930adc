"""Columns of tables, and printers, which compute the cells of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._tables.ages import Ages
from dynkube_testing._tables.fields import Fields

Cell: TypeAlias = str | int | float | bool | None
ColumnType: TypeAlias = Literal["string", "integer", "number", "boolean", "date"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table, like ``metav1.TableColumnDefinition``.

    Attributes:
        name: The heading; kubectl prints it in capitals.
        type: The JSON type of the cells.
        description: The meaning of the cells.
        format: ``"name"`` for the column with the object's name.
        priority: 0 if kubectl always shows the column; larger if only ``-o wide`` shows it.
    """

    name: str
    type: str = "string"
    description: str = ""
    format: str = ""
    priority: int = 0

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


def column(name: str, description: str, type: ColumnType = "string") -> Column:  # noqa: A002 - the field's name
    """Return a column that is always shown."""
    return Column(name=name, type=type, description=description)


def wide(name: str, description: str) -> Column:
    """Return a string column that kubectl only shows with ``-o wide``."""
    return Column(name=name, description=description, priority=1)


NAME = Column(name="Name", format="name", description="Name of the object, unique for its kind in its namespace")
AGE = Column(name="Age", description="Time since the object was created")
CREATED_AT = Column(name="Created At", type="date", description="When the object was created")

CONTAINERS = wide("Containers", "Names of the containers in the pod template")
IMAGES = wide("Images", "Images of the containers in the pod template")
SELECTOR = wide("Selector", "Which pods it looks after, by their labels")


def _no_conditions(_obj: Fields) -> Sequence[JSONObject]:
    return ()


@dataclass(frozen=True, slots=True)
class Printer:
    """Converts objects of one kind to rows.

    Attributes:
        columns: The columns, in order.
        cells: Function that returns the cells of one object, one for each column.
        conditions: Function that returns the ``conditions`` of an object's row, which are empty for most kinds.
    """

    columns: tuple[Column, ...]
    cells: Callable[[Fields, Ages], Sequence[Cell]]
    conditions: Callable[[Fields], Sequence[JSONObject]] = _no_conditions

    @property
    def definitions(self) -> list[JSONObject]:
        """The columns as JSON objects."""
        return [each.definition for each in self.columns]
