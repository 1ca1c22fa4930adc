"""The paths of resources, by plural."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

# By group and version; cluster-scoped resources have an exclamation mark.
_BUILTIN = {
    "v1": "bindings configmaps endpoints events limitranges namespaces! nodes! persistentvolumeclaims "
    "persistentvolumes! pods podtemplates replicationcontrollers resourcequotas secrets serviceaccounts services",
    "apps/v1": "controllerrevisions daemonsets deployments replicasets statefulsets",
    "batch/v1": "jobs cronjobs",
    "autoscaling/v1": "horizontalpodautoscalers",
    "networking.k8s.io/v1": "ingresses ingressclasses! networkpolicies",
    "coordination.k8s.io/v1": "leases",
    "scheduling.k8s.io/v1": "priorityclasses!",
    "node.k8s.io/v1": "runtimeclasses!",
    "admissionregistration.k8s.io/v1": "validatingadmissionpolicies! validatingadmissionpolicybindings! "
    "mutatingadmissionpolicies! mutatingadmissionpolicybindings! validatingwebhookconfigurations! "
    "mutatingwebhookconfigurations!",
    "storage.k8s.io/v1": "storageclasses!",
    "rbac.authorization.k8s.io/v1": "roles rolebindings clusterroles! clusterrolebindings!",
    "authorization.k8s.io/v1": "subjectaccessreviews! selfsubjectaccessreviews! selfsubjectrulesreviews!",
    "apiextensions.k8s.io/v1": "customresourcedefinitions!",
    "apiregistration.k8s.io/v1": "apiservices!",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource: group, version, plural and scope."""

    group_version: str
    plural: str
    namespaced: bool

    def path(self, namespace: str, name: str = "", subresource: str = "") -> str:
        """Return the path of an object, or of the objects in a namespace (``""`` for all namespaces)."""
        prefix = "/api/v1" if self.group_version == "v1" else f"/apis/{self.group_version}"
        parts = [f"namespaces/{namespace}"] if self.namespaced and namespace else []
        parts += [self.plural, quote(name, safe=""), subresource]
        return "/".join([prefix, *(part for part in parts if part)])


def builtin() -> dict[str, Resource]:
    """Return the built-in resources that tests use, by plural."""
    found = {}
    for group_version, plurals in _BUILTIN.items():
        for entry in plurals.split():
            plural = entry.rstrip("!")
            found[plural] = Resource(group_version=group_version, plural=plural, namespaced=not entry.endswith("!"))
    return found
