"""In which order objects are applied: what others cannot do without goes first, what judges others last. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from dynkube.meta import GVK, GVR, GroupVersion, Unstructured


class Wave(IntEnum):
    """Objects of one wave are applied in parallel, and those of the next when they are done."""

    FOUNDATIONS = 0
    """Namespaces, and the definitions of custom resources."""
    ADMITTED_BY = 1
    """What admission looks up when others are created: it refuses pods of an unknown class or account, say."""
    REST = 2
    """Everything else."""
    JUDGES = 3
    """Webhooks and policies: they would judge, or hold up, what comes with them; their own backends come before."""


_WAVES = {
    ("", "Namespace"): Wave.FOUNDATIONS,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): Wave.FOUNDATIONS,
    ("", "LimitRange"): Wave.ADMITTED_BY,
    ("", "ResourceQuota"): Wave.ADMITTED_BY,
    ("", "ServiceAccount"): Wave.ADMITTED_BY,
    ("node.k8s.io", "RuntimeClass"): Wave.ADMITTED_BY,
    ("scheduling.k8s.io", "PriorityClass"): Wave.ADMITTED_BY,
    ("storage.k8s.io", "StorageClass"): Wave.ADMITTED_BY,
    # A binding to a role that does not exist is refused to everybody but administrators.
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
    """When objects of a kind are applied."""
    return _WAVES.get((gvk.group, gvk.kind), Wave.REST)


class Definitions:
    """The kinds that the CRDs of a source define: known before any of them is applied.

    Args:
        objects: the source; those that are no CRD are passed over.
    """

    def __init__(self, objects: Iterable[Unstructured]) -> None:
        self._by_kind: dict[tuple[str, str], Definition] = {}
        for obj in objects:
            if is_definition(obj) and (definition := Definition.read(obj)) is not None:
                self._by_kind[definition.group, definition.kind] = definition

    def of(self, gvk: GVK) -> Definition | None:
        """What defines ``gvk``, in whichever version."""
        return self._by_kind.get((gvk.group, gvk.kind))


class Definition:
    """What a CRD says of the kind that it defines, read from a manifest that nobody has checked."""

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
        """Those that are served."""

    @classmethod
    def read(cls, obj: Unstructured) -> Definition | None:
        """``None`` where the manifest does not say enough; the server will say what is wrong with it."""
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
        """The resource in one of its versions."""
        return GVR(self.group, version, self.plural)


def is_definition(obj: Unstructured) -> bool:
    """Whether it is a CustomResourceDefinition of the version that servers have."""
    return obj.kind == "CustomResourceDefinition" and obj.group_version == GroupVersion("apiextensions.k8s.io", "v1")


def _is_served(version: object) -> bool:
    match version:
        case {"name": str(), "served": True}:
            return True
    return False
