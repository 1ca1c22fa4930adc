"""Small manifests, and reports in a form that is easy to compare."""

from __future__ import annotations

import json
from typing import Any

from dynkube.manifests import Report

JSONObject = dict[str, Any]


def config(name: str, *, namespace: str = "", **data: str) -> JSONObject:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def namespace(name: str) -> JSONObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def crd(*, served: tuple[str, ...] = ("v1",), scope: str = "Namespaced", **labels: str) -> JSONObject:
    """Return the CRD widgets.example.com."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {"name": name, "served": True, "storage": index == 0, "schema": {"openAPIV3Schema": schema}}
        for index, name in enumerate(served)
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com", "labels": labels},
        "spec": {
            "group": "example.com",
            "scope": scope,
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": versions,
        },
    }


def widget(name: str, *, version: str = "v1", **spec: object) -> JSONObject:
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


def text_of(*objects: JSONObject) -> str:
    return "\n---\n".join(json.dumps(obj, indent=1) for obj in objects)


def outcomes(report: Report) -> list[tuple[str, str]]:
    """Return outcome and name of each entry: ``("created", "configmap/a")``."""
    return [(str(entry.outcome), entry.name) for entry in report]
