"""Validation of objects to be written, before any request. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from dynkube.discovery import APIResource
from dynkube.errors import InvalidInput, InvalidObject, WrongScope
from dynkube.meta import GVK, Unstructured
from dynkube.meta._arguments import a_type
from dynkube.meta._models import ModelLike

ObjectLike: TypeAlias = Unstructured | Mapping[str, object] | ModelLike | bytes | str
"""An object to write: an :class:`Unstructured`, a dict, a msgspec Struct, a pydantic model, or JSON."""


def as_object(obj: ObjectLike) -> Unstructured:
    """Return ``obj`` as :class:`Unstructured`.

    Raises:
        InvalidObject: it is not a JSON object, or an object of which only the metadata is known.
    """
    found = obj if isinstance(obj, Unstructured) else _read(obj)
    if found.metadata_only:
        raise InvalidObject(f"{found!r} would lose everything else when written: get the whole object, or patch it")
    return found


def _read(obj: ObjectLike) -> Unstructured:
    try:
        return Unstructured(obj)
    except InvalidObject as error:
        if not isinstance(obj, str | bytes) or obj.lstrip()[:1] in ("{", b"{"):
            raise
        raise InvalidObject(
            f"{error}. This call takes one object, as a dict or as JSON: dynkube.meta.yaml.load_document(text) reads "
            "one of YAML; client.apply_all(text) applies all objects in it, and client.diff_all(text) compares them"
        ) from None


class WrongKind(InvalidObject):
    """The object has another kind than discovery reported, perhaps some time ago."""


def check_kind(obj: Unstructured, resource: APIResource) -> None:
    """Reject an object that is not of the resource's apiVersion and kind.

    Raises:
        InvalidObject: apiVersion or kind is missing.
        WrongKind: apiVersion or kind differs from that of ``resource``.
    """
    for name, value, right in (
        ("apiVersion", obj.api_version, resource.gvr.api_version),
        ("kind", obj.kind, resource.kind),
    ):
        if not value:
            raise InvalidObject(f"{_called(obj)} has no {name}: add {name}: {right!r}, as required by {resource.gvr}")
    is_now, belongs = GVK.parse(obj.api_version, obj.kind), resource.gvk
    if is_now != belongs:
        raise WrongKind(
            f"{_called(obj)} is {is_now}, but {resource.gvr} expects {belongs}: correct apiVersion and kind, "
            f"or use client.resource({GVK.__name__}({is_now.group!r}, {is_now.version!r}, {is_now.kind!r}))"
        )


def check_complete(obj: Unstructured, subresource: str) -> None:
    """Reject an object without apiVersion or kind.

    Used for subresources with a kind of their own.

    Raises:
        InvalidObject: apiVersion or kind is missing.
    """
    for field, value in (("apiVersion", obj.api_version), ("kind", obj.kind)):
        if not value:
            raise InvalidObject(f"the object for {subresource!r} has no {field}: add it, the server requires it")


def check_name(obj: Unstructured, *, generate: bool = False) -> None:
    """Reject an object without a name; with ``generate`` a generateName suffices.

    Raises:
        InvalidObject: there is no name.
    """
    if obj.name:
        return
    if not generate:
        raise InvalidObject(f"{obj.kind} has no metadata.name: add it, it identifies the object")
    metadata = obj.get("metadata")
    if not (isinstance(metadata, Mapping) and metadata.get("generateName")):
        raise InvalidObject(f"{obj.kind} has neither metadata.name nor metadata.generateName: add one of them")


def namespace_of_one(resource: APIResource, namespace: str | None, *, default: str) -> str | None:
    """Return the namespace of one object: the one given, else the context's.

    ``None`` if the resource is cluster-scoped.

    Raises:
        WrongScope: a namespace for a cluster-scoped resource, or no namespace for a namespaced one.
    """
    if not resource.namespaced:
        _refuse_namespace(resource, namespace)
        return None
    _check_namespace(namespace, hint="the context's namespace")
    if not (namespace or default):
        raise WrongScope(f"{resource.gvr} are namespaced and the context has no namespace: pass namespace=")
    return namespace or default


def namespace_of_many(resource: APIResource, namespace: str | None) -> str | None:
    """Return the namespace of a collection; ``None`` for all namespaces.

    Raises:
        WrongScope: a namespace for a cluster-scoped resource.
    """
    if not resource.namespaced:
        _refuse_namespace(resource, namespace)
    _check_namespace(namespace, hint="all namespaces")
    return namespace


def namespace_of_object(obj: Unstructured, resource: APIResource, namespace: str | None, *, default: str) -> str | None:
    """Return the namespace to write ``obj`` to.

    This is its own namespace, else the one given, else the context's.

    Raises:
        InvalidObject: the object's own namespace differs from the one given.
        WrongScope: a namespace for a cluster-scoped resource, or no namespace for a namespaced one.
    """
    own = obj.namespace
    if own and not resource.namespaced:
        raise WrongScope(
            f"{_called(obj)} has metadata.namespace {own!r}, but {resource.gvr} are cluster-scoped: remove it"
        )
    if own and namespace is not None and own != namespace:
        raise InvalidObject(
            f"{_called(obj)} has metadata.namespace {own!r}, but the call has namespace={namespace!r}: "
            "leave one of them out"
        )
    return namespace_of_one(resource, own or namespace, default=default)


def _called(obj: Unstructured) -> str:
    return f"object {obj.name!r}" if obj.name else "the object"


def _refuse_namespace(resource: APIResource, namespace: str | None) -> None:
    if namespace is not None:
        raise WrongScope(f"{resource.gvr} are cluster-scoped and have no namespace: leave namespace={namespace!r} out")


def _check_namespace(namespace: str | None, *, hint: str) -> None:
    # Other clients use "" or "*" for all namespaces; sent to the server these would silently match nothing.
    given: object = namespace  # callers are not always type-checked
    if given is not None and not isinstance(given, str):
        raise InvalidInput(f"namespace is {a_type(given)}: pass its name, or leave it out (None) for {hint}")
    if given in {"", "*"}:
        raise InvalidInput(f"namespace={namespace!r} is not the name of a namespace: leave it out (None) for {hint}")
