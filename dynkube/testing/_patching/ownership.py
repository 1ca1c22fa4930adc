"""Who wrote which field: ``metadata.managedFields``, kept on every write as server-side apply needs it.

Compared with a real server, versions are not told apart: ownership written through one version of a resource is
read as if it were of any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._patching.fieldset import (
    FieldSet,
    Path,
    all_fields_v1,
    changes,
    from_fields_v1,
    says,
    to_fields_v1,
)
from dynkube.testing._patching.shapes import shape_of

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
    """One entry of ``managedFields``; ``encoded`` is its FieldsV1, read only when somebody needs to."""

    manager: str
    operation: str
    subresource: str
    api_version: str
    time: str
    encoded: JSONObject

    @property
    def identity(self) -> tuple[str, str, str]:
        """What tells the entries of one object apart."""
        return (self.manager, self.operation, self.subresource)

    @property
    def fields(self) -> FieldSet:
        """What it owns."""
        return from_fields_v1(self.encoded)

    def owns(self, path: Path) -> bool:
        """Whether ``path`` is among :attr:`fields`."""
        return says(self.encoded, path)

    def without(self, paths: FieldSet) -> Entry:
        """The entry without ``paths``: itself, where it owns none of them."""
        if not any(self.owns(path) for path in paths):
            return self
        return replace(self, encoded=to_fields_v1(self.fields - paths))

    def to_json(self) -> JSONObject:
        """As ``managedFields`` has it."""
        entry = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.encoded,
        }
        return {**entry, "subresource": self.subresource} if self.subresource else entry


def new_entry(kind: Kind, writer: Writer, encoded: JSONObject) -> Entry:
    """The entry that says that ``writer`` owns what is ``encoded``, of an object of ``kind``."""
    return Entry(writer.manager, writer.operation, writer.subresource, kind.api_version, writer.time, encoded)


def read_entries(obj: JSONObject) -> tuple[Entry, ...]:
    """The entries of an object; what is not readable as one is dropped, as the real server does."""
    return tuple(
        Entry(
            str(raw.get("manager", "")),
            str(raw.get("operation", "")),
            str(raw.get("subresource", "")),
            str(raw.get("apiVersion", "")),
            str(raw.get("time", "")),
            raw["fieldsV1"],
        )
        for raw in obj["metadata"].get("managedFields") or ()
        if isinstance(raw, dict) and isinstance(raw.get("fieldsV1"), dict)
    )


def write_entries(obj: JSONObject, entries: Iterable[Entry]) -> None:
    """Set the entries of an object, leaving out those that own nothing (any more)."""
    # The real server's order: who applied comes first, and then who came first.
    ordered = sorted(entries, key=lambda entry: (entry.operation, entry.time, entry.manager, entry.subresource))
    listed = [entry.to_json() for entry in ordered if entry.encoded]
    if listed:
        obj["metadata"]["managedFields"] = listed
    else:
        obj["metadata"].pop("managedFields", None)


@dataclass(frozen=True, slots=True)
class Ownership:
    """Keeps ``managedFields``; with ``enabled=False`` creates and updates are not recorded, only kept."""

    enabled: bool = True

    def record(self, kind: Kind, obj: JSONObject, old: JSONObject | None, writer: Writer) -> None:
        """Note in ``obj`` that ``writer`` wrote what differs from ``old``. Sending an empty list gives up all of it."""
        metadata = obj["metadata"]
        if old is None:
            metadata.pop("managedFields", None)
            if self.enabled:
                fields = all_fields_v1(obj, shape_of(kind))
                if "status" in kind.subresources:
                    fields.pop("f:status", None)  # written through the subresource, even where it may come along
                write_entries(obj, [new_entry(kind, writer, fields)])
            return
        if "managedFields" not in metadata and "managedFields" in old["metadata"]:
            metadata["managedFields"] = old["metadata"]["managedFields"]
        elif metadata.get("managedFields") == []:
            del metadata["managedFields"]
            return
        if self.enabled:
            _record_change(kind, obj, old, writer)


def _record_change(kind: Kind, obj: JSONObject, old: JSONObject, writer: Writer) -> None:
    written, gone = changes(old, obj, shape_of(kind))
    if not written and not gone:
        return
    entries = read_entries(obj)
    mine = next((entry.fields for entry in entries if entry.identity == writer.identity), frozenset())
    # What is gone has no owner; what was written has a new one.
    others = [entry.without(written | gone) for entry in entries if entry.identity != writer.identity]
    write_entries(obj, [*others, new_entry(kind, writer, to_fields_v1((mine - gone) | written))])
