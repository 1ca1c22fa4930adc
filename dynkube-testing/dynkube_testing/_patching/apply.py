"""Server-side apply (KEP-555): merge a configuration and track field ownership.

The results are those of structured-merge-diff. The path of a field depends on the schema (for example, on the keys of a
list), and so on the version. Paths in the applied configuration are those of the version of the request; paths in an
entry of ``managedFields`` are those of the version of the entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from dynkube.errors import StatusCause
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.gotext import quoted
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._patching.client_side import keep_annotation, taken_over
from dynkube_testing._patching.comparing import differ
from dynkube_testing._patching.contents import all_fields_v1, all_of
from dynkube_testing._patching.elements import Path, in_order, readable
from dynkube_testing._patching.entries import Entry, Writer, new_entry, read_entries, write_entries
from dynkube_testing._patching.fieldset import FieldSet, excluding, owned, to_fields_v1
from dynkube_testing._patching.merging import contents_of, merged, with_named, without
from dynkube_testing._patching.ownership import Comparisons, convert, entry_of_all, present_entries
from dynkube_testing._patching.resetting import reset_fields
from dynkube_testing._patching.shapes import Shape
from dynkube_testing._patching.versions import Unconvertible, Versions

_GROWTH = 8  # FieldsV1 is at most this many times longer than the fields it describes
_BEFORE_FIRST_APPLY = "before-first-apply"
_PRUNING = "failed to prune fields: "
_OWNED = f"{_PRUNING}failed add back owned items: "
_DANGLING = f"{_PRUNING}failed add back dangling items: "


@dataclass(frozen=True, slots=True)
class Application:
    """The parameters of one apply request.

    Attributes:
        kind: The kind of the object, in the version of the request.
        writer: The manager that applies.
        force: Whether to take over fields that other managers own.
        versions: The versions of the kind.
    """

    kind: Kind
    writer: Writer
    force: bool
    versions: Versions

    @property
    def shape(self) -> Shape:
        """The shape of objects in the version of the request."""
        return self.versions.shape

    def merge(self, live: JSONObject | None, applied: JSONObject) -> JSONObject:
        """Return the merged object. Arguments are not modified.

        Fields that the request cannot write (such as the status) are merged too; the caller must reset them.

        Args:
            live: The live object; ``None`` if it does not exist.
            applied: The applied configuration.

        Raises:
            ApplyConflict: Other managers own fields that would change, and the request has no ``force``.
            ServerError: An object cannot be converted to a version in which a manager owns fields.
        """
        try:
            return self._merge(live, applied)
        except Unconvertible as trouble:
            raise refuse.failed(str(trouble)) from None

    def _merge(self, live: JSONObject | None, applied: JSONObject) -> JSONObject:
        own, shape, present = self.kind.api_version, self.shape, live or {}
        _check_size(applied, shape)
        reset = reset_fields(self.kind, self.writer.subresource)
        entries = present_entries(self._entries(live), self.versions, present, own)
        mine = next((entry for entry in entries if entry.identity == self.writer.identity), None)
        others = [entry for entry in entries if entry is not mine]
        wanted = excluding(all_of(applied, shape), reset)
        encoded = to_fields_v1(owned(wanted))
        result: JSONObject = merged(present, applied, shape)
        if mine is not None and mine.encoded and not self._keeps_all(mine, wanted, encoded, entries):
            claims = [(own, wanted), *((entry.api_version, entry.fields) for entry in others)]
            result = _Pruning(self.versions, own).prune(result, mine, claims)
        changed = Comparisons(self.versions, self.kind, self.writer.subresource, present, result).by_version(others)
        if not self.force:
            self._refuse_conflicts(others, changed, present)
        kept = [entry.without(frozenset().union(*changed[entry.api_version])) for entry in others]
        # An apply without changes keeps the former time of its entry, so that the object is not written. If there is no
        # former entry, the new one has no time.
        wrote = live is None or any(changed[own]) or differ(present, result, shape)
        time = self.writer.time if wrote else mine.time if mine is not None else ""
        result = {**result, "metadata": dict(result["metadata"])}
        if live is not None:
            keep_annotation(self.writer.manager, result, applied)
        entry = new_entry(self.kind, replace(self.writer, time=time), encoded)
        write_entries(result, [*kept, entry])
        return result

    def _keeps_all(self, mine: Entry, wanted: FieldSet, encoded: JSONObject, entries: Sequence[Entry]) -> bool:
        """Return whether ``wanted`` has all fields applied before: nothing is pruned.

        Also ``False`` if versions have different schemas and an entry has another version than the request, because
        paths cannot be compared then.
        """
        if not (self.versions.alike or all(entry.api_version == self.kind.api_version for entry in entries)):
            return False
        return mine.encoded == encoded or mine.fields <= wanted

    def _entries(self, live: JSONObject | None) -> tuple[Entry, ...]:
        """Return the entries of ``live``.

        If it has none, one entry for all fields is returned, with the manager ``before-first-apply``.
        """
        if live is None:
            return ()
        unknown = replace(self.writer, manager=_BEFORE_FIRST_APPLY, operation="Update")
        return read_entries(live) or (entry_of_all(self.kind, live, unknown),)

    def _refuse_conflicts(
        self, others: Sequence[Entry], changed: Mapping[str, tuple[FieldSet, FieldSet]], live: JSONObject
    ) -> None:
        contested = [
            (path, entry)
            for entry in sorted(others, key=lambda entry: entry.sort_key)
            for path in in_order(path for path in changed[entry.api_version][0] if entry.owns(path))
        ]
        allowed = taken_over(self.writer.manager, self.kind, live) if contested else frozenset()
        in_the_way = [(path, entry) for path, entry in contested if path not in allowed]
        if in_the_way:
            raise refuse.apply_conflict([_cause(path, entry) for path, entry in in_the_way])


def _check_size(applied: JSONObject, shape: Shape) -> None:
    """Reject an object whose ``managedFields`` alone are too large to be stored.

    A real server checks the size only after the merge. Merging a list of 60,000 items took 100 MB of memory, so it is
    checked before the merge here.
    """
    if len(msgspec.json.encode(applied)) < refuse.MAX_OBJECT // _GROWTH:
        return
    if len(msgspec.json.encode(all_fields_v1(applied, shape))) > refuse.MAX_OBJECT:
        raise refuse.too_large()


@dataclass(frozen=True, slots=True)
class _Pruning:
    """Removal of fields that a manager no longer applies, unless others own them."""

    versions: Versions
    own: str

    def prune(self, result: JSONObject, mine: Entry, claims: Sequence[tuple[str, FieldSet]]) -> JSONObject:
        """Return the merged object ``result`` without fields no longer applied.

        Args:
            result: The merged object.
            mine: The previous entry of the manager that applies.
            claims: Pairs of a version and the fields owned in it from now on, for all managers including this one.

        Raises:
            Unconvertible: The object, merged or pruned, cannot be converted to one of the versions.
        """
        former, shape = mine.api_version, self.versions.shape_in(mine.api_version)
        if shape is None:
            return result
        if former != self.own:
            prefix = f"{_PRUNING}failed to convert merged object to last applied version: "
            result = convert(self.versions, result, former, prefix)
        last = with_named(mine.fields, shape)
        pruned, at = without(result, last, shape), former
        for version in dict.fromkeys([former, *(version for version, _ in claims)]):
            claimed = frozenset[Path]().union(*(fields for claim, fields in claims if claim == version))
            pruned, at = self._with_claimed(result, pruned, at, version, claimed)
        if at != former:
            prefix = f"{_DANGLING}failed to convert pruned object to last applied version: "
            pruned = convert(self.versions, pruned, former, prefix)
        dropped = contents_of(result, shape) - contents_of(pruned, shape)
        pruned = without(result, dropped & last, shape)
        return pruned if former == self.own else convert(self.versions, pruned, self.own, _PRUNING)

    def _with_claimed(
        self, result: JSONObject, pruned: JSONObject, at: str, version: str, claimed: FieldSet
    ) -> tuple[JSONObject, str]:
        """Restore those fields in ``pruned`` that are owned in ``version``.

        Args:
            result: The merged object, from which fields are restored.
            pruned: The pruned object.
            at: The version of both objects. If it is not ``version``, they must be convertible to ``version``.
            version: The version in which the fields are owned.
            claimed: The owned fields.

        Returns:
            The object and its version.
        """
        shape = self.versions.shape_in(version)
        if shape is None:
            return pruned, at
        if version != at:
            merged_at = f"{_OWNED}failed to convert merged object at version {version}: "
            result = convert(self.versions, result, version, merged_at)
            pruned_at = f"{_OWNED}failed to convert pruned object at version {version}: "
            pruned = convert(self.versions, pruned, version, pruned_at)
        dropped = contents_of(result, shape) - contents_of(pruned, shape)
        return without(result, dropped - with_named(claimed, shape), shape), version


def _cause(path: Path, entry: Entry) -> StatusCause:
    """Return the status cause for a conflict with ``entry`` about ``path``."""
    subresource = f' with subresource "{entry.subresource}"' if entry.subresource else ""
    # An entry of an applier is not specific to a version, so the real server's message has none.
    version = "" if entry.operation == "Apply" else f" using {entry.api_version}"
    return StatusCause(
        readable(path), "FieldManagerConflict", f"conflict with {quoted(entry.manager)}{subresource}{version}"
    )
