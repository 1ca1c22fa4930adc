"""The columns of a live table: functions that return the cell of an object.

Independent of notebooks. If a column raises for an object, only that cell shows the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from dynkube._display.cards import Tone
from dynkube._display.health import condition_chips, health_of, mapping
from dynkube._display.values import inline
from dynkube._guard import attempt_with, text_of
from dynkube._text.tables import printable
from dynkube._text.words import short
from dynkube.errors import InvalidInput
from dynkube.informers import ClusterObject
from dynkube.informers._availability.crd_summary import PrinterColumn
from dynkube.meta import JSONPath, Unstructured
from dynkube.meta._encode import encode_json

ColumnSource: TypeAlias = "str | JSONPath | Callable[[Unstructured], object]"
"""The source of a user's column: a JSONPath, or a function of the object."""

_WIDTH: Final = 200
"""Characters of one cell; the page shows fewer, and all of these in the tooltip."""
_CONDITIONS: Final = 12


class Cell(NamedTuple):
    """One cell of the table.

    Attributes:
        text: safe to print.
        tone: the style.
        title: the tooltip.
        moment: seconds since 1970, instead of a text; shown as an age.
    """

    text: str
    tone: Tone = Tone.PLAIN
    title: str = ""
    moment: float | None = None


class Kind(StrEnum):
    """How a column is aligned and sorted."""

    TEXT = "text"
    NUMBER = "number"
    AGE = "age"


class When(StrEnum):
    """When a column is shown."""

    ALWAYS = "always"
    FILLED = "filled"
    """If some row has a value."""
    SEVERAL = "several"
    """If there is more than one namespace."""


@dataclass(frozen=True, slots=True)
class LiveColumn:
    """One column.

    Attributes:
        name: the heading.
        cell: returns the cell of a row; may raise.
        kind: how the column is aligned and sorted.
        shown: when the column is shown.
        title: the tooltip of the heading.
        is_computed: whether cells may have words that neither the object's JSON nor its cluster's name has.
    """

    name: str
    cell: Callable[[ClusterObject], Cell]
    kind: Kind = Kind.TEXT
    shown: When = When.ALWAYS
    title: str = ""
    is_computed: bool = False

    def of(self, row: ClusterObject) -> Cell:
        """Return the cell of a row; if the column raises, a cell with the error."""
        failures: list[Exception] = []
        cell = attempt_with(self.cell, row, None, failures.append)
        return cell if cell is not None else Cell("(failed)", Tone.BAD, clean(", ".join(map(text_of, failures))))


CLUSTER: Final = LiveColumn("Cluster", lambda row: Cell(clean(row.cluster)))
NAMESPACE: Final = LiveColumn("Namespace", lambda row: Cell(clean(row.object.namespace)), shown=When.SEVERAL)
NAME: Final = LiveColumn("Name", lambda row: Cell(clean(row.object.name)))

PrinterColumns: TypeAlias = "Mapping[str, Sequence[PrinterColumn]]"
"""The printer columns of the CRD in each cluster, by its name; ``""`` is that of a table of one cluster."""


def columns_for(own: Sequence[LiveColumn], printer: PrinterColumns, *, wide: bool = False) -> tuple[LiveColumn, ...]:
    """Return all columns of a table.

    Args:
        own: the user's additional columns.
        printer: the printer columns; may be empty. Of several clusters all are shown, those of the first one first.
        wide: include printer columns with priority > 0.
    """
    printed = [each for each in _all_printed(printer) if (wide or each.priority <= 0) and not _is_age(each)]
    state = [_ENDING, *(_printed(each, printer) for each in printed)] if printed else [_READY, _STATUS]
    return (*([CLUSTER] if any(printer) else ()), NAMESPACE, NAME, *state, *own, _AGE)


def own_columns(columns: Mapping[str, ColumnSource] | None) -> tuple[LiveColumn, ...]:
    """Parse the user's columns: ``{"image": "{.spec.containers[*].image}"}``.

    Raises:
        InvalidInput: not a mapping from headings to JSONPaths or functions, or a path does not parse.
    """
    given: object = columns if columns is not None else {}
    if not isinstance(given, Mapping):
        raise InvalidInput(f'columns is a {type(given).__name__}: pass {{"heading": "{{.a.json.path}}", ...}}')
    return tuple(_own(heading, source) for heading, source in given.items())


def clean(text: str) -> str:
    """Return a string on one line without control characters, cut to 200 characters."""
    return short(printable(" ".join(text[: 4 * _WIDTH].split())), _WIDTH)


# ── built-in columns ─────────────────────────────────────────────────────────────────────────


