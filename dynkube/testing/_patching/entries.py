"""The entries of ``metadata.managedFields``: manager, operation, time, fields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import msgspec

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._patching.elements import Path
from dynkube.testing._patching.fieldset import FieldSet, from_fields_v1, is_fields_v1, says, to_fields_v1

Operation: TypeAlias = Literal["Apply", "Update"]
Identity: TypeAlias = tuple[str, str, str, str]

# Manager that owns the fields of the oldest updaters, once there are more than the maximum.
_ANCIENT, _MAX_UPDATERS = "ancient-changes", 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """The writer of a request: manager, operation, subresource, time."""

    manager: str
    operation: Operation
    subresource: str
    time: str

    api_version: str = ""

    @property
    def identity(self) -> Identity:
        """The key of a writer's entry among those of an object."""
        return _identity(self.manager, self.operation, self.subresource, self.api_version)


def _identity(manager: str, operation: str, subresource: str, api_version: str) -> Identity:
    """Return the identity of an entry; that of an applier has no version."""
    return (manager, operation, subresource, "" if operation == "Apply" else api_version)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of ``managedFields``; its FieldsV1, ``encoded``, is decoded lazily."""

    manager: str
    operation: str
    subresource: str
    api_version: str
    time: str
    encoded: JSONObject

    @property
    def identity(self) -> Identity:
        """The key of the entry among those of an object."""
        return _identity(self.manager, self.operation, self.subresource, self.api_version)

    @property
    def told(self) -> str:
        """The identity in the real server's serialized form, which it sorts by."""
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
        """Return the entry without ``paths``: itself, if it owns none of them."""
        if not any(self.owns(path) for path in paths):
            return self
        return replace(self, encoded=to_fields_v1(self.fields - paths))

    def to_json(self) -> JSONObject:
        """Return its form in ``managedFields``."""
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
    """Return an entry by which ``writer`` owns the ``encoded`` fields of an object."""
    return Entry(writer.manager, writer.operation, writer.subresource, kind.api_version, writer.time, encoded)


def read_entries(obj: JSONObject) -> tuple[Entry, ...]:
    """Return the entries of an object; none at all if one of them is invalid.

    That is what the real server does. Of several with the same identity the last counts.
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
    """Return whether a client's value for ``managedFields`` is valid and not empty."""
    entries = read_entries({"metadata": {"managedFields": given}}) if isinstance(given, list) else ()
    return bool(entries) and all(is_fields_v1(entry.encoded) for entry in entries)


def write_entries(obj: JSONObject, entries: Iterable[Entry]) -> None:
    """Set the entries of an object, without those that own nothing."""
    # The real server's order: appliers come first, then by time.
    ordered = sorted(entries, key=lambda entry: (entry.operation, entry.time, entry.manager, entry.subresource))
    listed = [entry.to_json() for entry in ordered if entry.encoded]
    if listed:
        obj["metadata"]["managedFields"] = listed
    else:
        obj["metadata"].pop("managedFields", None)


def with_former_times(obj: JSONObject, old: JSONObject) -> JSONObject:
    """Return ``obj`` with the entries' former times, if they differ in nothing else."""
    entries, former = (each["metadata"].get("managedFields") or () for each in (obj, old))
    if entries == former or [{**each, "time": ""} for each in entries] != [{**each, "time": ""} for each in former]:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "managedFields": former}}


def capped(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Limit the number of updaters to 10: the oldest of the same version are merged."""
    found = {entry.identity: entry for entry in entries if entry.encoded}
    updaters = sorted(
        (entry for entry in found.values() if entry.operation == "Update"), key=lambda entry: (entry.time, entry.told)
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
