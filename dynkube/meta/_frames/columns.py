"""Typed columns for data frames, independent of pandas and polars. Pure.

Column types do not depend on a sample of the rows. The server declares the types of its own columns, so they are the
same for a table without rows; for other columns all values are considered. If values do not fit, or have several types
(int-or-string above all), the column is a string column, and no value is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Final, Protocol

from dynkube.errors import InvalidInput
from dynkube.meta._arguments import a_type
from dynkube.meta._frames.fields import Fields, checked_fields, read_fields
from dynkube.meta._frames.values import FrameColumn, FrameType, column_of, common_type, text_of
from dynkube.meta._jsonpath.compiled import JSONPath
from dynkube.meta._object import Unstructured
from dynkube.meta._table_columns import TableColumn

_CREATED: Final = JSONPath.compile("{.metadata.creationTimestamp}")

_DECLARED: Final = {
    "integer": FrameType.INTEGER,
    "number": FrameType.NUMBER,
    "boolean": FrameType.BOOLEAN,
}

# Columns that kube-apiserver declares as strings but writes as another type, or the other way round
# (pkg/printers/internalversion in kubernetes/kubernetes). With the declared type a count would be a string column.
# Types cannot be derived from the rows, as an empty table has none.
_WRITTEN: Final[dict[tuple[str, str], dict[str, FrameType]]] = {
    ("", "ConfigMapList"): {"Data": FrameType.INTEGER},
    ("", "EventList"): {"Count": FrameType.INTEGER},
    ("", "SecretList"): {"Data": FrameType.INTEGER},
    ("", "ServiceAccountList"): {"Secrets": FrameType.INTEGER},
    ("apps", "ControllerRevisionList"): {"Revision": FrameType.INTEGER},
    ("apps", "DeploymentList"): {"Up-to-date": FrameType.INTEGER, "Available": FrameType.INTEGER},
    ("autoscaling", "HorizontalPodAutoscalerList"): {"MaxPods": FrameType.INTEGER, "Replicas": FrameType.INTEGER},
    ("batch", "CronJobList"): {"Suspend": FrameType.TEXT},
    ("events.k8s.io", "EventList"): {"Count": FrameType.INTEGER},
    ("flowcontrol.apiserver.k8s.io", "FlowSchemaList"): {"MatchingPrecedence": FrameType.INTEGER},
    ("storage.k8s.io", "StorageClassList"): {"AllowVolumeExpansion": FrameType.BOOLEAN},
}


class _Table(Protocol):
    """The attributes of an ``UnstructuredTable`` that are used here."""

    api_version: str
    kind: str

    @property
    def columns(self) -> Sequence[TableColumn]: ...
    @property
    def cells(self) -> Sequence[Sequence[object]]: ...
    @property
    def namespaced(self) -> bool: ...
    def __iter__(self) -> Iterator[Unstructured]: ...


def frame_of(objects: Iterable[Unstructured], fields: Fields | None, *, with_object: bool) -> list[FrameColumn]:
    """Return the columns of any objects.

    ``Namespace``, ``Name``, ``Created``, and those of ``fields``.
    """
    given: object = objects  # callers are not always type-checked
    if isinstance(given, Mapping | str | bytes) or not isinstance(given, Iterable):  # an object is a mapping
        raise InvalidInput(f"objects is {a_type(given)}: pass a list of objects, or an informer")
    objects = list(objects)
    for obj in objects:
        if not isinstance(obj, Unstructured):
            raise InvalidInput(f"objects holds {a_type(obj)}: pass a list of objects, or an informer")
    return object_frame(objects, fields, with_object=with_object)


def object_frame(objects: Sequence[Unstructured], fields: Fields | None, *, with_object: bool) -> list[FrameColumn]:
    """Return the columns of any objects, as :func:`frame_of`."""
    given = checked_fields(fields)
    values = read_fields(objects, {"Created": _CREATED, **given})
    columns = [
        _namespaces(objects),
        FrameColumn("Name", FrameType.TEXT, [obj.name for obj in objects]),
        column_of("Created", FrameType.TIME, values["Created"]),
    ]
    return _extended(columns, {name: values[name] for name in given}, objects, with_object=with_object)


def table_frame(table: _Table, fields: Fields | None, *, with_object: bool) -> list[FrameColumn]:
    """Return the columns of a table: the server's, and those of ``fields``, which replace columns of equal name."""
    objects = list(table)
    if not table.columns:
        return object_frame(objects, fields, with_object=with_object)
    values = read_fields(objects, checked_fields(fields))
    return _extended(_table_columns(table, objects), values, objects, with_object=with_object)


def _table_columns(table: _Table, objects: Sequence[Unstructured]) -> list[FrameColumn]:
    """Return the server's columns.

    Types depend on the rows only if a value does not fit the declared type. Times are exact if the source of the cell
    is known: the creation time, or a CRD's JSONPath. Other dates are the strings of the cells, since servers write some
    as timestamps and most as ages.
    """
    columns = [_namespaces(objects)] if table.namespaced else []
    written = _WRITTEN.get((table.api_version.rpartition("/")[0], table.kind), {})
    for place, column in enumerate(table.columns):
        cells = [row[place] for row in table.cells]
        path = column.json_path if column.type == "date" else None
        if column.shows_age:
            columns.append(_moments("Created", _CREATED, objects))
        elif path or column.shows_creation:
            columns.append(_moments(column.name, JSONPath.compile(path) if path else _CREATED, objects))
        else:
            wanted = written.get(column.name) or _DECLARED.get(column.type, FrameType.TEXT)
            columns.append(column_of(column.name, wanted, cells))
    return _with_names_of_their_own(columns)


def _extended(
    columns: Sequence[FrameColumn],
    fields: Mapping[str, Sequence[object]],
    objects: Sequence[Unstructured],
    *,
    with_object: bool,
) -> list[FrameColumn]:
    """Return ``columns`` and those of ``fields``, which replace columns of equal name."""
    named = {column.name: column for column in columns}
    for name, values in fields.items():
        named[name] = column_of(name, common_type(values), values)
    if not with_object:
        return list(named.values())
    if "object" in fields:
        raise InvalidInput("fields has a column 'object', which with_object=True adds as well: rename it")
    whole = FrameColumn("object", FrameType.TEXT, [obj.json.decode() for obj in objects])
    return [*_with_names_of_their_own(named.values(), taken={"object"}), whole]


def _namespaces(objects: Iterable[Unstructured]) -> FrameColumn:
    return FrameColumn("Namespace", FrameType.TEXT, [obj.namespace or None for obj in objects])


def _moments(name: str, path: JSONPath, objects: Iterable[Unstructured]) -> FrameColumn:
    found = (path.find_json(obj.json) for obj in objects)
    # Of several matches, servers print the first: TableConvertor in k8s.io/apiextensions-apiserver.
    return column_of(name, FrameType.TIME, [values[0] if values else None for values in found])


def _with_names_of_their_own(columns: Iterable[FrameColumn], taken: Iterable[str] = ()) -> list[FrameColumn]:
    """Make column names unique.

    A CRD may define two columns with the same name, but a data frame must not have them.
    """
    names = set(taken)
    named = []
    for column in columns:
        plain = text_of(column.name) or ""
        name = next(each for each in _numbered(plain) if each not in names)
        names.add(name)
        named.append(FrameColumn(name, column.type, column.values))
    return named


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name} ({number})" for number in count(2))
