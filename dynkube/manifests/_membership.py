"""Label the objects to be applied as members of an ApplySet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dynkube.errors import DynkubeError, MappingError
from dynkube.manifests._apply_one import Item, ObjectSender
from dynkube.manifests._applyset import GroupKind, Scope, labelled, scope_of
from dynkube.meta import GVK


@dataclass(frozen=True, slots=True)
class Members:
    """The objects of a source as members of its ApplySet.

    Attributes:
        scope: kinds and namespaces of the members.
        named: kind, namespace and name of each member; of those whose scope is not known, with and without namespace.
    """

    scope: Scope
    named: frozenset[tuple[GroupKind, str, str]]


async def join(
    items: Iterable[Item], applyset_id: str, sender: ObjectSender, fail: Callable[[Item, DynkubeError], None]
) -> Members:
    """Add the label of the ApplySet to the objects of ``items``.

    ``fail`` is called with each object that cannot be a member, and the error.
    """
    places: list[tuple[GVK, str]] = []
    named: set[tuple[GroupKind, str, str]] = set()
    for item in items:
        try:
            item.object = labelled(item.object, applyset_id)
            namespace = await sender.namespace_of(item)
        except MappingError:
            # The apply will fail for this reason, or succeed later: then the set needs the kind, to find the object.
            namespace = sender.namespace_if_namespaced(item)
            named.add((GroupKind.of(item.manifest.gvk), "", item.object.name))
        except DynkubeError as error:
            fail(item, error)
            continue
        places.append((item.manifest.gvk, namespace))
        named.add((GroupKind.of(item.manifest.gvk), namespace, item.object.name))
    return Members(scope_of(places), frozenset(named))
