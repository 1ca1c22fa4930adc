"""The names that definitions have in OpenAPI documents, and where references to them point."""

from __future__ import annotations

from dynkube.meta import GVK
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._kinds.schemas import builtin_schemas

META = "io.k8s.apimachinery.pkg.apis.meta.v1"

#: What is before a name in a reference, in version 3 and version 2.
V3_PREFIX = "#/components/schemas/"
V2_PREFIX = "#/definitions/"


def name_of(kind: Kind) -> str:
    """The name of a kind's definition: ``io.k8s.api.apps.v1.Deployment``, ``com.example.v1.Widget``."""
    return _name(kind, kind.kind)


def list_name_of(kind: Kind) -> str:
    """The name of the definition of a kind's lists."""
    return _name(kind, kind.list_kind)


def builtin_name(gvk: GVK) -> str:
    """The name of the definition of a built-in type; empty where there is none."""
    return builtin_schemas().name_of(gvk) or ""


def is_known(kind: Kind) -> bool:
    """Whether the kind is one of the built-in types, whose definitions come with the package."""
    return kind.crd_uid is None and builtin_schemas().name_of(kind.gvk) is not None


def _name(kind: Kind, name: str) -> str:
    gv = kind.gvr.group_version
    known = builtin_schemas().name_of(GVK(gv.group, gv.version, name)) if kind.crd_uid is None else None
    group = ".".join(reversed(gv.group.split("."))) or "core"
    return known or f"{group}.{gv.version}.{name}"
