"""The objects that a new cluster has: namespaces, the Service ``kubernetes``, default roles and PriorityClasses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.bootstrap import bootstrap_objects
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._store.storage import Storage
from dynkube_testing._verbs.namespaces import INITIAL, NAME_LABEL_FIELDS, NAMESPACES
from dynkube_testing._verbs.objectmeta import stamp_new
from dynkube_testing._verbs.sources import Identity
from dynkube_testing._verbs.writing import Writes

_NAMESPACE, _NAME = "default", "kubernetes"
_PRIORITY_CLASSES = "priorityclasses.scheduling.k8s.io"
_CLUSTER_IP, _ADDRESS, _PORT = "10.0.0.1", "192.0.2.1", 6443


@dataclass(frozen=True, slots=True)
class InitialObjects:
    """Creates the objects of a new cluster, unless they exist."""

    storage: Storage
    registry: Registry
    writes: Writes

    def create(self, groups: Iterable[str]) -> None:
        """Create those that come with one of the resources ``groups`` (storage groups), except for roles."""
        for kind in self.registry.of_storage(NAMESPACES) if NAMESPACES in groups else ():
            for name in INITIAL:
                obj: JSONObject = {
                    "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
                    "spec": {"finalizers": ["kubernetes"]},
                    "status": {"phase": "Active"},
                }
                self._seed(kind, obj, {"f:metadata": {"f:labels": NAME_LABEL_FIELDS}})
            _seed_kubernetes_service(self.storage, self.registry, self.writes.identity)
        if _PRIORITY_CLASSES in groups:
            self.bootstrap("scheduling.k8s.io")

    def bootstrap(self, group: str) -> None:
        """Create the objects of an API group that a kube-apiserver creates at its start."""
        for each in bootstrap_objects(group):
            kind = self.registry.find(each.content["apiVersion"], each.content["kind"])
            assert kind is not None, f"{each.content['kind']} is served"
            self._seed(kind, each.content, each.fields)

    def _seed(self, kind: Kind, obj: JSONObject, fields: JSONObject) -> None:
        namespace, name = obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
        if self.storage.get(kind, namespace, name) is None:
            self.writes.seed(kind, obj, "kube-apiserver", fields)


def _seed_kubernetes_service(storage: Storage, registry: Registry, identity: Identity) -> None:
    """Create the Service ``kubernetes``, by which programs inside a cluster find the API server.

    Its endpoint is an address in the range for documentation (RFC 5737), because the embedded server may have no
    address, or several.
    """
    for group, labels, content in _OBJECTS:
        kind = registry.stored(group)
        if kind is None or storage.get(kind, _NAMESPACE, _NAME) is not None:
            continue
        obj: JSONObject = {"metadata": {"name": _NAME, "namespace": _NAMESPACE, "labels": labels}, **content}
        stamp_new(obj, kind, identity)
        storage.put(kind, obj)


_PORTS = [{"name": "https", "port": _PORT, "protocol": "TCP"}]
_OBJECTS: tuple[tuple[str, dict[str, str], JSONObject], ...] = (
    (
        "services",
        {"component": "apiserver", "provider": "kubernetes"},
        {
            "spec": {
                "clusterIP": _CLUSTER_IP,
                "clusterIPs": [_CLUSTER_IP],
                "internalTrafficPolicy": "Cluster",
                "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack",
                "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": _PORT}],
                "sessionAffinity": "None",
                "type": "ClusterIP",
            },
            "status": {"loadBalancer": {}},
        },
    ),
    (
        "endpoints",
        {"endpointslice.kubernetes.io/skip-mirror": "true"},
        {"subsets": [{"addresses": [{"ip": _ADDRESS}], "ports": _PORTS}]},
    ),
    (
        "endpointslices.discovery.k8s.io",
        {"kubernetes.io/service-name": _NAME},
        {
            "addressType": "IPv4",
            "endpoints": [{"addresses": [_ADDRESS], "conditions": {"ready": True}}],
            "ports": _PORTS,
        },
    ),
)
