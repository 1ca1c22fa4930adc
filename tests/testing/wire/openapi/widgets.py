"""A CRD whose schema has all keywords that OpenAPI documents treat specially."""

from __future__ import annotations

from typing import Any

from dynkube.meta import GVR
from dynkube_testing._kinds.kinds import Kind

CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.acme.example"},
    "spec": {
        "group": "acme.example",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": "A widget turns.",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["colour"],
                                "properties": {
                                    "colour": {"type": "string", "description": "Of the case.", "default": "red"},
                                    "replicas": {"type": "integer"},
                                },
                            },
                            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
                        },
                    }
                },
            }
        ],
    },
}


def widget(field: dict[str, Any]) -> Kind:
    """Return a custom kind whose schema has one field, ``spec``."""
    schema = {"type": "object", "properties": {"spec": field}}
    return kind_of(schema)


def kind_of(schema: dict[str, Any] | None, **about: Any) -> Kind:
    """Return a custom kind with this schema."""
    gvr = GVR("acme.example", "v1", "widgets")
    return Kind(gvr=gvr, kind="Widget", namespaced=True, crd_uid="u-1", schema_source=schema, **about)
