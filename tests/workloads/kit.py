"""Workloads, and what their controllers would write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dynkube import Client, Unstructured

KINDS: Final = {"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets"}


def template(image: str = "app:1", **labels: str) -> dict[str, Any]:
    """Return a pod template."""
    container = {"name": "app", "image": image}
    return {"metadata": {"labels": {"app": "web", **labels}}, "spec": {"containers": [container]}}


def workload(kind: str = "Deployment", name: str = "web", *, image: str = "app:1", **spec: Any) -> dict[str, Any]:
    """Return a workload."""
    required: dict[str, Any] = {"selector": {"matchLabels": {"app": "web"}}, "template": template(image)}
    if kind == "StatefulSet":
        required["serviceName"] = name
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": {**required, **spec}}


async def with_status(client: Client, obj: Unstructured, status: Mapping[str, Any]) -> Unstructured:
    """Write the status of an object, as its controller would; ``observedGeneration`` is its generation."""
    full = {"observedGeneration": obj.generation, **status}
    metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    return await client.resource(obj.gvk).update_status({**obj, "metadata": metadata, "status": full})


def owned_by(owner: Unstructured, obj: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object whose controller is ``owner``."""
    reference = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
    }
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [reference]}}


async def new_replica_set(client: Client, owner: Unstructured, number: int, image: str, cause: str = "") -> None:
    """Create the ReplicaSet of a revision, as the Deployment's controller does."""
    annotations = {"deployment.kubernetes.io/revision": str(number), "example.com/note": f"n{number}"}
    if cause:
        annotations["kubernetes.io/change-cause"] = cause
    own = {"pod-template-hash": f"h{number}"}
    metadata = {"name": f"{owner.name}-h{number}", "labels": {"app": "web", **own}, "annotations": annotations}
    spec = {"selector": {"matchLabels": {"app": "web", **own}}, "template": template(image, **own), "replicas": 0}
    obj = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}
    await client.resource("replicasets").create(owned_by(owner, obj))


async def new_controller_revision(client: Client, owner: Unstructured, number: int, image: str) -> None:
    """Create a ControllerRevision, as the controllers of StatefulSets and DaemonSets do."""
    data = {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}
    spec = data["spec"]["template"]["spec"]
    containers = [{**spec["containers"][0], "image": image}]
    data["spec"]["template"] = {**data["spec"]["template"], "spec": {**spec, "containers": containers}}
    metadata = {"name": f"{owner.name}-{number}", "labels": {"app": "web"}}
    obj = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "revision": number}
    await client.resource("controllerrevisions").create(owned_by(owner, {**obj, "data": data}))
