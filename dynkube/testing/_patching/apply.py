"""Server-side apply (KEP-555): merge what a manager wants into what is there, and keep account of who owns what.

The results are those of structured-merge-diff; fields are told apart by the schema of the version that is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from dynkube.errors import StatusCause
from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._patching.client_side import keep_annotation, taken_over
from dynkube.testing._patching.fieldset import Path, all_of, changes, owned, readable, to_fields_v1
from dynkube.testing._patching.merging import merged, without_former
from dynkube.testing._patching.ownership import Entry, Writer, entry_of_unknown, new_entry, read_entries, write_entries
from dynkube.testing._patching.shapes import shape_of

_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Application:
    """One apply: what ``writer`` wants objects of ``kind`` to say."""

    kind: Kind
    writer: Writer
    force: bool

    def merge(
        self, live: JSONObject | None, applied: JSONObject, beside: Mapping[str, object] = _NOTHING
    ) -> JSONObject:
        """The object that results. Arguments stay as they are.

        Args:
            live: What is there; ``None`` where there is nothing yet.
            applied: What the manager wants, as far as it has a say.
            beside: What was sent besides. It is not written, but where it differs it counts as a write.

        Raises:
            ApplyConflict: Others own fields that would change, and it is not forced.
        """
        shape = shape_of(self.kind)
        entries = self._entries(live)
        others = [entry for entry in entries if entry.identity != self.writer.identity]
        mine = next((entry for entry in entries if entry.identity == self.writer.identity), None)
        present, wanted = live or {}, all_of(applied, shape)
        result: JSONObject = merged(present, applied, shape)
        if mine is not None:
            result = without_former(result, mine.fields, [wanted, *(entry.fields for entry in others)], shape)
        written, gone = changes(present, result, shape)
        contested = [(path, entry) for path in sorted(written) for entry in others if entry.owns(path)]
        allowed = taken_over(self.writer.manager, self.kind, present) if contested else frozenset()
        in_the_way = [(path, entry) for path, entry in contested if path not in allowed]
        if in_the_way and not self.force:
            raise refuse.apply_conflict(contested_causes(in_the_way))
        result = {**result, "metadata": dict(result["metadata"])}
        if live is not None:
            keep_annotation(self.writer.manager, result, applied)
        kept = [entry.without(written | gone) for entry in others]
        # An apply that changes nothing leaves the time alone, so that it does not count as a write; the first has none.
        wrote = written or gone or changes(present, merged(present, dict(beside), shape), shape)[0]
        time = self.writer.time if wrote else mine.time if mine is not None else ""
        entry = new_entry(self.kind, replace(self.writer, time=time), to_fields_v1(owned(wanted)))
        write_entries(result, [*kept, entry])
        return result

    def _entries(self, live: JSONObject | None) -> tuple[Entry, ...]:
        """Who owns what; what nobody is on record for belongs to whoever was before the first apply."""
        if live is None:
            return ()
        return read_entries(live) or (entry_of_unknown(self.kind, live, self.writer),)


def contested_causes(contested: Sequence[tuple[Path, Entry]]) -> list[StatusCause]:
    """The causes of a conflict: who owns which field."""
    return [
        StatusCause(readable(path), "FieldManagerConflict", f'conflict with "{entry.manager}"{_using(entry)}')
        for path, entry in contested
    ]


def _using(entry: Entry) -> str:
    subresource = f' with subresource "{entry.subresource}"' if entry.subresource else ""
    # The identity of a manager that applies has no version in it, since it is the same through all of them.
    return subresource if entry.operation == "Apply" else f"{subresource} using {entry.api_version}"
