"""The entries of ``metadata.managedFields``: who wrote, how, when, and which fields."""

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

# Who owns what the oldest of more updaters than these had owned.
_ANCIENT, _MAX_UPDATERS = "ancient-changes", 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Who writes: a manager, by which kind of request, through which subresource, when."""

    manager: str
    operation: Operation
    subresource: str
    time: str

    api_version: str = ""

    @property
    def identity(self) -> Identity:
        """What tells the entries of one object apart."""
        return _identity(self.manager, self.operation, self.subresource, self.api_version)


def _identity(manager: str, operation: str, subresource: str, api_version: str) -> Identity:
    """Who applies is the same through all versions of a resource; who updates is not."""
    return (manager, operation, subresource, "" if operation == "Apply" else api_version)


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
    def identity(self) -> Identity:
        """What tells the entries of one object apart."""
        return _identity(self.manager, self.operation, self.subresource, self.api_version)

    @property
    def told(self) -> str:
        """The identity as the real server writes it down, which is what it sorts by."""
        manager, operation, subresource, api_version = self.identity
        named = {"manager": manager, "operation": operation, "apiVersion": api_version, "subresource": subresource}
        return msgspec.json.encode({name: text for name, text in named.items() if text}).decode()

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
            "subresource": self.subresource,
        }
        return {name: value for name, value in entry.items() if value or name == "fieldsV1"}


def new_entry(kind: Kind, writer: Writer, encoded: JSONObject) -> Entry:
    """The entry that says that ``writer`` owns what is ``encoded``, of an object of ``kind``."""
    return Entry(writer.manager, writer.operation, writer.subresource, kind.api_version, writer.time, encoded)


def read_entries(obj: JSONObject) -> tuple[Entry, ...]:
    """The entries of an object; none at all where one of them is not readable, as in the real server.

    Of several with the same identity the last counts.
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
    """Whether a value for ``managedFields``, which a client sent, says who owns what."""
    entries = read_entries({"metadata": {"managedFields": given}}) if isinstance(given, list) else ()
    return bool(entries) and all(is_fields_v1(entry.encoded) for entry in entries)


def write_entries(obj: JSONObject, entries: Iterable[Entry]) -> None:
    """Set the entries of an object, leaving out those that own nothing (any more)."""
    # The real server's order: who applied comes first, and then who came first.
    ordered = sorted(entries, key=lambda entry: (entry.operation, entry.time, entry.manager, entry.subresource))
    listed = [entry.to_json() for entry in ordered if entry.encoded]
    if listed:
        obj["metadata"]["managedFields"] = listed
    else:
        obj["metadata"].pop("managedFields", None)


def with_former_times(obj: JSONObject, old: JSONObject) -> JSONObject:
    """``obj`` with the times at which its owners wrote before, if they own just the same now."""
    entries, former = (each["metadata"].get("managedFields") or () for each in (obj, old))
    if entries == former or [{**each, "time": ""} for each in entries] != [{**each, "time": ""} for each in former]:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "managedFields": former}}


def capped(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """No more than so many updaters: the oldest that wrote in the same version become one."""
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
