"""Compute :class:`Diff`: the effect of an apply, and drift. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dynkube.fields._conflicts import Side, conflict_at, taken
from dynkube.fields._diff.diff import Diff, FieldChange
from dynkube.fields._diff.ignored import remove
from dynkube.fields._diff.list_keys import Shape
from dynkube.fields._diff.walk import differences
from dynkube.fields._entries import ManagedFieldsEntry, Manager, managed
from dynkube.fields._owners import Owners
from dynkube.fields._path import FieldPath
from dynkube.fields._redaction import Hiding
from dynkube.fields._set import FieldSet
from dynkube.meta import MISSING, Unstructured
from dynkube.meta._frozen import freeze, freeze_fresh

# Fields that are set by the server and cannot be applied.
_IDENTITY = ("uid", "creationTimestamp")
_NOISE = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink")


def diff_between(
    live: Unstructured | None, trial: Unstructured, *, ours: Unstructured, manager: str, subresource: str | None
) -> Diff:
    """Return the differences that an apply makes.

    Args:
        live: the live object; ``None`` if it does not exist.
        trial: the response to a forced dry run.
        ours: the applied object.
        manager: the applying manager.
        subresource: the subresource applied to.

    Raises:
        InvalidObject: managedFields cannot be parsed.
    """
    entries = () if live is None else managed(live)
    conflicts = []
    if live is not None:
        lost = taken(live, trial, manager=manager, subresource=subresource)
        mine, theirs = Side(ours), Side(live)
        conflicts = [conflict_at(path, its, mine, theirs) for its, fields in lost.items() for path in fields]
    return _diff(
        (trial, live),
        ("live", "applied"),
        None if live is None else _quiet(live.to_dict()),
        _quiet(trial.to_dict()),
        shape=Shape(entry.fields for entry in (*entries, *managed(trial))),
        others=_others(entries, manager, subresource),
        conflicts=tuple(conflicts),
    )


def drift_between(trial: Unstructured, live: Unstructured, *, manager: str, subresource: str | None) -> Diff:
    """Return how a live object deviates from what was applied to it.

    A field that the manager still owns by applying has the applied value, as a write of another value would have moved
    the ownership. If the trial has another value there, the object was edited since, and not the live object.

    Args:
        trial: the response to a forced dry run of the same apply: what was applied, as the server stores it.
        live: the live object.
        manager: the manager that applied it.
        subresource: the subresource applied to.

    Raises:
        InvalidObject: managedFields cannot be parsed.
    """
    entries = managed(live)
    shape = Shape(entry.fields for entry in (*entries, *managed(trial)))
    before, after = _quiet(trial.to_dict()), _quiet(live.to_dict())
    own = _applied(entries, manager, subresource)
    edited = [path for path, _, _ in differences(before, after, shape) if _is_held(path, own, shape)]
    for path in sorted(edited, reverse=True):  # the last items of a list first
        for state, counterpart in ((before, after), (after, before)):
            remove(state, path, counterpart)
    others = _others(entries, manager, subresource)
    return _diff((live, trial), ("applied", "live"), before, after, shape=shape, others=others)


def _is_held(path: FieldPath, own: FieldSet, shape: Shape) -> bool:
    """Whether ``own`` has a field, or the atomic map or list that contains it."""
    if path in own:
        return True
    above = (FieldPath(path.steps[:depth]) for depth in range(1, len(path.steps)))
    return any(each in own and shape.is_atomic(each) for each in above)


def drift_of_deleted(wanted: Unstructured) -> Diff:
    """Return the drift of an object that does not exist any more: all that was applied."""
    before = _without_identity(_without_nulls(wanted.to_dict()))
    return _diff((wanted, None), ("applied", "live"), before, None, shape=Shape(()), others=())


def no_difference(live: Unstructured, names: tuple[str, str] = ("live", "applied")) -> Diff:
    """Return the empty diff of an object known to be up to date without a dry run."""
    before, after = _quiet(live.to_dict()), _quiet(live.to_dict())
    return _diff((live, None), names, before, after, shape=Shape(()), others=())


def deletion_of(live: Unstructured) -> Diff:
    """Return the diff of an object that pruning deletes."""
    return _diff((live, None), ("live", "pruned"), _quiet(live.to_dict()), None, shape=Shape(()), others=())


def _diff(
    objects: tuple[Unstructured, Unstructured | None],
    names: tuple[str, str],
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    *,
    shape: Shape,
    others: Iterable[ManagedFieldsEntry],
    conflicts: tuple[Any, ...] = (),
) -> Diff:
    """Return the diff of two objects; the first is its subject.

    The states are private copies and may be modified.
    """
    about, _ = objects
    hiding = Hiding(before, after, of=objects)
    owners = Owners(others)
    first, second = (MISSING if state is None else state for state in (before, after))
    found = [(shape.full(path, about), old, new) for path, old, new in differences(first, second, shape)]
    for _, old, new in found:
        hiding.mark(old, new)
    hiding.settle()
    shown = ((path, freeze(hiding.shown(old)), freeze(hiding.shown(new))) for path, old, new in found)
    changes = tuple(FieldChange(path, old, new, owners.at(path)) for path, old, new in shown)
    where = f"{about.namespace}/{about.name}" if about.namespace else about.name
    return Diff(
        subject=" ".join(filter(None, (about.kind, where))),
        names=names,
        before=freeze_fresh(before),
        after=freeze_fresh(after),
        changes=changes,
        conflicts=conflicts,
    )


def _is_own(manager: Manager, name: str, subresource: str | None) -> bool:
    """Whether ``manager`` is the manager ``name`` with operation Apply on ``subresource``.

    An empty subresource matches any, as entries lack it before Kubernetes 1.22.
    """
    return (manager.name, manager.operation) == (name, "Apply") and manager.subresource in ("", subresource or "")


def _applied(entries: Iterable[ManagedFieldsEntry], name: str, subresource: str | None) -> FieldSet:
    own = (entry.fields for entry in entries if _is_own(entry.manager, name, subresource))
    return next(own, FieldSet())


def _others(entries: Iterable[ManagedFieldsEntry], name: str, subresource: str | None) -> list[ManagedFieldsEntry]:
    return [entry for entry in entries if not _is_own(entry.manager, name, subresource)]


def _quiet(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        obj["metadata"] = {name: value for name, value in metadata.items() if name not in _NOISE}
    return obj


def _without_identity(obj: dict[str, Any]) -> dict[str, Any]:
    """Return the object without identifying fields, which cannot drift."""
    obj = _quiet(obj)
    metadata = obj.get("metadata")
    if isinstance(metadata, dict):
        metadata.pop("name", None)
        metadata.pop("namespace", None)
    return {name: value for name, value in obj.items() if name not in ("apiVersion", "kind") and value != {}}


def _without_nulls(value: Any) -> Any:
    """Return an applied value without nulls, which are equivalent to absent fields."""
    if isinstance(value, dict):
        return {name: _without_nulls(part) for name, part in value.items() if part is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


def comparison(
    before: Unstructured | None,
    after: Unstructured | None,
    names: tuple[str, str],
    *,
    shape: Shape,
    owners: Iterable[ManagedFieldsEntry],
    ignore: Iterable[FieldPath] = (),
) -> Diff:
    """Compare two objects, at least one of which is given.

    Args:
        before: one object.
        after: the other.
        names: names of the two states.
        shape: how list items are matched.
        owners: owners to report for changed fields.
        ignore: fields to leave out, from :func:`ignored_paths`.
    """
    about, other = (before, None) if after is None else (after, before)
    if about is None:
        raise AssertionError("there is nothing to compare")
    replaced = before is not None and after is not None and before.uid != after.uid != ""
    states = [None if each is None else _quiet(each.to_dict()) for each in (before, after)]
    for obj, state in zip((before, after), states, strict=True):
        if replaced and obj is not None and state is not None:
            identity = {name: obj["metadata"][name] for name in _IDENTITY if name in obj["metadata"]}
            state["metadata"] |= identity
    for path in ignore:
        for state, counterpart in (states, states[::-1]):
            if state is not None:
                remove(state, path, counterpart)
    return _diff((about, other), names, *states, shape=shape, others=owners)
