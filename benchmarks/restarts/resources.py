"""The resources of a run: built-in ones, permanent and transient CRDs, and CRDs that are never created."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, TypeAlias

from dynkube.meta import GVR

JSONObject: TypeAlias = dict[str, Any]
Scopes: TypeAlias = tuple[str | None, ...]

NAMESPACES = 3
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Origin(enum.Enum):
    """What defines a resource."""

    BUILT_IN = "built-in"
    """Built in; another version of the API server may not serve it."""
    PERMANENT = "a permanent CRD"
    TRANSIENT = "a CRD that is created and deleted"
    NEVER = "a CRD that is never created"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource, and the content of its objects.

    Attributes:
        gvr: the resource.
        kind: the kind of its objects.
        origin: what defines it.
        namespaced: whether its objects have namespaces.
        content: the fields of an object besides metadata.
    """

    gvr: GVR
    kind: str
    origin: Origin
    namespaced: bool = True
    content: Mapping[str, object] = field(default_factory=dict)

    def path(self, namespace: str = "", name: str = "") -> str:
        """Return the path of a collection or an object."""
        gvr = self.gvr
        root = f"/apis/{gvr.group}/{gvr.version}" if gvr.group else f"/api/{gvr.version}"
        within = f"/namespaces/{namespace}" if namespace else ""
        return f"{root}{within}/{gvr.resource}" + (f"/{name}" if name else "")

    def body(self, name: str, label: str, number: int) -> JSONObject:
        """Return an object, with a number that distinguishes its states."""
        metadata = {"name": name, "labels": {"of": label}, "annotations": {"number": str(number)}}
        return {
            "apiVersion": str(self.gvr.group_version),
            "kind": self.kind,
            "metadata": metadata,
            **self.content,
        }

    def crd(self) -> JSONObject:
        """Return the CRD of the resource."""
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.gvr.crd_name},
            "spec": {
                "group": self.gvr.group,
                "scope": "Namespaced" if self.namespaced else "Cluster",
                "names": {"plural": self.gvr.resource, "kind": self.kind},
                "versions": [{"name": self.gvr.version, "served": True, "storage": True, "schema": schema}],
            },
        }


def _built_in(plural: str, group: str, version: str, kind: str, **content: object) -> Resource:
    return Resource(gvr=GVR(group, version, plural), kind=kind, origin=Origin.BUILT_IN, content=content)


# Most are served by 1.20 and by 1.36, the others by one of the two, in a group that both serve or that only one of them
# serves. A group with a dot could be that of a CRD, so the list of CRDs alone does not decide whether it is served.
_BUILT_IN = (
    _built_in("configmaps", "", "v1", "ConfigMap", data={"key": "value"}),
    _built_in("leases", "coordination.k8s.io", "v1", "Lease", spec={"holderIdentity": "restarts"}),
    _built_in("poddisruptionbudgets", "policy", "v1", "PodDisruptionBudget", spec={"minAvailable": 1}),
    _built_in("secrets", "", "v1", "Secret", data={"key": "dmFsdWU="}),
    _built_in("networkpolicies", "networking.k8s.io", "v1", "NetworkPolicy", spec={"podSelector": {}}),
    _built_in("poddisruptionbudgets", "policy", "v1beta1", "PodDisruptionBudget", spec={"minAvailable": 1}),
    _built_in("endpointslices", "discovery.k8s.io", "v1", "EndpointSlice", addressType="IPv4", endpoints=[]),
    _built_in("roles", "rbac.authorization.k8s.io", "v1", "Role", rules=[]),
    _built_in("endpointslices", "discovery.k8s.io", "v1beta1", "EndpointSlice", addressType="IPv4", endpoints=[]),
    _built_in("controllerrevisions", "apps", "v1", "ControllerRevision", revision=1, data={"key": "value"}),
    _built_in("resourceclaims", "resource.k8s.io", "v1", "ResourceClaim", spec={}),
)


def resources(group: str) -> list[Resource]:
    """Return all resources, with each origin early in the list; ``group`` is that of the custom ones."""
    permanent = [_custom(group, Origin.PERMANENT, number, namespaced=number != 2) for number in range(8)]
    transient = [_custom(group, Origin.TRANSIENT, number, namespaced=number != 2) for number in range(6)]
    never = [_custom(group, Origin.NEVER, number) for number in range(3)]
    mixed = zip_longest(permanent, _BUILT_IN, transient, never)
    return [resource for row in mixed for resource in row if resource is not None]


def _custom(group: str, origin: Origin, number: int, *, namespaced: bool = True) -> Resource:
    name = f"{origin.name.lower()}{number}"
    gvr = GVR(group, "v1", f"{name}things")
    return Resource(gvr=gvr, kind=f"{name.capitalize()}Thing", origin=origin, namespaced=namespaced)
