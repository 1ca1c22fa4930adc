"""Typed columns for data frames, independent of pandas and polars. Pure.

Column types do not depend on a sample of the rows. The server declares the types of its own columns, so they are the
same for a table without rows; for other columns all values are considered. If values do not fit, or have several types
(int-or-string above all), the column is a string column, and no value is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Final, Protocol, TypeAlias

from dynkube.errors import InvalidInput, InvalidJSONPath
from dynkube.meta._arguments import a_type
from dynkube.meta._frames.values import FrameColumn, FrameType, column_of, common_type, text_of, without_numpy
from dynkube.meta._jsonpath.compiled import JSONPath
from dynkube.meta._object import Unstructured
from dynkube.meta._table_columns import TableColumn

Fields: TypeAlias = Mapping[str, "str | JSONPath | Callable[[Unstructured], object]"]
"""Columns by name: a kubectl JSONPath, or a function of the object.

Example: ``{"replicas": "{.spec.replicas}"}``.
"""

_CREATED: Final = "{.metadata.creationTimestamp}"

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
    return extended(object_columns(objects), objects, fields, with_object=with_object)


def object_columns(objects: Iterable[Unstructured]) -> list[FrameColumn]:
    """Return the columns of every object: ``Namespace``, ``Name``, ``Created``."""
    objects = list(objects)
    return [
        _namespaces(objects),
        FrameColumn("Name", FrameType.TEXT, [obj.name for obj in objects]),
        _moments("Created", _CREATED, objects),
    ]


def table_columns(table: _Table) -> list[FrameColumn]:
    """Return the server's columns.

    Types depend on the rows only if a value does not fit the declared type. Times are exact if the source of the cell
    is known: the creation time, or a CRD's JSONPath. Other dates are the strings of the cells, since servers write some
    as timestamps and most as ages.
    """
    objects = list(table)
    if not table.columns:
        return object_columns(objects)
    columns = [_namespaces(objects)] if table.namespaced else []
    written = _WRITTEN.get((table.api_version.rpartition("/")[0], table.kind), {})
    for place, column in enumerate(table.columns):
        cells = [row[place] for row in table.cells]
        path = column.json_path if column.type == "date" else None
        if column.shows_age:
            columns.append(_moments("Created", _CREATED, objects))
        elif path or column.shows_creation:
            columns.append(_moments(column.name, path or _CREATED, objects))
        else:
            wanted = written.get(column.name) or _DECLARED.get(column.type, FrameType.TEXT)
            columns.append(column_of(column.name, wanted, cells))
    return _with_names_of_their_own(columns)


def extended(
    columns: Sequence[FrameColumn], objects: Iterable[Unstructured], fields: Fields | None, *, with_object: bool
) -> list[FrameColumn]:
    """Return ``columns`` and those of ``fields``, which replace columns of equal name.

    Raises:
        InvalidInput: ``fields`` is not a mapping of names to JSONPaths or functions.
        InvalidJSONPath: a path does not parse.
    """
    objects = list(objects)
    named = {column.name: column for column in columns}
    for name, field in _checked(fields).items():
        values = list(_values(name, field, objects))
        named[name] = column_of(name, common_type(values), values)
    if not with_object:
        return list(named.values())
    if fields and "object" in fields:
        raise InvalidInput("fields has a column 'object', which with_object=True adds as well: rename it")
    whole = FrameColumn("object", FrameType.TEXT, [obj.json.decode() for obj in objects])
    return [*_with_names_of_their_own(named.values(), taken={"object"}), whole]


def _values(name: str, field: Callable[[Unstructured], object], objects: Iterable[Unstructured]) -> Iterator[object]:
    for obj in objects:
        try:
            yield without_numpy(field(obj))
        except Exception as exc:
            exc.add_note(f"in column {name!r} of fields, for {obj!r}")
            raise


def _checked(fields: object) -> dict[str, Callable[[Unstructured], object]]:
    if fields is not None and not isinstance(fields, Mapping):
        raise InvalidInput(
            f"fields is {a_type(fields)}: pass a dict of column names and JSONPaths, {{'image': '{{.spec.x}}'}}"
        )
    readers: dict[str, Callable[[Unstructured], object]] = {}
    for name, field in (fields or {}).items():
        if not isinstance(name, str) or not name:
            raise InvalidInput(f"fields: {name!r} is not a column name (a non-empty string)")
        readers[name] = _field(name, field)
    return readers


def _field(name: str, field: object) -> Callable[[Unstructured], object]:
    if isinstance(field, JSONPath):
        return _reader(field)
    if isinstance(field, str):
        try:
            return _reader(JSONPath.compile(field))
        except InvalidJSONPath as exc:
            exc.add_note(f"in column {name!r} of fields")
            raise
    if callable(field):
        return field
    raise InvalidInput(f"fields: {name!r} is {field!r}: pass a JSONPath or a function of the object")


def _reader(path: JSONPath) -> Callable[[Unstructured], object]:
    def read(obj: Unstructured) -> object:
        found = path.find_json(obj.json)
        if len(found) > 1:  # as kubectl's custom columns join several matches
            return ",".join(text_of(value) or "" for value in found)
        return found[0] if found else None

    return read


def _namespaces(objects: Iterable[Unstructured]) -> FrameColumn:
    return FrameColumn("Namespace", FrameType.TEXT, [obj.namespace or None for obj in objects])


def _moments(name: str, path: str, objects: Iterable[Unstructured]) -> FrameColumn:
    compiled = JSONPath.compile(path)
    found = (compiled.find_json(obj.json) for obj in objects)
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
