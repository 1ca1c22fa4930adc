"""Checks of what a caller wants to write, before any request: is it complete, and does it belong here? Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from dynkube.discovery import APIResource
from dynkube.errors import InvalidInput, InvalidObject, WrongScope
from dynkube.meta import GVK, Unstructured, a_type

ObjectLike: TypeAlias = Unstructured | Mapping[str, object] | bytes | str
"""An object to write: as read, as a dict, or as JSON."""


def as_object(obj: ObjectLike) -> Unstructured:
    """``obj`` as :class:`Unstructured`. Raises InvalidObject if it is no JSON object."""
    return obj if isinstance(obj, Unstructured) else Unstructured(obj)


class WrongKind(InvalidObject):
    """An object is of another kind than its resource takes, as far as discovery was read."""


def check_kind(obj: Unstructured, resource: APIResource) -> None:
    """Refuse an object that does not say what it is, or says something else.

    Raises:
        InvalidObject: apiVersion or kind is missing.
        WrongKind: they are not those of ``resource``.
    """
    for name, value, right in (
        ("apiVersion", obj.api_version, resource.gvr.api_version),
        ("kind", obj.kind, resource.kind),
    ):
        if not value:
            raise InvalidObject(f"{_called(obj)} has no {name}: add {name}: {right!r}, as it is sent to {resource.gvr}")
    is_now, belongs = GVK.parse(obj.api_version, obj.kind), resource.gvk
    if is_now != belongs:
        raise WrongKind(
            f"{_called(obj)} is {is_now}, but {resource.gvr} takes {belongs}: correct apiVersion and kind, "
            f"or use client.resource({GVK.__name__}({is_now.group!r}, {is_now.version!r}, {is_now.kind!r}))"
        )


def check_complete(obj: Unstructured, subresource: str) -> None:
    """Refuse an object for a subresource with a kind of its own that does not say what it is.

    Raises:
        InvalidObject: apiVersion or kind is missing.
    """
    for field, value in (("apiVersion", obj.api_version), ("kind", obj.kind)):
        if not value:
            raise InvalidObject(
                f"the object for {subresource!r} has no {field}: add it, the server needs to know what it is"
            )


def check_name(obj: Unstructured, *, generate: bool = False) -> None:
    """Refuse an object without a name; with ``generate`` a generateName will do.

    Raises:
        InvalidObject: there is none.
    """
    if obj.name:
        return
    if not generate:
        raise InvalidObject(f"{obj.kind} has no metadata.name: add it, it says which object is meant")
    metadata = obj.get("metadata")
    if not (isinstance(metadata, Mapping) and metadata.get("generateName")):
        raise InvalidObject(f"{obj.kind} has neither metadata.name nor metadata.generateName: add one of them")


def namespace_of_one(resource: APIResource, namespace: str | None, *, default: str) -> str | None:
    """In which namespace one object is looked for: the one given, else the context's; ``None`` if it has none.

    Raises:
        WrongScope: a namespace for a cluster-scoped resource, or no namespace for a namespaced one.
    """
    if not resource.namespaced:
        _refuse_namespace(resource, namespace)
        return None
    _check_namespace(namespace, hint="the context's namespace")
    if not (namespace or default):
        raise WrongScope(f"{resource.gvr} live in namespaces and the context names none: pass namespace=")
    return namespace or default


def namespace_of_many(resource: APIResource, namespace: str | None) -> str | None:
    """In which namespace a collection is read; ``None`` for all of them.

    Raises:
        WrongScope: a namespace for a cluster-scoped resource.
    """
    if not resource.namespaced:
        _refuse_namespace(resource, namespace)
    _check_namespace(namespace, hint="all namespaces")
    return namespace


def namespace_of_object(obj: Unstructured, resource: APIResource, namespace: str | None, *, default: str) -> str | None:
    """Where ``obj`` is written: its own namespace counts, then the one given, then the context's.

    Raises:
        InvalidObject: its own namespace and the one given contradict each other.
        WrongScope: it has a namespace and its resource is cluster-scoped, or the reverse.
    """
    own = obj.namespace
    if own and not resource.namespaced:
        raise WrongScope(
            f"{_called(obj)} has metadata.namespace {own!r}, but {resource.gvr} are cluster-scoped: remove it"
        )
    if own and namespace is not None and own != namespace:
        raise InvalidObject(
            f"{_called(obj)} has metadata.namespace {own!r}, but the call says namespace={namespace!r}: "
            "leave one of them out"
        )
    return namespace_of_one(resource, own or namespace, default=default)


def _called(obj: Unstructured) -> str:
    return f"object {obj.name!r}" if obj.name else "the object"


def _refuse_namespace(resource: APIResource, namespace: str | None) -> None:
    if namespace is not None:
        raise WrongScope(
            f"{resource.gvr} are cluster-scoped and live in no namespace: leave namespace={namespace!r} out"
        )


def _check_namespace(namespace: str | None, *, hint: str) -> None:
    # Other clients write "" or "*" for all namespaces; sent as they are they would find nothing, silently.
    given: object = namespace  # callers are not always type-checked
    if given is not None and not isinstance(given, str):
        raise InvalidInput(f"namespace is {a_type(given)}: pass its name, or leave it out (None) for {hint}")
    if given in {"", "*"}:
        raise InvalidInput(f"namespace={namespace!r} names no namespace: leave it out (None) for {hint}")
