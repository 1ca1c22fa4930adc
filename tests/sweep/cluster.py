"""The objects of the scenarios' clusters: few, and all that the verbs need."""

from __future__ import annotations

from typing import Any, Final

from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, crd, namespace, widget
from tests.inspection.metrics import metrics_crds, node_metrics, pod_metrics
from tests.pods.kit import add, running_pod
from tests.workloads.kit import template, workload

__all__ = ["DEPLOYMENTS", "WIDGETS", "config", "crd", "namespace", "running_pod", "template", "widget", "workload"]

DEPLOYMENTS: Final = "deployments.v1.apps"
DONE: Final = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}
Object = dict[str, Any]


def config(name: str, namespace: str = "default", **data: str) -> Object:
    """Return a ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def widgets(server: APIServer) -> None:
    """Create the CRD of widgets with a status, and the widgets a and b."""
    definition = crd()
    definition["spec"]["versions"][0]["subresources"] = {"status": {}}
    server.create(namespace("elsewhere"))
    server.create(definition)
    for name in "ab":
        server.create(widget(name, labels={"app": "web"}, size=1))


def configs(server: APIServer) -> None:
    """Create the ConfigMaps a and b."""
    server.create(namespace("elsewhere"))
    for name in "ab":
        server.create({**config(name, key="1"), "metadata": {**config(name)["metadata"], "labels": {"app": "web"}}})


def deployment(server: APIServer) -> None:
    """Create the Deployment web, whose rollout is complete, and its two revisions."""
    server.create(namespace("elsewhere"))
    created = server.create(in_default(workload(replicas=1)))
    done = {"observedGeneration": created["metadata"]["generation"], **DONE}
    server.update({**created, "status": done}, subresource="status")
    for number in (1, 2):
        server.create(replica_set(created, number))


def in_default(obj: Object) -> Object:
    """Return an object with its namespace."""
    return {**obj, "metadata": {**obj["metadata"], "namespace": "default"}}


def replica_set(owner: Object, number: int) -> Object:
    """Return the ReplicaSet of a revision; the newest has the replicas."""
    own = {"pod-template-hash": f"h{number}"}
    metadata = {
        "name": f"web-h{number}",
        "namespace": "default",
        "labels": {"app": "web", **own},
        "annotations": {"deployment.kubernetes.io/revision": str(number)},
        "ownerReferences": [owned_by(owner)],
    }
    image = "app:1" if number == 2 else "app:0"
    spec = {"selector": {"matchLabels": {"app": "web", **own}}, "template": template(image, **own), "replicas": 0}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}


def owned_by(owner: Object) -> Object:
    """Return an ownerReference."""
    metadata = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    return {**reference, "name": metadata["name"], "uid": metadata["uid"]}


def pod(server: APIServer) -> None:
    """Create the pod web, which runs on a node."""
    server.create(namespace("elsewhere"))
    server.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker"}})
    add(server, running_pod("web"))
    server.containers.write_log("web", "one\ntwo\n")


def workload_with_logs(server: APIServer) -> None:
    """Create a Deployment with a ReplicaSet and its pods web-a and web-b, which have written a line each."""
    server.create(namespace("elsewhere"))
    server.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker"}})
    owner = server.create(replica_set(server.create(in_default(workload(replicas=1))), 2))
    for name in ("web-a", "web-b"):
        owned_pod(server, name, owner)


def owned_pod(server: APIServer, name: str, owner: Object) -> None:
    """Create a pod of an owner, which has written a line."""
    body = running_pod(name)
    body["metadata"] |= {"labels": {"app": "web"}, "ownerReferences": [owned_by(owner)]}
    body["spec"]["terminationGracePeriodSeconds"] = 0
    add(server, body)
    server.containers.write_log(name, f"from {name}\n")


def metrics(server: APIServer) -> None:
    """Create nodes and pods with metrics."""
    pod(server)
    for definition in metrics_crds():
        server.create(definition)
    server.create(pod_metrics("web", app=("250m", "100Mi")))
    server.create(node_metrics("worker", "500m", "3Gi"))
    node = server.get("nodes", "worker")
    server.update({**node, "status": {"allocatable": {"cpu": "2", "memory": "8Gi"}}}, subresource="status")


def alice(server: APIServer) -> None:
    """Let Alice read widgets and Deployments, and no CRDs."""
    widgets(server)
    server.create(in_default(workload(name="a")))
    server.create(in_default(workload(name="b")))
    for resource in ("widgets.example.com", "deployments.apps"):
        server.grant("alice", verbs=["get", "list", "watch"], resource=resource)


def namespaces(server: APIServer) -> None:
    """Create the namespaces n0 and n1 with a widget each, which Alice may read, and nothing else."""
    server.create(namespace("elsewhere"))
    server.create(crd())
    for name in ("n0", "n1"):
        server.create(namespace(name, {"team": "a"}))
        server.create(widget(f"w-{name}", namespace=name))
        server.grant("alice", verbs=["list", "watch"], resource="widgets.example.com", namespace=name)
    server.grant("alice", verbs=["list", "watch"], resource="namespaces")
