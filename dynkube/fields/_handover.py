"""Release, transfer and migrate field ownership.

Computes new ``managedFields`` from old ones. No I/O.

``managedFields`` can be written like any other field. So ownership is changed by a patch of ``managedFields``, with the
resourceVersion of the object that was read as a precondition. No value changes: a field without owners keeps its value
until it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dynkube.errors import InvalidInput, InvalidObject
from dynkube.fields._entries import ManagedFieldsEntry, Manager, Operation, raw_entries
from dynkube.fields._owners import Owners, called, check_operation, check_subresource, recorded
from dynkube.fields._path import FieldPath, PathLike
from dynkube.fields._set import FieldSet
from dynkube.fields._steps import Field, ItemKey
from dynkube.meta import JSONObject, thaw

LAST_APPLIED: Final = FieldPath() / "metadata" / "annotations" / "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which ``kubectl apply`` without ``--server-side`` stores the applied object."""


def released(
    obj: Mapping[str, Any],
    paths: PathLike | Iterable[PathLike],
    manager: str,
    *,
    operation: Operation | None = None,
    subresource: str | None = None,
) -> list[JSONObject]:
    """Return the ``managedFields`` after a manager has released some fields.

    The fields keep their values.

    To keep a list item, release the whole item instead of fields of it: a manager that owns an item and omits it from
    its next apply removes it with all its content.

    Args:
        obj: The object as read from a server, ``managedFields`` included.
        paths: Fields to release, with all their subfields.
        manager: The manager that releases them.
        operation: Release only fields that the manager owns by this operation; ``None`` for both.
        subresource: Release only fields that the manager owns through this subresource (``""`` for the object itself);
            ``None`` for all.

    Returns:
        The new list; empty if no field has an owner any more. Send an empty list as ``[{}]``, which resets the
        managedFields of any kind; ``[]`` does not reset them for custom resources.

    Raises:
        InvalidObject: The object has no managedFields, or they cannot be parsed.
        InvalidInput: A path is malformed, the manager does not own it, or it is a key of an item that the
            manager keeps owning; or ``operation`` is neither ``"Apply"`` nor ``"Update"``.
    """
    check_operation(operation)
    check_subresource(subresource)
    entries = recorded(obj)
    givers = [
        index
        for index, entry in enumerate(entries)
        if entry.manager.name == manager
        and operation in (None, entry.manager.operation)
        and subresource in (None, entry.manager.subresource)
    ]
    wanted = read_paths(paths)
    how = f"{f' by {operation}' if operation else ''}{f' through {subresource}' if subresource else ''}"
    _check_owned(obj, f"{manager!r}{how}", wanted, _all_of(entries, givers), Owners(entries))
    left = {index: _without(entries[index].fields, wanted) for index in givers}
    return _written(obj, left)


def transferred(
    obj: Mapping[str, Any],
    from_: str,
    to: str,
    paths: PathLike | Iterable[PathLike] | None = None,
    *,
    subresource: str | None = None,
) -> list[JSONObject]:
    """Return the ``managedFields`` after a transfer to another manager.

    The new owner owns the fields as if it had applied them.

    Args:
        obj: The object as read from a server, ``managedFields`` included.
        from_: The current owner, by either operation.
        to: The new owner, by Apply: its next apply must contain the fields, or it releases them. The same name as
            ``from_`` turns fields owned by Update into applied ones.
        paths: Fields to transfer, with all their subfields; ``None`` for all fields that ``from_`` owns.
        subresource: Transfer the fields that ``from_`` owns through this subresource instead of the object itself.

    Raises:
        InvalidObject: The object has no managedFields, or they cannot be parsed.
        InvalidInput: A path is malformed, or ``from_`` does not own it; or the two managers wrote the object in
            different API versions, in which its fields may have different names.
    """
    check_subresource(subresource)
    entries, through = recorded(obj), subresource or ""
    target = _index_of(entries, to, "Apply", through)
    givers = [
        index
        for index, entry in enumerate(entries)
        if entry.manager.name == from_ and entry.manager.subresource == through and index != target
    ]
    owned = _all_of(entries, givers)
    all_of_it = dict.fromkeys(FieldPath(path.steps[:1]) for path in owned)
    wanted = list(all_of_it) if paths is None else read_paths(paths)
    giver = f"{from_!r} through {through}" if through else repr(from_)
    _check_owned(obj, giver, wanted, owned, Owners(entries))
    givers = [index for index in givers if entries[index].fields.within(*wanted)]
    newest = max(givers, key=lambda index: _age(entries[index].manager))
    first = entries[newest if target is None else target]
    _check_versions(obj, [entries[index].manager for index in givers], first.manager)
    left = {index: _without(entries[index].fields, wanted) for index in givers}
    moved = owned.within(*wanted)
    if target is not None:
        left[target] = first.fields | moved
        return _written(obj, left)
    its = first.manager
    new = ManagedFieldsEntry(Manager(to, "Apply", through, its.api_version, its.time), moved)
    return [new.to_json(), *_written(obj, left)]


