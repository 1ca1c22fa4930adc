"""Server-side apply (KEP-555): merge what a manager wants into what is there, and keep account of who owns what.

Known limit: one set of owners for all versions of a resource.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dynkube.errors import StatusCause
from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._patching.client_side import keep_annotation, taken_over
from dynkube.testing._patching.fieldset import (
    FieldSet,
    Path,
    changes,
    element_of,
    fields_of,
    index_of,
    readable,
    remove_at,
    to_fields_v1,
    value_at,
)
from dynkube.testing._patching.ownership import Entry, Writer, new_entry, read_entries, write_entries
from dynkube.testing._patching.shapes import Shape, shape_of


@dataclass(frozen=True, slots=True)
class Application:
    """One apply: what ``writer`` wants objects of ``kind`` to say."""

    kind: Kind
    writer: Writer
    force: bool

    def merge(self, live: JSONObject | None, applied: JSONObject) -> JSONObject:
        """The object that results; ``live`` is ``None`` where there is none yet. Arguments stay as they are.

        Raises:
            ApplyConflict: Others own fields that would change, and it is not forced.
        """
        shape = shape_of(self.kind)
        wanted = fields_of(applied, shape)
        if live is None:
            merged = {**applied, "metadata": dict(applied["metadata"])}
            write_entries(merged, [self._entry(wanted)])
            return merged
        entries = read_entries(live)
        others = [entry for entry in entries if entry.identity != self.writer.identity]
        merged = _merged(live, applied, shape)
        contested = self._contested(live, merged, others)
        allowed = taken_over(self.writer.manager, self.kind, live) if contested else frozenset()
        in_the_way = [(path, entry) for path, entry in contested if path not in allowed]
        if in_the_way and not self.force:
            raise refuse.apply_conflict(contested_causes(in_the_way))
        mine = next((entry.fields for entry in entries if entry.identity == self.writer.identity), frozenset())
        merged = _without(merged, mine, wanted, others, shape)
        merged["metadata"] = dict(merged["metadata"])
        keep_annotation(self.writer.manager, merged, applied)
        lost = frozenset(path for path, _ in contested)
        kept = [entry.without(lost) for entry in others]
        write_entries(merged, [*kept, self._entry(wanted, entries)])
        return merged

    def _contested(self, live: JSONObject, merged: JSONObject, others: Sequence[Entry]) -> list[tuple[Path, Entry]]:
        changing, _ = changes(live, merged, shape_of(self.kind))
        return [(path, entry) for path in sorted(changing) for entry in others if entry.owns(path)]

    def _entry(self, fields: FieldSet, entries: Iterable[Entry] = ()) -> Entry:
        writer = self.writer
        for entry in entries:
            # An apply that changes nothing leaves the time alone, so that it does not count as a write.
            if entry.identity == writer.identity and entry.fields == fields:
                return entry
        return new_entry(self.kind, writer, to_fields_v1(fields))


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


def _merged(live: Any, applied: Any, shape: Shape) -> Any:
    if isinstance(live, dict) and isinstance(applied, dict) and not shape.atomic:
        result = dict(live)
        for name, value in applied.items():
            result[name] = _merged(live[name], value, shape.field(name)) if name in live else value
        return result
    if isinstance(live, list) and isinstance(applied, list) and shape.list_type != "atomic":
        return _merged_list(live, applied, shape)
    return applied


def _merged_list(live: list[Any], applied: list[Any], shape: Shape) -> list[Any]:
    """Items of others stay where they are; those that are new come behind, in the order they were applied."""
    result = list(live)
    for item in applied:
        index = index_of(result, element_of(item, shape), shape)
        if index is None:
            result.append(item)
        else:
            result[index] = _merged(result[index], item, shape.item())
    return result


def _without(obj: JSONObject, mine: FieldSet, wanted: FieldSet, others: Sequence[Entry], shape: Shape) -> JSONObject:
    """``obj`` without what this manager applied before, does not any more, and nobody else owns.

    Shortest paths first: an item of a list has to go as a whole, as long as its keys still tell which it is. What is
    emptied by that goes too, unless it is somebody's.
    """
    owned = {path[:length] for entry in others for path in entry.fields for length in range(1, len(path) + 1)}
    wanted_too = {path[:length] for path in wanted for length in range(1, len(path) + 1)}
    for path in sorted(mine - owned - wanted_too, key=len):
        obj = remove_at(obj, path, shape)
        emptied = path[:-1]
        while len(emptied) > 1 and emptied[-1].startswith("f:") and value_at(obj, emptied, shape) in ({}, []):
            if emptied in owned:
                break
            obj = remove_at(obj, emptied, shape)
            emptied = emptied[:-1]
    return obj
