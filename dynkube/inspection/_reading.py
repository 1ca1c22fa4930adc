"""The requests for an object, its events, and its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dynkube.client._client import APIClient
from dynkube.discovery import ResourceLike
from dynkube.errors import InvalidInput
from dynkube.informers import OwnerTree
from dynkube.inspection._event_list import ObjectEvents, joined_events
from dynkube.meta import GVK, GVR, Unstructured
from dynkube.meta._arguments import brief

_EVENTS: Final = GVR("", "v1", "events")
About = ResourceLike | Unstructured


async def read_object(api: APIClient, about: About, name: str | None, namespace: str | None) -> Unstructured:
    """Return an object as it is now, by its resource and name, or as it was read earlier.

    Raises:
        InvalidInput: neither an object nor a resource and a name.
    """
    if isinstance(about, Unstructured):
        gvk, name, namespace = _place_of(about, name, namespace)
        return await api.resource(gvk).get(name, namespace=namespace)
    if isinstance(about, Mapping) or name is None:
        raise InvalidInput(
            f"no name for {brief(about)}: pass a resource and a name, such as ('deploy', 'web'), or an object as read"
        )
    return await api.resource(about).get(name, namespace=namespace)


def _place_of(obj: Unstructured, name: str | None, namespace: str | None) -> tuple[GVK, str, str | None]:
    if name is not None or namespace is not None:
        raise InvalidInput(f"{obj!r} has a name and a namespace of its own: leave name= and namespace= out")
    if not obj.name:
        raise InvalidInput(f"{obj!r} has no metadata.name: pass an object as it was read")
    return obj.gvk, obj.name, obj.namespace or None


async def events_of(api: APIClient, obj: Unstructured) -> ObjectEvents:
    """Return the events about one object."""
    fields = {"involvedObject.kind": obj.kind, "involvedObject.name": obj.name}
    if obj.namespace:
        fields["involvedObject.namespace"] = obj.namespace
    found = await api.resource(_EVENTS).list(namespace=obj.namespace or None, field_selector=fields)
    own = [event for event in found if _is_of_group(event, obj)]
    return ObjectEvents(joined_events(_about({obj.uid, obj.name}, own)))


async def events_below(api: APIClient, tree: OwnerTree) -> ObjectEvents:
    """Return the events about an object and all that it owns."""
    root = tree.object
    found = await api.resource(_EVENTS).list(namespace=root.namespace or None)
    owned = {obj.uid for _, obj in tree.walk()}
    own = [event for event in found if _names(event, root)]
    others = [event for event in found if _uid(event) in owned - {root.uid}]
    return ObjectEvents(joined_events([*_about({root.uid, root.name}, own), *others]), tree.notes)


def _about(identities: set[str], events: list[Unstructured]) -> list[Unstructured]:
    """Return the events without those about an earlier object of the same name.

    Some have no UID, and those that kubelets write about their node have its name instead.
    """
    return [event for event in events if _uid(event) in identities | {""}]


def _uid(event: Unstructured) -> str:
    return str(_involved(event).get("uid") or "")


def _names(event: Unstructured, obj: Unstructured) -> bool:
    involved = _involved(event)
    place = (involved.get("kind"), involved.get("namespace") or "", involved.get("name"))
    return place == (obj.kind, obj.namespace, obj.name) and _is_of_group(event, obj)


def _is_of_group(event: Unstructured, obj: Unstructured) -> bool:
    """Whether an event is about the object's group, in any version; some events have none."""
    version = str(_involved(event).get("apiVersion") or obj.api_version)
    return version.rpartition("/")[0] == obj.gvk.group


def _involved(event: Unstructured) -> Mapping[str, object]:
    found = event.get("involvedObject")
    return found if isinstance(found, Mapping) else {}