def _ready(obj: Unstructured) -> Cell:
    health = health_of(obj)
    return Cell(clean(health.ready), health.tone, _conditions(obj)) if health.ready else Cell("")


def _status(obj: Unstructured) -> Cell:
    health = health_of(obj)
    text = clean(health.status or health.reason)
    return Cell(text, health.tone, _conditions(obj)) if text else Cell("")


def _conditions(obj: Unstructured) -> str:
    return "\n".join(printable(chip.text) for chip in condition_chips(obj, _CONDITIONS))


def _ending(obj: Unstructured) -> Cell:
    return Cell("Terminating", Tone.WARN) if obj.deletion_timestamp else Cell("")


def _age(obj: Unstructured) -> Cell:
    created = mapping(obj, "metadata").get("creationTimestamp")
    return _moment(created) if created else Cell("")


_READY: Final = LiveColumn("Ready", lambda row: _ready(row.object), shown=When.FILLED)
_STATUS: Final = LiveColumn("Status", lambda row: _status(row.object), shown=When.FILLED)
_ENDING: Final = LiveColumn("Status", lambda row: _ending(row.object), shown=When.FILLED)
_AGE: Final = LiveColumn("Age", lambda row: _age(row.object), Kind.AGE)


# ── printer columns and the user's columns ───────────────────────────────────────────────────


def _own(heading: object, source: object) -> LiveColumn:
    if not isinstance(heading, str) or not heading.strip():
        raise InvalidInput(f"columns: {heading!r} is not a heading: pass a string that is not empty")
    if isinstance(source, str | JSONPath):
        path = source if isinstance(source, JSONPath) else JSONPath.compile(source)
        title = clean(str(source))
        return LiveColumn(clean(heading), lambda row: Cell(_joined(row.object.jsonpath(path))), title=title)
    if callable(source):
        return LiveColumn(clean(heading), lambda row: Cell(_text(source(row.object))), is_computed=True)
    raise InvalidInput(
        f"columns[{heading!r}] is a {type(source).__name__}: pass a JSONPath as a string, or a function of the object"
    )


def _joined(values: Sequence[object]) -> str:
    return clean(", ".join(_text(value) for value in values[:20]))


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case Mapping() | list() | tuple():
            return clean(encode_json(value).decode())
        case str():
            return clean(value)
        case _:
            return inline(value, _WIDTH)


_KINDS: Final = {"integer": Kind.NUMBER, "number": Kind.NUMBER, "date": Kind.AGE}


def _is_age(column: PrinterColumn) -> bool:
    """Return whether it is an age column, which every live table has already."""
    return column.type == "date" and column.json_path.strip("{}") == ".metadata.creationTimestamp"


def _all_printed(printer: PrinterColumns) -> list[PrinterColumn]:
    """Return the columns of the first cluster, then those that only others have."""
    found: list[PrinterColumn] = []
    for columns in printer.values():
        known = {each.name for each in found}
        found += [each for each in columns if each.name not in known]
    return found


def _printed(column: PrinterColumn, printer: PrinterColumns) -> LiveColumn:
    """Return a printer column, whose cells are what each cluster declares for it, such as another path.

    A cell is empty if the path finds nothing, or a value of another type.
    """
    others = {
        cluster: each
        for cluster, columns in printer.items()
        if column not in columns
        for each in columns
        if each.name == column.name
    }
    kind = _KINDS.get(column.type, Kind.TEXT)
    title = clean(column.description or column.json_path)
    return LiveColumn(
        clean(column.name), lambda row: _first(row.object, others.get(row.cluster, column)), kind, title=title
    )


def _first(obj: Unstructured, column: PrinterColumn) -> Cell:
    # Only the first match counts: see TableConvertor in k8s.io/apiextensions-apiserver.
    value = next(_found(obj, column.json_path), None)
    if value is None:
        return Cell("")
    match column.type, value:
        case "date", _:
            return _moment(value)
        case "boolean", bool():
            return Cell(_text(value))
        case ("boolean", _) | (_, bool()) if column.type in _NOT_TEXT:
            return Cell("")
        case "integer", int() | float():
            return Cell(_text(int(value)))
        case "number", int() | float():
            return Cell(_text(value))
        case _:
            return Cell("" if column.type in _NOT_TEXT else _text(value))


_NOT_TEXT: Final = frozenset({"boolean", "integer", "number"})


def _found(obj: Unstructured, path: str) -> Iterator[object]:
    yield from obj.jsonpath(path)


def _moment(value: object) -> Cell:
    """Parse a ``metav1.Time``."""
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return Cell("<invalid>", Tone.MUTED, clean(str(value)))
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return Cell("", Tone.MUTED, clean(str(value)), moment.timestamp())
