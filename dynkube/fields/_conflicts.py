"""Complete the conflicts in a response with paths, owners, times and both values.

Pure: no I/O.

kube-apiserver 1.20 reports wrong paths if several fields below one list item conflict: it reports the last path for
each of them (``.spec.containers[name="web"].image`` twice, for ``args`` and ``image``). The managers are correct. So if
a manager does not own a reported field, or the field is reported twice, the fields are determined by comparing values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dynkube.errors import UNREAD, ApplyConflict, FieldConflict, InvalidObject
from dynkube.fields._entries import ManagedFieldsEntry, Manager, managed
from dynkube.fields._items import Values
from dynkube.fields._path import FieldPath
from dynkube.fields._printed_paths import meant
from dynkube.fields._redaction import shown_at
from dynkube.fields._set import FieldSet
from dynkube.fields._steps import Field, same_json
from dynkube.meta import MISSING, Missing, Unstructured


class Side:
    """One of the two objects in a conflict, with redacted values.

    Args:
        obj: The object.
    """

    __slots__ = ("values",)

    def __init__(self, obj: Unstructured) -> None:
        self.values = Values(obj)

    def value(self, path: FieldPath) -> Any | Missing:
        """Return the value at a path."""
        return self.values.at(path.steps)

    def shown(self, path: FieldPath) -> object:
        """Return the value at a path, redacted; UNREAD if absent."""
        value = shown_at(path, self.values)
        return UNREAD if value is MISSING else value


def explained(error: ApplyConflict, ours: Unstructured, live: Unstructured | None) -> ApplyConflict:
    """Return the error with paths, owners and values from both objects.

    Args:
        error: the error as parsed from the response.
        ours: the applied object.
        live: the live object that it conflicted with; ``None`` if it could not be read.
    """
    entries = _entries(live)
    mine, theirs = Side(ours), None if live is None else Side(live)
    found: list[FieldConflict] = []
    groups: dict[tuple[str, str, str, str], list[FieldConflict]] = {}
    for each in error.conflicts:
        groups.setdefault(_reported_identity(each), []).append(each)
    for reported in groups.values():
        entry = next((entry for entry in entries if is_of(reported[0], entry.manager)), None)
        if entry is None or theirs is None:
            found += (valued(each, mine, theirs) for each in reported)
        else:
            paths = _paths(reported, entry.fields, mine, theirs)
            found += (conflict_at(path, entry.manager, mine, theirs) for path in paths)
    return ApplyConflict(error.status, request=error.request, conflicts=found)


def conflict_at(path: FieldPath, manager: Manager, ours: Side, live: Side) -> FieldConflict:
    """Return the conflict at ``path``.

    ``manager`` owns the field in ``live``, and ``ours`` has another value.
    """
    return FieldConflict(
        path=str(path),
        manager=manager.name,
        operation=manager.operation,
        subresource=manager.subresource,
        api_version=manager.api_version,
        time=manager.time,
        ours=ours.shown(path),
        live=live.shown(path),
    )


def taken(
    before: Unstructured, after: Unstructured, *, manager: str, subresource: str | None
) -> dict[Manager, FieldSet]:
    """Return the fields that a forced apply took over, by previous owner.

    These are the conflicts of the same apply without force.

    Args:
        before: an object.
        after: the response to a forced apply of ``manager``.
        manager: the applying manager.
        subresource: the subresource applied to.

    Raises:
        InvalidObject: managedFields cannot be parsed.
    """
    kept = {_identity(entry.manager): entry.fields for entry in managed(after)}
    values = Values(after)
    lost: dict[Manager, FieldSet] = {}
    for entry in managed(before):
        its = entry.manager
        # Before v1.22 entries lack the subresource.
        if (its.name, its.operation) == (manager, "Apply") and its.subresource in ("", subresource or ""):
            continue
        fields = clashing(entry.fields - kept.get(_identity(its), FieldSet()), values)
        if fields:
            lost[its] = fields
    return lost


def clashing(fields: FieldSet, values: Values) -> FieldSet:
    """Return the fields of a set that a server names in a conflict.

    These are the leaves. If a map or list was replaced by a value of another type, its leaves are removed with it,
    which is not a conflict, even for a manager that owned only the leaves (observed with 1.20 and 1.36). In this case
    the server names the replaced field instead, if it is in the set.

    Args:
        fields: Fields whose values differ.
        values: The values of the applied object.
    """
    found = (_replaced(path, values) or path for path in fields.leaves())
    return FieldSet(path for path in found if path in fields)


def _replaced(path: FieldPath, values: Values) -> FieldPath | None:
    """Return the ancestor of ``path`` whose value cannot have children, if any."""
    value: Any = values.obj
    for length, step in enumerate(path.steps):
        if not isinstance(value, Mapping if isinstance(step, Field) else list | tuple):
            return FieldPath(path.steps[:length])
        value = values.child(value, step)
        if value is MISSING:
            break  # the field was not replaced: it is absent, or the key of a list item has changed
    return None


def is_of(conflict: FieldConflict, manager: Manager) -> bool:
    """Whether a conflict is with this manager.

    The version is compared if the conflict has it.
    """
    return (
        (conflict.manager, conflict.operation, conflict.subresource)
        == (manager.name, manager.operation, manager.subresource)
    ) and conflict.api_version in ("", manager.api_version)


def _reported_identity(conflict: FieldConflict) -> tuple[str, str, str, str]:
    return conflict.manager, conflict.operation, conflict.subresource, conflict.api_version


def _identity(manager: Manager) -> tuple[str, str, str, str]:
    version = "" if manager.operation == "Apply" else manager.api_version
    return manager.name, manager.operation, manager.subresource, version


def _entries(live: Unstructured | None) -> tuple[ManagedFieldsEntry, ...]:
    try:
        return () if live is None else managed(live)
    except InvalidObject:  # entries of an unknown format: report the conflict without details
        return ()


def _paths(reported: Iterable[FieldConflict], fields: FieldSet, ours: Side, live: Side) -> list[FieldPath]:
    """Return the actual fields of conflicts with one manager."""
    printed = {path.as_server(): path for path in fields}
    texts = [each.path for each in reported]
    if len(set(texts)) == len(texts) and all(text in printed for text in texts):
        return [printed[text] for text in texts]
    differing = [path for path in clashing(fields, ours.values) if _differ(path, ours, live)]
    return differing or [printed.get(text) or meant(text, ours.values, live.values) for text in dict.fromkeys(texts)]


def _differ(path: FieldPath, ours: Side, live: Side) -> bool:
    value, other = ours.value(path), live.value(path)
    return value is not MISSING and (other is MISSING or not same_json(value, other))


def valued(conflict: FieldConflict, ours: Side, live: Side | None) -> FieldConflict:
    """Return a conflict as reported, with both values if its path resolves."""
    path = meant(conflict.path, ours.values, None if live is None else live.values)
    there = UNREAD if live is None else live.shown(path)
    return replace(conflict, path=str(path), ours=ours.shown(path), live=there)
