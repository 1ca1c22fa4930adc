"""Server-side apply (KEP-555): merge a configuration and track field ownership.

The results are those of structured-merge-diff. Fields are identified by the schema of the written version, and those
that a manager owns in another version by the schema of that version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from dynkube.errors import StatusCause
from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import JSONObject
from dynkube.testing._calls.gotext import quoted
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._patching.client_side import keep_annotation, taken_over
from dynkube.testing._patching.comparing import differ
from dynkube.testing._patching.contents import all_fields_v1, all_of
from dynkube.testing._patching.elements import Path, in_order, readable
from dynkube.testing._patching.entries import Entry, Writer, new_entry, read_entries, write_entries
from dynkube.testing._patching.fieldset import FieldSet, excluding, owned, to_fields_v1
from dynkube.testing._patching.merging import contents_of, merged, with_named, without
from dynkube.testing._patching.ownership import Comparisons, convert, entry_of_all, present_entries
from dynkube.testing._patching.resetting import reset_fields
from dynkube.testing._patching.shapes import Shape
from dynkube.testing._patching.versions import Unconvertible, Versions

_GROWTH = 8  # FieldsV1 is at most this many times longer than the fields it describes
_BEFORE_FIRST_APPLY = "before-first-apply"
_PRUNING = "failed to prune fields: "
_OWNED = f"{_PRUNING}failed add back owned items: "
_DANGLING = f"{_PRUNING}failed add back dangling items: "


@dataclass(frozen=True, slots=True)
class Application:
    """One apply request: what ``writer`` applies to objects of ``kind``.

    Attributes:
        kind: Their kind.
        writer: The manager that applies.
        force: Whether to take fields that others own.
        versions: The versions of the kind.
    """

    kind: Kind
    writer: Writer
    force: bool
    versions: Versions

    @property
    def shape(self) -> Shape:
        """The shape of the objects in the written version."""
        return self.versions.shape

    def merge(self, live: JSONObject | None, applied: JSONObject) -> JSONObject:
        """Return the merged object. Arguments are not modified.

        Fields that the request cannot write are merged too: the caller must reset them.

        Args:
            live: The live object; ``None`` if it does not exist.
            applied: The applied configuration.

        Raises:
            ApplyConflict: Others own fields that would change, and it is not forced.
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
        # An apply without changes keeps its time, so that it does not count as a write; the first one has none then.
        wrote = live is None or any(changed[own]) or differ(present, result, shape)
        time = self.writer.time if wrote else mine.time if mine is not None else ""
        result = {**result, "metadata": dict(result["metadata"])}
        if live is not None:
            keep_annotation(self.writer.manager, result, applied)
        entry = new_entry(self.kind, replace(self.writer, time=time), encoded)
        write_entries(result, [*kept, entry])
        return result

    def _keeps_all(self, mine: Entry, wanted: FieldSet, encoded: JSONObject, entries: Sequence[Entry]) -> bool:
        """Return whether all fields applied before are applied again: nothing to prune.

        If versions differ it depends on their schemas, and the answer is ``False``.
        """
        if not (self.versions.alike or all(entry.api_version == self.kind.api_version for entry in entries)):
            return False
        return mine.encoded == encoded or mine.fields <= wanted

    def _entries(self, live: JSONObject | None) -> tuple[Entry, ...]:
        """Return the entries; without any, all fields belong to ``before-first-apply``."""
        if live is None:
            return ()
        unknown = replace(self.writer, manager=_BEFORE_FIRST_APPLY, operation="Update")
        return read_entries(live) or (entry_of_all(self.kind, live, unknown),)

    def _refuse_conflicts(
        self, others: Sequence[Entry], changed: Mapping[str, tuple[FieldSet, FieldSet]], live: JSONObject
    ) -> None:
        contested = [
            (path, entry)
            for entry in sorted(others, key=lambda entry: entry.told)
            for path in in_order(path for path in changed[entry.api_version][0] if entry.owns(path))
        ]
        allowed = taken_over(self.writer.manager, self.kind, live) if contested else frozenset()
        in_the_way = [(path, entry) for path, entry in contested if path not in allowed]
        if in_the_way:
            raise refuse.apply_conflict([_cause(path, entry) for path, entry in in_the_way])


def _check_size(applied: JSONObject, shape: Shape) -> None:
    """Refuse an object whose ``managedFields`` alone are too large to be stored.

    A real server finds that out at the very end. The work up to there took 100 MB for a list of 60,000 items.
    """
    if len(msgspec.json.encode(applied)) < refuse.MAX_OBJECT // _GROWTH:
        return
    if len(msgspec.json.encode(all_fields_v1(applied, shape))) > refuse.MAX_OBJECT:
        raise refuse.too_large()


@dataclass(frozen=True, slots=True)
class _Pruning:
    """Removes fields that a manager no longer applies, unless others own them."""

    versions: Versions
    own: str

    def prune(self, result: JSONObject, mine: Entry, claims: Sequence[tuple[str, FieldSet]]) -> JSONObject:
        """Return ``result`` of a merge, pruned.

        Args:
            result: The merged object.
            mine: The manager's previous entry.
            claims: The fields that each manager owns from now on, this one included, with their version.

        Raises:
            Unconvertible: One of the objects cannot be converted to one of the versions.
        """
        former, shape = mine.api_version, self.versions.shape_in(mine.api_version)
        if shape is None:
            return result
        if former != self.own:
            words = f"{_PRUNING}failed to convert merged object to last applied version: "
            convert(self.versions, result, former, words)
        last = with_named(mine.fields, shape)
        pruned, at = without(result, last, shape), former
        for version in dict.fromkeys([former, *(version for version, _ in claims)]):
            claimed = frozenset[Path]().union(*(fields for claim, fields in claims if claim == version))
            pruned, at = self._with_claimed(result, pruned, at, version, claimed)
        if at != former:
            words = f"{_DANGLING}failed to convert pruned object to last applied version: "
            convert(self.versions, pruned, former, words)
        dropped = contents_of(result, shape) - contents_of(pruned, shape)
        pruned = without(result, dropped & last, shape)
        if former != self.own:
            convert(self.versions, pruned, self.own, _PRUNING)
        return pruned

    def _with_claimed(
        self, result: JSONObject, pruned: JSONObject, at: str, version: str, claimed: FieldSet
    ) -> tuple[JSONObject, str]:
        """Return ``pruned`` with the fields of ``result`` owned in ``version``.

        Both objects are in the version ``at``; whether they can be converted is checked only if it is another one. The
        second value is the version that the returned object is in.
        """
        shape = self.versions.shape_in(version)
        if shape is None:
            return pruned, at
        if version != at:
            convert(self.versions, result, version, f"{_OWNED}failed to convert merged object at version {version}: ")
            convert(self.versions, pruned, version, f"{_OWNED}failed to convert pruned object at version {version}: ")
        dropped = contents_of(result, shape) - contents_of(pruned, shape)
        return without(result, dropped - with_named(claimed, shape), shape), version


def _cause(path: Path, entry: Entry) -> StatusCause:
    """Return the conflict about a field that would change."""
    subresource = f' with subresource "{entry.subresource}"' if entry.subresource else ""
    # The identity of an applying manager has no version in it, since it is the same in all of them.
    version = "" if entry.operation == "Apply" else f" using {entry.api_version}"
    return StatusCause(
        readable(path), "FieldManagerConflict", f"conflict with {quoted(entry.manager)}{subresource}{version}"
    )
