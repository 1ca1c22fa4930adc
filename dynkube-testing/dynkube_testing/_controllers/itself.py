"""The Service ``kubernetes`` in the namespace ``default``.

Programs inside a cluster find the API server by this Service. Its endpoint is an address in the range for documentation
(RFC 5737), because the embedded server may have no address, or several.
"""

from __future__ import annotations

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Registry
from dynkube_testing._store.storage import Storage
from dynkube_testing._verbs.objectmeta import stamp_new
from dynkube_testing._verbs.sources import Identity

_NAMESPACE, _NAME = "default", "kubernetes"
_CLUSTER_IP, _ADDRESS, _PORT = "10.0.0.1", "192.0.2.1", 6443


def seed_kubernetes_service(storage: Storage, registry: Registry, identity: Identity) -> None:
    """Create the Service, its Endpoints and its EndpointSlice unless they exist."""
    for group, labels, content in _OBJECTS:
        kind = next(iter(registry.of_storage(group)), None)
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
