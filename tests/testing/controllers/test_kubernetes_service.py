"""The Service ``kubernetes``, by which programs in a cluster find the API server."""

from __future__ import annotations

from tests.testing.engine.cluster import Cluster


def test_the_kubernetes_service_exists_with_endpoints(cluster: Cluster) -> None:
    service = cluster.get("services", "kubernetes")
    endpoints = cluster.get("endpoints", "kubernetes")
    (endpoint_slice,) = cluster.list_of("endpointslices", labelSelector="kubernetes.io/service-name=kubernetes")[
        "items"
    ]

    assert service["spec"]["ports"] == [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]
    assert service["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
    assert endpoints["subsets"][0]["addresses"] == [{"ip": "192.0.2.1"}]
    assert endpoint_slice["endpoints"][0]["addresses"] == ["192.0.2.1"]