def migrated(
    obj: Mapping[str, Any],
    manager: str,
    client_side: str | Iterable[str] | None = None,
    *,
    subresource: str | None = None,
) -> list[JSONObject]:
    """Return the ``managedFields`` after a migration to server-side apply.

    Fields written by ``kubectl apply`` without ``--server-side`` belong to a manager with operation Update, so a field
    that is omitted from a server-side apply is kept, because it has another owner. As in client-go's csaupgrade:

    - the fields of the client-side managers are added to the Apply entry of ``manager``, if they have its API version;
    - if ``manager`` has no Apply entry, the newest client-side entry becomes that entry;
    - the other entries of the client-side managers are removed, even those of other API versions, in which fields may
      have other names.

    As a result the annotation ``last-applied-configuration`` belongs to ``manager``, whose next apply removes it unless
    the applied object has the annotation. (kubectl applies the annotation again, as manager ``kubectl-last-applied``,
    so that users can return to client-side apply.) One difference: csaupgrade treats the first entry as the newest, but
    servers put the oldest first.

    Args:
        obj: The object as read from a server, ``managedFields`` included.
        manager: The manager that applies from now on.
        client_side: The managers that used client-side apply; ``None``, as with kubectl, for those that last wrote the
            annotation ``last-applied-configuration``.
        subresource: Migrate the fields written through this subresource instead of the object itself.

    Returns:
        The new list; equal to the managedFields of ``obj`` if there is nothing to migrate.

    Raises:
        InvalidObject: The object has no managedFields, or they cannot be parsed.
        InvalidInput: ``client_side`` is neither a name nor an iterable of names.
    """
    check_subresource(subresource)
    entries, through = list(recorded(obj)), subresource or ""
    raw = _copied_entries(obj)
    if client_side is None:
        names = tuple(e.manager.name for e in entries if e.manager.operation == "Update" and LAST_APPLIED in e.fields)
    else:
        names = several_names(client_side)
    for name in dict.fromkeys(names):
        mine = [i for i, e in enumerate(entries) if _is(e.manager, name, "Update", through)]
        if not mine:
            continue
        target = _index_of(entries, manager, "Apply", through)
        if target is None:
            target = max(mine, key=lambda index: _age(entries[index].manager))
            raw[target] |= {"manager": manager, "operation": "Apply"}
        version = entries[target].manager.api_version
        same = [entries[index].fields for index in mine if entries[index].manager.api_version == version]
        fields = entries[target].fields.union(*same)
        raw[target]["fieldsV1"] = fields.to_fields_v1()
        applied = Manager(manager, "Apply", through, version, entries[target].manager.time)
        entries[target] = ManagedFieldsEntry(applied, fields)
        kept = [index for index in range(len(entries)) if index == target or index not in mine]
        entries, raw = [entries[index] for index in kept], [raw[index] for index in kept]
    return raw


# ── entries ───────────────────────────────────────────────────────────────────────────────────


def _is(manager: Manager, name: str, operation: Operation, subresource: str) -> bool:
    return (manager.name, manager.operation, manager.subresource) == (name, operation, subresource)


def _index_of(entries: Sequence[ManagedFieldsEntry], name: str, operation: Operation, subresource: str) -> int | None:
    return next((i for i, entry in enumerate(entries) if _is(entry.manager, name, operation, subresource)), None)


def _age(manager: Manager) -> float:
    return manager.time.timestamp() if manager.time else 0.0


