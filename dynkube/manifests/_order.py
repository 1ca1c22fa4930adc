"""The order of applying: prerequisites first, admission control last. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from dynkube.meta import GVK, GVR, GroupVersion, Unstructured


class Wave(IntEnum):
    """Objects of one wave are applied in parallel, after all objects of earlier waves."""

    FOUNDATIONS = 0
    """Namespaces and CRDs."""
    ADMITTED_BY = 1
    """Objects that admission looks up: for example, it rejects pods with an unknown class or service account."""
    REST = 2
    """Everything else."""
    JUDGES = 3
    """Webhooks and policies, which would reject or delay other objects of the source, such as their own backends."""


_WAVES = {
    ("", "Namespace"): Wave.FOUNDATIONS,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): Wave.FOUNDATIONS,
    ("", "LimitRange"): Wave.ADMITTED_BY,
    ("", "ResourceQuota"): Wave.ADMITTED_BY,
    ("", "ServiceAccount"): Wave.ADMITTED_BY,
    ("node.k8s.io", "RuntimeClass"): Wave.ADMITTED_BY,
    ("scheduling.k8s.io", "PriorityClass"): Wave.ADMITTED_BY,
    ("storage.k8s.io", "StorageClass"): Wave.ADMITTED_BY,
    # Only administrators may create a binding to a role that does not exist.
    ("rbac.authorization.k8s.io", "ClusterRole"): Wave.ADMITTED_BY,
    ("rbac.authorization.k8s.io", "Role"): Wave.ADMITTED_BY,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): Wave.JUDGES,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): Wave.JUDGES,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): Wave.JUDGES,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): Wave.JUDGES,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): Wave.JUDGES,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): Wave.JUDGES,
}


def wave_of(gvk: GVK) -> Wave:
    """Return the wave of a kind."""
    return _WAVES.get((gvk.group, gvk.kind), Wave.REST)


class Definitions:
    """The kinds defined by the CRDs of a source, known before any CRD is applied.

    Args:
        objects: the objects of the source; only CRDs are used.
    """

    def __init__(self, objects: Iterable[Unstructured]) -> None:
        self._by_kind: dict[tuple[str, str], Definition] = {}
        for obj in objects:
            if is_definition(obj) and (definition := Definition.read(obj)) is not None:
                self._by_kind[definition.group, definition.kind] = definition

    def of(self, gvk: GVK) -> Definition | None:
        """Return the CRD that defines ``gvk``, in any version."""
        return self._by_kind.get((gvk.group, gvk.kind))


class Definition:
    """The kind defined by a CRD, parsed from an unvalidated manifest."""

    __slots__ = ("group", "kind", "name", "namespaced", "plural", "versions")

    def __init__(
        self, name: str, group: str, kind: str, plural: str, namespaced: bool, versions: frozenset[str]
    ) -> None:
        self.name = name
        self.group = group
        self.kind = kind
        self.plural = plural
        self.namespaced = namespaced
        self.versions = versions
        """The served versions."""

    @classmethod
    def read(cls, obj: Unstructured) -> Definition | None:
        """Parse a CRD; ``None`` if the manifest is incomplete, as the server reports that."""
        match obj.get("spec"):
            case {
                "group": str(group),
                "names": {"kind": str(kind), "plural": str(plural)},
                "versions": [*versions],
                **rest,
            }:
                served = [version["name"] for version in versions if _is_served(version)]
                return cls(obj.name, group, kind, plural, rest.get("scope") != "Cluster", frozenset(served))
        return None

    def gvr(self, version: str) -> GVR:
        """Return the resource in one of its versions."""
        return GVR(self.group, version, self.plural)


def is_definition(obj: Unstructured) -> bool:
    """Whether it is a CustomResourceDefinition of ``apiextensions.k8s.io/v1``."""
    return obj.kind == "CustomResourceDefinition" and obj.group_version == GroupVersion("apiextensions.k8s.io", "v1")


def _is_served(version: object) -> bool:
    match version:
        case {"name": str(), "served": True}:
            return True
    return False
