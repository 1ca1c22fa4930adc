"""From what an answer says of a conflict to all that can be known of it: paths, owners, times and both values. Pure.

kube-apiserver 1.20 names some fields wrongly where several below one list item clash: two paths come out as the last
of them (``.spec.containers[name="web"].image`` twice, for ``args`` and ``image``). Who clashes it says rightly. So
where a manager does not own what it is said to own, or owns it twice, the fields are found by comparing values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dynkube.client._apply.printed import meant
from dynkube.client._secrets import shown_at
from dynkube.errors import UNREAD, ApplyConflict, FieldConflict, InvalidObject
from dynkube.fields import Field, FieldPath, FieldSet, ManagedFieldsEntry, Manager, Values, managed, same_json
from dynkube.meta import MISSING, Missing, Unstructured


class Side:
    """One of the two objects in a conflict, with its values as they may be shown.

    Args:
        obj: The object.
    """

    __slots__ = ("values",)

    def __init__(self, obj: Unstructured) -> None:
        self.values = Values(obj)

    def value(self, path: FieldPath) -> Any | Missing:
        """What is at a path."""
        return self.values.at(path.steps)

    def shown(self, path: FieldPath) -> object:
        """The same for people, with UNREAD for nothing."""
        value = shown_at(path, self.values)
        return UNREAD if value is MISSING else value


def explained(error: ApplyConflict, ours: Unstructured, live: Unstructured | None) -> ApplyConflict:
    """The same error with what the two objects tell besides.

    Args:
        error: as the answer was read.
        ours: what was to be applied.
        live: what it clashed with; ``None`` where that could not be read.
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
    """All of a conflict: ``manager`` owns the field at ``path`` of ``live``, and ``ours`` has another value."""
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
    """Which fields a forced apply has taken from others than ``manager``, and from whom.

    These are the conflicts that the same apply meets without force.

    Args:
        before: an object.
        after: the answer to a forced apply of ``manager``.
        manager: who has applied.
        subresource: to which subresource.

    Raises:
        InvalidObject: managedFields cannot be read.
    """
    kept = {_identity(entry.manager): entry.fields for entry in managed(after)}
    values = Values(after)
    lost: dict[Manager, FieldSet] = {}
    for entry in managed(before):
        its = entry.manager
        # Before v1.22 no entry says its subresource.
        if (its.name, its.operation) == (manager, "Apply") and its.subresource in ("", subresource or ""):
            continue
        fields = clashing(entry.fields - kept.get(_identity(its), FieldSet()), values)
        if fields:
            lost[its] = fields
    return lost


def clashing(fields: FieldSet, values: Values) -> FieldSet:
    """The fields of a set that a server names in a conflict.

    Those with no other below them; but where a map or list was replaced by a value that cannot hold what was in it, the
    field that was replaced, if that is in the set. What was in it is removed along with it, which is no conflict: not
    even for a manager that owned no more than that (seen with 1.20 and 1.36).

    Args:
        fields: Fields that have, or get, another value.
        values: Of the object that has these values.
    """
    found = (_replaced(path, values) or path for path in fields.leaves())
    return FieldSet(path for path in found if path in fields)


def _replaced(path: FieldPath, values: Values) -> FieldPath | None:
    """The field above ``path`` whose value cannot hold what was below it; ``None`` where there is no such field."""
    value: Any = values.obj
    for length, step in enumerate(path.steps):
        if not isinstance(value, Mapping if isinstance(step, Field) else list | tuple):
            return FieldPath(path.steps[:length])
        value = values.child(value, step)
        if value is MISSING:
            break  # nothing was replaced: it is not there, or found by a key that has changed
    return None


def is_of(conflict: FieldConflict, manager: Manager) -> bool:
    """Whether a conflict is with this manager; the version counts where the conflict says it."""
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
    except InvalidObject:  # the conflict is what counts; of a newer kind of entry nothing more can be said
        return ()


def _paths(reported: Iterable[FieldConflict], fields: FieldSet, ours: Side, live: Side) -> list[FieldPath]:
    """The fields that are meant, all owned by one manager."""
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
    """A conflict as the server told it, with both values where its path leads to some."""
    path = meant(conflict.path, ours.values, None if live is None else live.values)
    there = UNREAD if live is None else live.shown(path)
    return replace(conflict, path=str(path), ours=ours.shown(path), live=there)
