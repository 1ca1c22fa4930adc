"""The variables of expressions of policies and webhooks, with the types that kube-apiserver declares for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dynkube_testing._schemas.cel import celtypes as types
from dynkube_testing._schemas.cel.authorizer import AUTHORIZER, RESOURCE_CHECK
from dynkube_testing._schemas.cel.celtypes import Type
from dynkube_testing._schemas.cel.declared import Declared

_TEXT, _NUMBER, _ANY = Declared(types.STRING), Declared(types.INT), Declared(types.DYN)
_TEXTS = Declared(types.list_of(types.STRING), item=_TEXT)
_BY_NAME = Declared(types.map_of(types.STRING, types.STRING), item=_TEXT)
_EXTRA = Declared(types.map_of(types.STRING, _TEXTS.type), item=_TEXTS)


def _struct(*texts: str, **others: Declared) -> Declared:
    return Declared(Type("struct", "object"), {**dict.fromkeys(texts, _TEXT), **others})


_GVK, _GVR = _struct("group", "version", "kind"), _struct("group", "version", "resource")
_REQUEST = _struct(
    *("subResource", "requestSubResource", "name", "namespace", "operation"),
    kind=_GVK,
    resource=_GVR,
    requestKind=_GVK,
    requestResource=_GVR,
    userInfo=_struct("username", "uid", groups=_TEXTS, extra=_EXTRA),
    dryRun=Declared(types.BOOL),
    options=_ANY,
).named("kubernetes.AdmissionRequest")
_NAMESPACE = _struct(
    "apiVersion",
    "kind",
    metadata=_struct(
        *("name", "generateName", "namespace", "UID", "resourceVersion"),
        labels=_BY_NAME,
        annotations=_BY_NAME,
        creationTimestamp=_ANY,  # a timestamp in a real server, as is the next one
        deletionTimestamp=_ANY,
        deletionGracePeriodSeconds=_NUMBER,
        generation=_NUMBER,
        finalizers=_TEXTS,
    ),
    spec=_struct(finalizers=_TEXTS),
    status=_struct("phase"),
).named("kubernetes.Namespace")
_STRUCTS: Final[Mapping[str, Declared]] = {**_REQUEST.structs(), **_NAMESPACE.structs()}

VARIABLES: Final[Mapping[str, Type]] = {
    **dict.fromkeys(("object", "oldObject", "params", "variables"), types.DYN),
    "request": _REQUEST.type,
    "namespaceObject": _NAMESPACE.type,
    "authorizer": AUTHORIZER,
    "authorizer.requestResource": RESOURCE_CHECK,
}


def field_type(struct: str, name: str) -> Type | None:
    """Return the type of a field; ``None`` if there is none of this name."""
    found = (_STRUCTS[struct].fields or {}).get(name) if struct in _STRUCTS else None
    return None if found is None else found.type
