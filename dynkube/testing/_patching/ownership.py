"""Who wrote which field: ``metadata.managedFields``, kept on every write as server-side apply needs it.

Who updates through two versions of a resource has an entry for each, as on a real server. What they own is read as if
it were written through any version, which is the same where nothing is converted.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
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
    is_fields_v1,
    says,
    to_fields_v1,
)
from dynkube.testing._patching.shapes import shape_of

Operation: TypeAlias = Literal["Apply", "Update"]
Identity: TypeAlias = tuple[str, str, str, str]

# Who owns what the oldest of more updaters than these had owned.
_ANCIENT, _MAX_UPDATERS = "ancient-changes", 10
_BEFORE_FIRST_APPLY = "before-first-apply"


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
        entry |= {"subresource": self.subresource} if self.subresource else {}
        return {name: value for name, value in entry.items() if name != "time" or value}


def new_entry(kind: Kind, writer: Writer, encoded: JSONObject) -> Entry:
    """The entry that says that ``writer`` owns what is ``encoded``, of an object of ``kind``."""
    return Entry(writer.manager, writer.operation, writer.subresource, kind.api_version, writer.time, encoded)


def entry_of_unknown(kind: Kind, obj: JSONObject, writer: Writer) -> Entry:
    """The entry that says that somebody wrote all of ``obj``, on which nobody is on record."""
    unknown = replace(writer, manager=_BEFORE_FIRST_APPLY, operation="Update")
    return new_entry(kind, unknown, all_fields_v1(obj, shape_of(kind)))


def read_entries(obj: JSONObject) -> tuple[Entry, ...]:
    """The entries of an object; none at all where one of them is not readable, as in the real server."""
    given = obj["metadata"].get("managedFields") or ()
    if not all(isinstance(raw, dict) and _readable(raw) for raw in given):
        return ()
    return tuple(
        Entry(
            str(raw.get("manager", "")),
            str(raw.get("operation", "")),
            str(raw.get("subresource", "")),
            str(raw.get("apiVersion", "")),
            str(raw.get("time", "")),
            raw.get("fieldsV1") or {},
        )
        for raw in given
    )


def _readable(raw: JSONObject) -> bool:
    fields = raw.get("fieldsV1")
    return (
        raw.get("operation") in {"Apply", "Update"}
        and bool(raw.get("apiVersion"))
        and raw.get("fieldsType") == "FieldsV1"
        and (fields is None or isinstance(fields, dict))
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


def with_former_times(obj: JSONObject, old: JSONObject) -> JSONObject:
    """``obj`` with the times at which its owners wrote before, if they own just the same now."""
    entries, former = (each["metadata"].get("managedFields") or () for each in (obj, old))
    if entries == former or [{**each, "time": ""} for each in entries] != [{**each, "time": ""} for each in former]:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "managedFields": former}}


@dataclass(frozen=True, slots=True)
class Ownership:
    """Keeps ``managedFields``.

    Attributes:
        enabled: Whether creates and updates are recorded; otherwise what there is is kept.
        versions: The versions of a kind, ``None`` where any will do.
    """

    enabled: bool = True
    versions: Callable[[Kind], Container[str] | None] = lambda _: None

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
        given = metadata.pop("managedFields", None)
        if given in ([], [{}]) and not writer.subresource:
            return  # who empties the list gives up all of it, and is not on record either
        before = old["metadata"].get("managedFields")
        if writer.subresource or not given or (given != before and not _is_readable(given)):
            given = before
        if given:
            metadata["managedFields"] = given
            self._forget_versions(kind, obj)
            if self.enabled:
                _record_change(kind, obj, old, writer)

    def record_part(self, kind: Kind, obj: JSONObject, writer: Writer) -> None:
        """Note in a new ``obj`` that ``writer``, who wrote it through its status, owns that and its metadata."""
        metadata, status = obj["metadata"], obj.get("status") or {}
        metadata.pop("managedFields", None)
        part = {"metadata": metadata, "status": {name: value for name, value in status.items() if value}}
        if not part["status"]:
            del part["status"]
        if fields := all_fields_v1(part, shape_of(kind)):
            write_entries(obj, [new_entry(kind, writer, fields)])

    def _forget_versions(self, kind: Kind, obj: JSONObject) -> None:
        """Drop who wrote in a version that there is not."""
        known, entries = self.versions(kind), obj["metadata"]["managedFields"]
        if known is not None and not all(entry.get("apiVersion") in known for entry in entries):
            write_entries(obj, [entry for entry in read_entries(obj) if entry.api_version in known])


def _is_readable(given: object) -> bool:
    entries = read_entries({"metadata": {"managedFields": given}}) if isinstance(given, list) else ()
    return bool(entries) and all(is_fields_v1(entry.encoded) for entry in entries)


def _record_change(kind: Kind, obj: JSONObject, old: JSONObject, writer: Writer) -> None:
    if not (entries := read_entries(obj)):
        return  # nobody is on record until somebody applies
    shape = shape_of(kind)
    # What a client sends back may say the same in another form, which the server's own does not.
    same_record = obj["metadata"]["managedFields"] == old["metadata"].get("managedFields")
    # The list itself is nobody's, and is not to be compared.
    before, after = ({**each, "metadata": {**each["metadata"], "managedFields": None}} for each in (old, obj))
    written, gone = changes(before, after, shape)
    if not written and not gone:
        return
    writer = replace(writer, api_version=kind.api_version)
    before_me = next((entry for entry in entries if entry.identity == writer.identity), None)
    if before_me is not None and not writer.time:
        writer = replace(writer, time=before_me.time)
    if before_me is not None and same_record and not gone and all(before_me.owns(path) for path in written):
        encoded = before_me.encoded  # writing again what is one's own changes nothing; most updates are that
    else:
        mine = before_me.fields if before_me is not None else frozenset()
        encoded = to_fields_v1((mine - gone) | written)
    # What is gone has no owner; what was written has a new one.
    others = [entry.without(written | gone) for entry in entries if entry.identity != writer.identity]
    write_entries(obj, _capped([*others, new_entry(kind, writer, encoded)]))


def _capped(entries: list[Entry]) -> tuple[Entry, ...]:
    """No more than so many updaters: the oldest that wrote in the same version become one."""
    entries = [entry for entry in entries if entry.encoded]
    updaters = sorted(
        (entry for entry in entries if entry.operation == "Update"), key=lambda entry: (entry.time, entry.manager)
    )
    count, first = len(updaters), dict[str, Entry]()
    for entry in updaters:
        if count <= _MAX_UPDATERS:
            break
        oldest = first.get(entry.api_version)
        if oldest is None:
            first[entry.api_version] = entry
            continue
        fields = to_fields_v1(oldest.fields | entry.fields)
        merged = replace(entry, manager=_ANCIENT, subresource="", encoded=fields)
        entries = [each for each in entries if each not in (oldest, entry)] + [merged]
        first[entry.api_version] = merged
        count -= 1
    return tuple(entries)
