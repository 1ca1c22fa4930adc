"""Who wrote which field: ``metadata.managedFields``, kept on every write as server-side apply needs it.

Compared with a real server, versions are not told apart: ownership written through one version of a resource is
read as if it were of any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dynkube.testing._api import JSONObject
from dynkube.testing._fieldset import (
    MISSING,
    FieldSet,
    all_fields_v1,
    fields_of,
    from_fields_v1,
    to_fields_v1,
    value_at,
)
from dynkube.testing._kinds import Kind
from dynkube.testing._shapes import Shape, shape_of

Operation: TypeAlias = Literal["Apply", "Update"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who writes: a manager, by which kind of request, through which subresource, when."""

    manager: str
    operation: Operation
    subresource: str
    time: str

    @property
    def identity(self) -> tuple[str, str, str]:
        """What tells the entries of one object apart."""
        return (self.manager, self.operation, self.subresource)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of ``managedFields``, read."""

    manager: str
    operation: str
    subresource: str
    api_version: str
    time: str
    fields: FieldSet

    @property
    def identity(self) -> tuple[str, str, str]:
        """What tells the entries of one object apart."""
        return (self.manager, self.operation, self.subresource)

    def to_json(self) -> JSONObject:
        """As ``managedFields`` has it."""
        entry = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields_v1(self.fields),
        }
        return {**entry, "subresource": self.subresource} if self.subresource else entry


def read_entries(obj: JSONObject) -> tuple[Entry, ...]:
    """The entries of an object; what is not readable as one is dropped, as the real server does."""
    return tuple(
        Entry(
            str(raw.get("manager", "")),
            str(raw.get("operation", "")),
            str(raw.get("subresource", "")),
            str(raw.get("apiVersion", "")),
            str(raw.get("time", "")),
            from_fields_v1(raw["fieldsV1"]),
        )
        for raw in obj["metadata"].get("managedFields") or ()
        if isinstance(raw, dict) and isinstance(raw.get("fieldsV1"), dict)
    )


def write_entries(obj: JSONObject, entries: Iterable[Entry]) -> None:
    """Set the entries of an object, leaving out those that own nothing (any more)."""
    # The real server's order: who applied comes first, and then who came first.
    ordered = sorted(entries, key=lambda entry: (entry.operation, entry.time, entry.manager, entry.subresource))
    listed = [entry.to_json() for entry in ordered if entry.fields]
    if listed:
        obj["metadata"]["managedFields"] = listed
    else:
        obj["metadata"].pop("managedFields", None)


@dataclass(frozen=True, slots=True)
class Ownership:
    """Keeps ``managedFields``; with ``enabled=False`` nothing is recorded by creates and updates."""

    enabled: bool = True

    def record(self, kind: Kind, obj: JSONObject, old: JSONObject | None, writer: Writer) -> None:
        """Note in ``obj`` that ``writer`` wrote what differs from ``old``. Sending an empty list gives up all of it."""
        sent = obj["metadata"].get("managedFields")
        if not self.enabled or (old is not None and sent == []):
            if not sent:
                obj["metadata"].pop("managedFields", None)
            return
        if old is None:
            entry = _entry(kind, writer, frozenset()).to_json()
            obj["metadata"]["managedFields"] = [{**entry, "fieldsV1": all_fields_v1(obj, shape_of(kind))}]
            return
        if sent is None and "managedFields" in old["metadata"]:
            obj["metadata"]["managedFields"] = old["metadata"]["managedFields"]
        if _substance(obj) != _substance(old):
            self._record_change(kind, obj, old, writer)

    def _record_change(self, kind: Kind, obj: JSONObject, old: JSONObject, writer: Writer) -> None:
        shape = shape_of(kind)
        present = fields_of(obj, shape)
        changed = frozenset(path for path in present if _differs(path, obj, old, shape))
        entries = []
        mine: FieldSet = frozenset()
        for entry in read_entries(obj):
            if entry.identity == writer.identity:
                mine = entry.fields
            else:
                # What is gone has no owner; what was changed has a new one.
                kept = (entry.fields & present) - changed
                entries.append(entry if kept == entry.fields else _with_fields(entry, kept))
        entries.append(_entry(kind, writer, (mine & present) | changed))
        write_entries(obj, entries)


def _differs(path: tuple[str, ...], obj: JSONObject, old: JSONObject, shape: Shape) -> bool:
    before = value_at(old, path, shape)
    if before is MISSING:
        return True
    after = value_at(obj, path, shape)
    if path[-1][:2] in {"k:", "v:"}:
        return False  # the item is there before and after; its fields are compared on their own
    return before != after


def _entry(kind: Kind, writer: Writer, fields: FieldSet) -> Entry:
    return Entry(writer.manager, writer.operation, writer.subresource, kind.api_version, writer.time, fields)


def _with_fields(entry: Entry, fields: FieldSet) -> Entry:
    return Entry(entry.manager, entry.operation, entry.subresource, entry.api_version, entry.time, fields)


def _substance(obj: JSONObject) -> JSONObject:
    ignored = {"managedFields", "resourceVersion", "generation"}
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key not in ignored}}
