"""Names of definitions in OpenAPI documents, and prefixes of references to them."""

from __future__ import annotations

from dynkube.meta import GVK
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._kinds.schemas import builtin_schemas

META = "io.k8s.apimachinery.pkg.apis.meta.v1"

#: The prefix of a name in a reference, in version 3 and version 2.
V3_PREFIX = "#/components/schemas/"
V2_PREFIX = "#/definitions/"


def name_of(kind: Kind) -> str:
    """Return the definition name of a kind, like ``io.k8s.api.apps.v1.Deployment``.

    The name of a custom kind is like ``com.example.v1.Widget``.
    """
    return _name(kind, kind.kind)


def list_name_of(kind: Kind) -> str:
    """Return the definition name of a kind's list."""
    return _name(kind, kind.list_kind)


def builtin_name(gvk: GVK) -> str:
    """Return the definition name of a built-in type; ``""`` if there is no such type."""
    return builtin_schemas().name_of(gvk) or ""


def is_known(kind: Kind) -> bool:
    """Return whether the kind is a built-in type.

    Its definition then comes with the package.
    """
    return kind.crd_uid is None and builtin_schemas().name_of(kind.gvk) is not None


def _name(kind: Kind, name: str) -> str:
    gv = kind.gvr.group_version
    known = builtin_schemas().name_of(GVK(gv.group, gv.version, name)) if kind.crd_uid is None else None
    group = ".".join(reversed(gv.group.split("."))) or "core"
    return known or f"{group}.{gv.version}.{name}"