def _all_of(entries: Sequence[ManagedFieldsEntry], chosen: Iterable[int]) -> FieldSet:
    return FieldSet().union(*(entries[index].fields for index in chosen))


def _written(obj: Mapping[str, Any], fields: Mapping[int, FieldSet]) -> list[JSONObject]:
    """Return the entries with new ``fields`` (by index); omits entries without fields."""
    raw = _copied_entries(obj)
    for index, changed in fields.items():
        raw[index]["fieldsV1"] = changed.to_fields_v1()
    return [entry for index, entry in enumerate(raw) if fields.get(index, True)]


def _copied_entries(obj: Mapping[str, Any]) -> list[JSONObject]:
    try:
        return thaw(raw_entries(obj))  # type: ignore[no-any-return]  # the entries were parsed before
    except RecursionError:
        raise InvalidObject(f"{called(obj)} has managedFields that are nested too deeply to modify") from None


def _check_versions(obj: Mapping[str, Any], givers: Iterable[Manager], taker: Manager) -> None:
    for giver in givers:
        if giver.api_version != taker.api_version:
            raise InvalidInput(
                f"{giver} wrote {called(obj)} as {giver.api_version}, and {taker} as {taker.api_version}, where "
                "fields may have other names: have one of them write it in the other's version first"
            )


# ── fields ────────────────────────────────────────────────────────────────────────────────────


def read_paths(paths: PathLike | Iterable[PathLike]) -> list[FieldPath]:
    """Parse one path or several.

    Raises:
        InvalidInput: There is no path, or one is malformed.
    """
    try:
        given = [paths] if isinstance(paths, str | FieldPath) else list(paths)
    except TypeError:
        raise InvalidInput(f"paths must be a path like '.spec.replicas' or several paths, not {paths!r}") from None
    if not given:
        raise InvalidInput("paths is empty: pass at least one, like '.spec.replicas'")
    return [FieldPath.parse(path) for path in given]


def several_names(client_side: str | Iterable[str]) -> tuple[str, ...]:
    """Return names of managers as a tuple.

    Raises:
        InvalidInput: There is no name, or one is not a non-empty string.
    """
    given: object = client_side  # callers are not always type-checked
    try:
        names = (client_side,) if isinstance(client_side, str) else tuple(client_side)
    except TypeError:
        names = ()
    if not names or any(name == "" or type(name) is not str for name in names):
        raise InvalidInput(
            f"client_side must be one or more manager names, or None for kubectl's defaults, not {given!r}"
        )
    return names


def _check_owned(
    obj: Mapping[str, Any], giver: str, wanted: Iterable[FieldPath], owned: FieldSet, all_owners: Owners
) -> None:
    """Reject fields that the manager does not own."""
    if not owned:
        known = ", ".join(map(str, all_owners.managers()))
        raise InvalidInput(f"{giver} owns no fields of {called(obj)}; its managers are: {known}")
    inside = {path.steps[:length] for path in owned for length in range(len(path) + 1)}
    for path in wanted:
        if path.steps in inside:
            continue
        problem = f"{giver} does not own {path} of {called(obj)}"
        whole = next((above for above in owned.leaves() if path.is_within(above)), None)
        if whole is not None:
            raise InvalidInput(f"{problem} separately: it owns {whole} as a whole; pass that path")
        who = all_owners.at(path) or all_owners.within(path).managers()
        raise InvalidInput(f"{problem}; its owners are: {', '.join(map(str, who)) or 'none'}")


def _without(fields: FieldSet, gone: Sequence[FieldPath]) -> FieldSet:
    """Return ``fields`` without ``gone``, and without objects and items left empty."""
    left = fields.without(*gone)
    above = {each for path in fields - left for each in _above(path)}
    inner = {each for path in left - above for each in _above(path)}
    for path in gone:
        if path.parent in inner and _is_key(path):
            raise InvalidInput(
                f"{path} is a key of its list item and cannot be removed alone: pass {path.parent} or its other fields"
            )
    return left - (above - inner)


def _above(path: FieldPath) -> list[FieldPath]:
    return [FieldPath(path.steps[:length]) for length in range(1, len(path.steps))]


def _is_key(path: FieldPath) -> bool:
    match path.steps:
        case (*_, ItemKey(keys), Field(name)):
            return name in keys
    return False
