"""The owners of an object's fields, from its ``managedFields``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from operator import attrgetter
from typing import Any

from dynkube._displayable import Displayable
from dynkube._text.tables import Table, printable
from dynkube.errors import InvalidInput, InvalidObject
from dynkube.fields._entries import ManagedFieldsEntry, Manager, Operation, managed
from dynkube.fields._path import FieldPath, PathLike
from dynkube.fields._set import FieldSet

_COLUMNS = ("FIELD", "MANAGER", "OPERATION", "SINCE")


class Owners(Displayable, Mapping[FieldPath, tuple[Manager, ...]]):
    """The owned fields of an object, in order, and their managers.

    A mapping that also accepts paths as strings: ``owners(obj)[".spec.replicas"]``. It does not contain fields without
    owners. ``print(owners(obj))`` shows a table.
    """

    __slots__ = ("_inner", "_managers")

    def __init__(self, entries: Iterable[ManagedFieldsEntry]) -> None:
        found: dict[FieldPath, list[Manager]] = {}
        for entry in entries:
            for path in entry.fields:
                found.setdefault(path, []).append(entry.manager)
        self._set({path: tuple(found[path]) for path in sorted(found, key=attrgetter("order"))})

    def _set(self, managers: dict[FieldPath, tuple[Manager, ...]]) -> None:
        self._managers = managers
        # Paths are sorted, so that descendants come right after their ancestor.
        self._inner = {path for path, following in pairwise(managers) if following.is_within(path)}

    def at(self, path: PathLike) -> tuple[Manager, ...]:
        """Return the managers that determine the value at ``path``.

        These are its owners, else those of the nearest owned ancestor: fields inside of an atomic list or map
        (``.spec.selector.matchLabels.app`` of a Deployment) have no owners of their own. Empty if there are no owners.
        """
        asked = nearest = FieldPath.parse(path)
        while nearest not in self._managers and nearest.steps:
            nearest = nearest.parent
        if nearest != asked and nearest in self._inner:
            return ()  # another field of it, each of which has its own owners
        return self._managers.get(nearest, ())

    def within(self, path: PathLike) -> Owners:
        """Return the owners of the fields at and below ``path``."""
        parent = FieldPath.parse(path)
        part = Owners(())
        part._set({each: found for each, found in self._managers.items() if each.is_within(parent)})
        return part

    def managers(self) -> tuple[Manager, ...]:
        """Return all managers, each once."""
        return tuple(dict.fromkeys(manager for found in self._managers.values() for manager in found))

    def __getitem__(self, path: PathLike) -> tuple[Manager, ...]:
        return self._managers[FieldPath.parse(path)]

    def __contains__(self, path: object) -> bool:
        return (FieldPath.parse(path) if isinstance(path, str) else path) in self._managers

    def __iter__(self) -> Iterator[FieldPath]:
        return iter(self._managers)

    def __len__(self) -> int:
        return len(self._managers)

    def _table(self) -> Table:
        rows = (
            (str(path) if place == 0 else "", manager.name, f"{manager.operation} {manager.subresource}", manager.since)
            for path, found in self._managers.items()
            for place, manager in enumerate(found)
        )
        return Table(_COLUMNS, tuple(rows))

    def __str__(self) -> str:
        return str(self._table())

    def __repr__(self) -> str:
        return printable(f"<Owners of {len(self)} fields: {', '.join(map(str, self.managers()))}>")


def owners(obj: Mapping[str, Any]) -> Owners:
    """Return the owners of an object's fields.

    Synchronous and CPU-bound, about 40 microseconds per field: async programs that may get objects with thousands of
    fields should call it, and print its result, in a thread.

    Args:
        obj: An object as read from a server, ``managedFields`` included.

    Raises:
        InvalidObject: It has no managedFields, or they cannot be parsed.
    """
    return Owners(recorded(obj))


def fields_of(
    obj: Mapping[str, Any],
    manager: str | Manager,
    *,
    operation: Operation | None = None,
    subresource: str | None = None,
) -> FieldSet:
    """Return the fields of an object that a manager owns; empty if it owns none.

    Args:
        obj: An object as read from a server, ``managedFields`` included.
        manager: The field manager's name; or a :class:`Manager` from :func:`owners`, which also has operation and
            subresource.
        operation: Only fields owned by this operation, ``"Apply"`` or ``"Update"``; ``None`` for both.
        subresource: Only fields owned through this subresource (``""`` for the object itself); ``None`` for all.

    Raises:
        InvalidObject: The object has no managedFields, or they cannot be parsed.
        InvalidInput: ``operation`` is neither ``"Apply"`` nor ``"Update"``, or ``manager`` or ``subresource`` is
            invalid.
    """
    check_operation(operation)
    check_subresource(subresource)
    if isinstance(manager, Manager):
        operation = manager.operation if operation is None else operation
        subresource = manager.subresource if subresource is None else subresource
    name = name_of(manager)
    found = FieldSet()
    for entry in recorded(obj):
        its = entry.manager
        if its.name == name and operation in (None, its.operation) and subresource in (None, its.subresource):
            found |= entry.fields
    return found


def name_of(manager: object) -> str:
    """Return the name of a manager, given as a name or as a :class:`Manager`.

    Raises:
        InvalidInput: It is neither.
    """
    name = manager.name if isinstance(manager, Manager) else manager
    if not isinstance(name, str):
        raise InvalidInput(f"manager must be the name of a field manager, or a Manager from owners(), not {manager!r}")
    return name


def check_operation(operation: object) -> None:
    """Reject invalid operations; ``None`` means both."""
    if operation not in (None, "Apply", "Update"):
        raise InvalidInput(f"invalid operation {operation!r}: pass 'Apply' or 'Update', or omit it for both")


def check_subresource(name: object) -> None:
    """Reject invalid names of subresources.

    ``None`` means any or none, and ``""`` the object itself.
    """
    if name is not None and (not isinstance(name, str) or "/" in name):
        raise InvalidInput(f"invalid subresource {name!r}; expected for example 'status' or 'scale', or omit it")


def recorded(obj: Mapping[str, Any]) -> tuple[ManagedFieldsEntry, ...]:
    """Return the entries of an object's managedFields, at least one.

    Raises:
        InvalidObject: The object has no managedFields, or they cannot be parsed.
    """
    entries = managed(obj)
    if not entries:
        raise InvalidObject(
            f"{called(obj)} has no metadata.managedFields, so the owners of its fields are unknown: read the object "
            "with get(). Informers drop managedFields unless created with transform=None, and manifests have none. "
            "(The server has none for an object without owned fields, such as a bare Namespace.)"
        )
    return entries


def called(obj: Mapping[str, Any]) -> str:
    """Describe an object in a message."""
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return f"{obj.get('kind') or 'the object'} {name!r}" if name else "the object"
