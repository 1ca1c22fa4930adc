"""The objects that contract tests write, each as small as its kind allows."""

from __future__ import annotations

from typing import Any, TypeAlias

JSONObject: TypeAlias = dict[str, Any]

CRDS = "customresourcedefinitions"


def config(name: str = "a", **metadata: Any) -> JSONObject:
    """Return a ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"k": "v"}}


def pod(name: str = "p", **spec: Any) -> JSONObject:
    """Return a Pod with one container."""
    spec = {"containers": [{"name": "app", "image": "app:1"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def service(name: str = "s", **spec: Any) -> JSONObject:
    """Return a Service with one port."""
    spec = {"ports": [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def workload(name: str = "d", **spec: Any) -> JSONObject:
    """Return a Deployment with a pod template and its selector; other workloads have the same required fields."""
    template = {"metadata": {"labels": {"app": name}}, "spec": pod()["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template, **spec},
    }


def version(name: str = "v1", *, storage: bool = True, served: bool = True, **more: Any) -> JSONObject:
    """Return a version of a CRD; without ``schema`` it allows any content."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {"name": name, "served": served, "storage": storage, "schema": schema, **more}


def structural(**properties: Any) -> JSONObject:
    """Return the ``schema`` of a version whose ``spec`` has these properties."""
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}}


def conditions(obj: JSONObject) -> dict[str, tuple[str, str]]:
    """Return the status and the reason of each condition."""
    return {entry["type"]: (entry["status"], entry.get("reason", "")) for entry in obj["status"]["conditions"] or ()}


def owners(obj: JSONObject) -> dict[str, JSONObject]:
    """Return the fields of each manager in ``managedFields``.

    Keys are ``manager`` for applies, and for example ``manager:Update`` or ``manager:Update:status`` for other writes.
    """
    found = {}
    for entry in obj["metadata"].get("managedFields", ()):
        parts = [
            entry["manager"],
            *(["Update"] if entry["operation"] == "Update" else []),
            entry.get("subresource", ""),
        ]
        found[":".join(part for part in parts if part)] = entry["fieldsV1"]
    return found
