"""``describe``: everything that helps to understand one object, of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dynkube._displayable import Displayable, text_without_heading
from dynkube.client._client import APIClient
from dynkube.errors import APIError, MappingError, TransportError
from dynkube.informers import OwnerTree
from dynkube.inspection._event_list import ObjectEvents
from dynkube.inspection._owned import owned_objects
from dynkube.inspection._reading import events_below, events_of
from dynkube.meta import GVK, Unstructured

_READ: Final = 50  # owned objects that are read whole, to show their health


@dataclass(frozen=True, slots=True)
class Description(Displayable):
    """One object and what surrounds it; prints as text, and is a card in notebooks. Values of Secrets are masked.

    Attributes:
        object: the object.
        columns: what ``kubectl get -o wide`` prints of it: for custom resources the columns of their CRD.
        owned: what it owns, by ownerReferences; ``None`` if that was not requested.
        events: the events about it and what it owns; ``None`` if they were not requested.
        notes: what could not be read, and why.
    """

    object: Unstructured
    columns: Mapping[str, Any]
    owned: OwnerTree | None
    events: ObjectEvents | None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return text_without_heading(self)


async def describe(api: APIClient, obj: Unstructured, *, owned: bool, events: bool) -> Description:
    """Read what surrounds an object. What cannot be read is in the notes."""
    notes: list[str] = []
    columns: Mapping[str, Any] = {}
    tree, found = None, None
    try:
        columns = await _columns(api, obj)
    except (APIError, TransportError) as exc:
        notes.append(f"its columns could not be read: {exc}")
    if owned:
        try:
            tree = await _with_health(api, await owned_objects(api, obj))
        except (APIError, TransportError) as exc:
            notes.append(f"what it owns could not be read: {exc}")
    if events:
        try:
            found = await (events_of(api, obj) if tree is None else events_below(api, tree))
        except (APIError, TransportError) as exc:
            notes.append(f"its events could not be read: {exc}")
    return Description(obj, columns, tree, found, tuple(notes))


async def _columns(api: APIClient, obj: Unstructured) -> Mapping[str, Any]:
    table = await api.resource(obj.gvk).table(
        namespace=obj.namespace or None, field_selector={"metadata.name": obj.name}
    )
    if not len(table) or not table.server_columns:
        return {}
    return dict(zip((column.name for column in table.columns), table.cells[0], strict=True))


async def _with_health(api: APIClient, tree: OwnerTree) -> OwnerTree:
    """Return the tree with whole objects, if there are few: their metadata does not tell their health."""
    below = {obj.uid: obj for depth, obj in tree.walk() if depth}
    whole: dict[str, Unstructured] = {}
    if len(below) <= _READ:
        for uid, obj in below.items():
            try:
                kind = GVK.parse(obj.api_version, obj.kind)
                whole[uid] = await api.resource(kind).get(obj.name, namespace=obj.namespace or None)
            except (APIError, MappingError):  # gone meanwhile, or forbidden: its metadata is shown
                continue
    return _replaced(tree, whole)


def _replaced(tree: OwnerTree, whole: Mapping[str, Unstructured]) -> OwnerTree:
    """Return a tree with other objects, built from the leaves up."""
    below: dict[int, list[OwnerTree]] = {}
    for depth, obj in reversed(list(tree.walk())):
        children = tuple(reversed(below.pop(depth + 1, [])))
        notes = tree.notes if depth == 0 else ()
        below.setdefault(depth, []).append(OwnerTree(whole.get(obj.uid, obj), children, notes))
    return below[0][0]
