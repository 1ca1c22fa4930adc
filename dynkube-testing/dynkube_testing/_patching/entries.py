"""Reading and writing of the entries of ``metadata.managedFields``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import msgspec

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._patching.elements import Path
from dynkube_testing._patching.fieldset import FieldSet, from_fields_v1, is_fields_v1, says, to_fields_v1

Operation: TypeAlias = Literal["Apply", "Update"]
Identity: TypeAlias = tuple[str, str, str, str]

# The manager that gets the fields of the oldest updaters if there are too many, and the maximum number of updaters.
_ANCIENT, _MAX_UPDATERS = "ancient-changes", 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """The manager of a request, with its operation, subresource and time."""

    manager: str
    operation: Operation
    subresource: str
    time: str

    api_version: str = ""

    @property
    def identity(self) -> Identity:
        """The key of the writer's entry in ``managedFields``."""
        return _identity(self.manager, self.operation, self.subresource, self.api_version)


def _identity(manager: str, operation: str, subresource: str, api_version: str) -> Identity:
    """Return the identity of an entry.

    An applier has one entry for all versions, so its identity has no version.
    """
    return (manager, operation, subresource, "" if operation == "Apply" else api_version)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of ``managedFields``; ``encoded`` is its FieldsV1, decoded on demand."""

    manager: str
    operation: str
    subresource: str
    api_version: str
    time: str
    encoded: JSONObject

    @property
    def identity(self) -> Identity:
        """The key of the entry in ``managedFields``."""
        return _identity(self.manager, self.operation, self.subresource, self.api_version)

    @property
    def sort_key(self) -> str:
        """The identity as JSON text, by which the real server sorts entries."""
        manager, operation, subresource, api_version = self.identity
        named = {"manager": manager, "operation": operation, "apiVersion": api_version, "subresource": subresource}
        return msgspec.json.encode({name: text for name, text in named.items() if text}).decode()

    @property
    def fields(self) -> FieldSet:
        """The owned fields."""
        return from_fields_v1(self.encoded)

    def owns(self, path: Path) -> bool:
        """Return whether ``path`` is among :attr:`fields`."""
        return says(self.encoded, path)

    def without(self, paths: FieldSet) -> Entry:
        """Return an entry without ``paths``; the same entry if it owns none of them."""
        if not any(self.owns(path) for path in paths):
            return self
        return replace(self, encoded=to_fields_v1(self.fields - paths))

    def to_json(self) -> JSONObject:
        """Return the entry as JSON, in the form of ``managedFields``."""
        entry = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.encoded,
            "subresource": self.subresource,
        }
        return {name: value for name, value in entry.items() if value or name == "fieldsV1"}


def new_entry(kind: Kind, writer: Writer, encoded: JSONObject) -> Entry:
    """Return an entry of ``writer`` for the fields in the FieldsV1 ``encoded``."""
    return Entry(writer.manager, writer.operation, writer.subresource, kind.api_version, writer.time, encoded)


def read_entries(obj: JSONObject) -> tuple[Entry, ...]:
    """Return the entries of an object.

    As in the real server, the result is empty if one of the entries is invalid, and of several entries with the same
    identity only the last is returned.
    """
    given = obj["metadata"].get("managedFields") or ()
    if not all(isinstance(raw, dict) and _readable(raw) for raw in given):
        return ()
    entries = (
        Entry(
            str(raw.get("manager", "")),
            str(raw.get("operation", "")),
            str(raw.get("subresource", "")),
            str(raw.get("apiVersion", "")),
            str(raw.get("time") or ""),
            raw.get("fieldsV1") or {},
        )
        for raw in given
    )
    return tuple({entry.identity: entry for entry in entries}.values())


def _readable(raw: JSONObject) -> bool:
    fields = raw.get("fieldsV1")
    return (
        raw.get("operation") in {"Apply", "Update"}
        and bool(raw.get("apiVersion"))
        and raw.get("fieldsType") == "FieldsV1"
        and (fields is None or isinstance(fields, dict))
    )


def is_readable(given: object) -> bool:
    """Return whether ``managedFields`` from a client are valid and not empty."""
    entries = read_entries({"metadata": {"managedFields": given}}) if isinstance(given, list) else ()
    return bool(entries) and all(is_fields_v1(entry.encoded) for entry in entries)


def write_entries(obj: JSONObject, entries: Iterable[Entry]) -> None:
    """Set ``managedFields`` of an object; entries without fields are left out."""
    # Sorted as in the real server: appliers first, then by time.
    ordered = sorted(entries, key=lambda entry: (entry.operation, entry.time, entry.manager, entry.subresource))
    listed = [entry.to_json() for entry in ordered if entry.encoded]
    if listed:
        obj["metadata"]["managedFields"] = listed
    else:
        obj["metadata"].pop("managedFields", None)


def with_former_times(obj: JSONObject, old: JSONObject) -> JSONObject:
    """Return ``obj`` with the ``managedFields`` of ``old``, if only the times differ.

    Otherwise ``obj`` itself is returned.
    """
    entries, former = (each["metadata"].get("managedFields") or () for each in (obj, old))
    if entries == former or [{**each, "time": ""} for each in entries] != [{**each, "time": ""} for each in former]:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "managedFields": former}}


def capped(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Merge the oldest entries of updaters if there are more than 10.

    Only entries of the same version can be merged.
    """
    found = {entry.identity: entry for entry in entries if entry.encoded}
    updaters = sorted(
        (entry for entry in found.values() if entry.operation == "Update"),
        key=lambda entry: (entry.time, entry.sort_key),
    )
    too_many, first = len(updaters) - _MAX_UPDATERS, dict[str, Identity]()
    for entry in updaters:
        if too_many <= 0:
            break
        oldest = first.setdefault(entry.api_version, entry.identity)
        if oldest == entry.identity:
            continue
        both = replace(entry, manager=_ANCIENT, subresource="")
        together = found[both.identity] if both.identity in found else found.pop(oldest)
        del found[entry.identity]
        found[both.identity] = replace(both, encoded=to_fields_v1(together.fields | entry.fields))
        too_many -= 1
    return tuple(found.values())
