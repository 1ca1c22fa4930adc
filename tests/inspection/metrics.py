"""The metrics API, played by CRDs: the objects that metrics-server would serve."""

from __future__ import annotations

from typing import Any, Final

from tests.informers.kit import crd

_APPROVED: Final = {"api-approved.kubernetes.io": "unapproved, for tests"}


def metrics_crds() -> list[dict[str, Any]]:
    """Return CRDs of PodMetrics and NodeMetrics."""
    found = []
    for plural, kind, scope in (("pods", "PodMetrics", "Namespaced"), ("nodes", "NodeMetrics", "Cluster")):
        definition = crd(plural, group="metrics.k8s.io", served=("v1beta1",), scope=scope, annotations=_APPROVED)
        definition["spec"]["names"] = {"plural": plural, "singular": f"{plural}-metrics", "kind": kind}
        found.append(definition)
    return found


def pod_metrics(name: str, namespace: str = "default", **usage: tuple[str, str]) -> dict[str, Any]:
    """Return the metrics of a pod, by container: CPU and memory."""
    containers = [{"name": each, "usage": {"cpu": cpu, "memory": memory}} for each, (cpu, memory) in usage.items()]
    metadata = {"name": name, "namespace": namespace, "labels": {"app": name}}
    return {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "PodMetrics",
        "metadata": metadata,
        "containers": containers,
    }


def node_metrics(name: str, cpu: str, memory: str) -> dict[str, Any]:
    """Return the metrics of a node."""
    usage = {"cpu": cpu, "memory": memory}
    metadata = {"name": name}
    return {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics", "metadata": metadata, "usage": usage}
