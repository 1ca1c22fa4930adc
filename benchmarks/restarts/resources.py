"""What is followed: built-in resources, CRDs that stay, CRDs that come and go, and CRDs that never come."""

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
    """Where a resource comes from."""

    BUILT_IN = "built-in"
    """Of the API server; another version of it may not serve it."""
    STAYS = "a CRD that stays"
    CHANGES = "a CRD that comes and goes"
    NEVER = "a CRD that is never created"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource to follow, and what its objects look like.

    Attributes:
        gvr: the resource.
        kind: of its objects.
        origin: where it comes from.
        namespaced: whether its objects are in namespaces.
        content: what an object holds besides metadata.
    """

    gvr: GVR
    kind: str
    origin: Origin
    namespaced: bool = True
    content: Mapping[str, object] = field(default_factory=dict)

    def path(self, namespace: str = "", name: str = "") -> str:
        """The path of a collection or an object."""
        gvr = self.gvr
        root = f"/apis/{gvr.group}/{gvr.version}" if gvr.group else f"/api/{gvr.version}"
        within = f"/namespaces/{namespace}" if namespace else ""
        return f"{root}{within}/{gvr.resource}" + (f"/{name}" if name else "")

    def body(self, name: str, label: str, number: int) -> JSONObject:
        """An object, with a number that tells its states apart."""
        metadata = {"name": name, "labels": {"of": label}, "annotations": {"number": str(number)}}
        return {
            "apiVersion": str(self.gvr.group_version),
            "kind": self.kind,
            "metadata": metadata,
            **self.content,
        }

    def crd(self) -> JSONObject:
        """The CRD that defines it."""
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


# Most are served by 1.20 and by 1.36. Of the others each is served by one of the two, in a group that both serve or in
# one that only one of them has. A group with a dot could be a CRD's, so that the CRDs alone do not explain it.
_BUILT_IN = (
    _built_in("configmaps", "", "v1", "ConfigMap", data={"key": "value"}),
    _built_in("leases", "coordination.k8s.io", "v1", "Lease", spec={"holderIdentity": "nobody"}),
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
    """All of them, each kind of origin early in the list; the custom ones are of ``group``."""
    stays = [_custom(group, Origin.STAYS, number, namespaced=number != 2) for number in range(8)]
    changes = [_custom(group, Origin.CHANGES, number, namespaced=number != 2) for number in range(6)]
    never = [_custom(group, Origin.NEVER, number) for number in range(3)]
    mixed = zip_longest(stays, _BUILT_IN, changes, never)
    return [resource for row in mixed for resource in row if resource is not None]


def _custom(group: str, origin: Origin, number: int, *, namespaced: bool = True) -> Resource:
    name = f"{origin.name.lower()}{number}"
    gvr = GVR(group, "v1", f"{name}things")
    return Resource(gvr=gvr, kind=f"{name.capitalize()}Thing", origin=origin, namespaced=namespaced)
