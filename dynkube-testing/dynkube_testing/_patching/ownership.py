"""Update of ``metadata.managedFields`` by every create and update.

As on a real server, a manager that updates through two versions of a resource has an entry for each version, and the
fields of an entry are compared in the version of the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._patching.comparing import changes
from dynkube_testing._patching.contents import all_fields_v1
from dynkube_testing._patching.elements import Path
from dynkube_testing._patching.entries import Entry, Writer, capped, is_readable, new_entry, read_entries, write_entries
from dynkube_testing._patching.fieldset import FieldSet, excluding, from_fields_v1, to_fields_v1, without_roots
from dynkube_testing._patching.resetting import reset_fields
from dynkube_testing._patching.shapes import Shape, shape_of
from dynkube_testing._patching.versions import BuiltinVersions, Unconvertible, Versions


@dataclass(frozen=True, slots=True)
class Ownership:
    """Maintains ``managedFields``.

    Attributes:
        enabled: Whether creates and updates change entries; otherwise existing entries are kept as they are.
        versions: Function that returns the versions of a kind.
    """

    enabled: bool = True
    versions: Callable[[Kind], Versions] = BuiltinVersions

    def record(self, kind: Kind, obj: JSONObject, old: JSONObject | None, writer: Writer) -> None:
        """Record in ``obj`` that ``writer`` owns the fields that differ from ``old``.

        An empty ``managedFields`` in the request removes all entries.

        Args:
            kind: The kind, in the version of the request.
            obj: The object to be stored; its ``managedFields`` are modified.
            old: The stored object; ``None`` for a create.
            writer: The manager of the request.
        """
        metadata = obj["metadata"]
        if old is None:
            metadata.pop("managedFields", None)
            if self.enabled:
                write_entries(obj, [entry_of_all(kind, obj, writer)])
            return
        given = metadata.pop("managedFields", None)
        if kind.crd_uid is not None and given == []:
            given = None  # the real server drops an empty list when it decodes the metadata of a custom resource
        if given in ([], [{}]) and not writer.subresource:
            return  # an empty list removes all entries, even that of the writer
        before = old["metadata"].get("managedFields")
        if writer.subresource or not given or (given != before and not is_readable(given)):
            given = before
        if not given:
            return  # an object without entries gets none from updates, only from an apply
        metadata["managedFields"] = given
        if not self.enabled:
            return
        try:
            write_entries(obj, _Update(kind, writer, self.versions(kind)).entries(obj, old))
        except Unconvertible:
            # As in the real server, all entries are lost: https://github.com/kubernetes/kubernetes/issues/133704
            metadata.pop("managedFields", None)

    def record_part(self, kind: Kind, obj: JSONObject, writer: Writer) -> None:
        """Record ``writer`` as owner of an object created through its status.

        It owns only the status and the metadata.
        """
        metadata, status = obj["metadata"], obj.get("status") or {}
        metadata.pop("managedFields", None)
        part = {"metadata": metadata, "status": {name: value for name, value in status.items() if value}}
        if not part["status"]:
            del part["status"]
        if fields := all_fields_v1(part, shape_of(kind)):
            write_entries(obj, [new_entry(kind, writer, fields)])


def entry_of_all(kind: Kind, obj: JSONObject, writer: Writer) -> Entry:
    """Return an entry with all fields of ``obj`` that ``writer`` can write."""
    fields = all_fields_v1(obj, shape_of(kind))
    return new_entry(kind, writer, without_roots(fields, reset_fields(kind, writer.subresource)))


@dataclass(frozen=True, slots=True)
class Comparisons:
    """The differences between two states of an object, in each version.

    Attributes:
        versions: The versions of the resource.
        kind: The kind, in the version of the request.
        subresource: The subresource of the request.
        old: The old state.
        new: The new state.
    """

    versions: Versions
    kind: Kind
    subresource: str
    old: JSONObject
    new: JSONObject

    def by_version(self, entries: Iterable[Entry]) -> dict[str, tuple[FieldSet, FieldSet]]:
        """Return the changed and the removed fields, for each version in ``entries``.

        The version of the request is included. Versions that no longer exist are left out.

        Raises:
            Unconvertible: One of the states cannot be converted to one of the versions.
        """
        reset = reset_fields(self.kind, self.subresource)
        own = self._changes(self.versions.shape, reset)
        found = {self.kind.api_version: own}
        for version in dict.fromkeys(entry.api_version for entry in entries):
            shape = None if version in found else self.versions.shape_in(version)
            if shape is None:
                continue
            convert(self.versions, self.old, version, "failed to convert old object: ")
            convert(self.versions, self.new, version, "failed to convert new object: ")
            # For updates of a whole custom resource, the status is only left out in the version of the request.
            elsewhere = reset if self.subresource else ()
            found[version] = own if self.versions.alike else self._changes(shape, elsewhere, version)
        return found

    def _changes(self, shape: Shape, reset: tuple[Path, ...], version: str = "") -> tuple[FieldSet, FieldSet]:
        """Return the changed and the removed fields in ``version``, ``""`` for that of the request."""
        old, new = self.old, self.new
        if version:
            old, new = (self.versions.converted(each, version) for each in (old, new))
        written, gone = changes(old, new, shape)
        return excluding(written, reset), excluding(gone, reset)


def convert(versions: Versions, obj: JSONObject, api_version: str, prefix: str = "") -> JSONObject:
    """Return ``obj`` in the version ``api_version``.

    Raises:
        Unconvertible: It cannot be converted. The message begins with ``prefix``.
    """
    try:
        versions.check(obj, api_version)
        return versions.converted(obj, api_version)
    except Unconvertible as trouble:
        raise Unconvertible(f"{prefix}{trouble}") from None


def present_entries(entries: Iterable[Entry], versions: Versions, live: JSONObject, own: str) -> list[Entry]:
    """Return ``entries`` adapted to the current schemas.

    Entries of versions that no longer exist are left out. ``own`` is the version of the request and of ``live``.

    Raises:
        Unconvertible: ``live`` cannot be converted to the version of one of the entries.
    """
    found = []
    for entry in entries:
        shape = versions.shape_in(entry.api_version)
        if shape is None:
            continue
        if entry.api_version != own:
            versions.check(live, entry.api_version)
        found.append(replace(entry, encoded=reconciled(entry.encoded, shape)))
    return found


@dataclass(frozen=True, slots=True)
class _Update:
    """An update of an object of ``kind`` by ``writer``; any write other than an apply."""

    kind: Kind
    writer: Writer
    versions: Versions

    def entries(self, obj: JSONObject, old: JSONObject) -> Iterable[Entry]:
        """Return the new entries for ``obj``, whose ``managedFields`` are the old ones.

        Raises:
            Unconvertible: An object cannot be converted to the version of one of the entries.
        """
        own, writer = self.kind.api_version, replace(self.writer, api_version=self.kind.api_version)
        # If the client sent entries, they may be encoded in another way than those of the server.
        same_record = obj["metadata"]["managedFields"] == old["metadata"].get("managedFields")
        before, after = _bare(old), _bare(obj)
        entries: list[Entry] = list(read_entries(obj))
        if not (self.versions.alike and same_record):
            entries = present_entries(entries, self.versions, before, own)
            if not same_record:
                entries = [replace(entry, encoded=to_fields_v1(entry.fields)) for entry in entries]
        compared = Comparisons(self.versions, self.kind, writer.subresource, before, after)
        versions = compared.by_version(entries)
        written, gone = versions[own]
        if not written and not gone and all(not any(differ) for differ in versions.values()):
            return entries
        me = next((entry for entry in entries if entry.identity == writer.identity), None)
        # Other managers lose removed and changed fields.
        others = [
            entry.without(frozenset().union(*versions[entry.api_version])) for entry in entries if entry is not me
        ]
        if not written:
            mine = [] if me is None else [me.without(gone)]
            return capped([*others, *mine])
        return capped([*others, self._entry(writer, me, written, gone)])

    def _entry(self, writer: Writer, me: Entry | None, written: FieldSet, gone: FieldSet) -> Entry:
        if me is None:
            return new_entry(self.kind, writer, to_fields_v1(written))
        encoded = me.encoded
        # A fast path, because most updates change only fields that the manager already owns.
        if gone or not all(me.owns(path) for path in written):
            encoded = to_fields_v1((from_fields_v1(encoded) - gone) | written)
        return new_entry(self.kind, replace(writer, time=writer.time or me.time), encoded)


def _bare(obj: JSONObject) -> JSONObject:
    """Return ``obj`` with ``None`` as ``managedFields``, which are not compared."""
    return {**obj, "metadata": {**obj["metadata"], "managedFields": None}}


def reconciled(encoded: JSONObject, shape: Shape) -> JSONObject:
    """Return FieldsV1 adapted to maps or lists that have become atomic.

    The owner of a part of such a value now owns the whole value. Values that are no longer atomic need no change: their
    owner owns the container only, and nothing in it. The same object is returned if nothing changed.
    """
    result = {element: _child(element, child, shape) for element, child in encoded.items()}
    return encoded if all(result[element] is child for element, child in encoded.items()) else result


def _child(element: str, child: JSONObject, shape: Shape) -> JSONObject:
    if not child:
        return child
    inner = shape.field(element[2:]) if element.startswith("f:") else shape.item()
    if inner.form not in {"map", "list"} or (inner.form == "map" and inner.deduced):
        return child
    one_value = inner.atomic if inner.form == "map" else inner.list_type == "atomic"
    return {} if one_value else reconciled(child, inner)
