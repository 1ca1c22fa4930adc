"""Objects with ``managedFields``, as on a server."""

from __future__ import annotations

from typing import Any

IDENTITY: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
}
NOON = "2024-01-02T12:00:00Z"


def entry(
    manager: str,
    fields: dict[str, Any],
    operation: str = "Apply",
    *,
    api_version: str = "apps/v1",
    time: str = NOON,
    subresource: str = "",
) -> dict[str, Any]:
    """Return an entry of ``managedFields``."""
    found: dict[str, Any] = {"manager": manager, "operation": operation, "apiVersion": api_version, "time": time}
    found |= {"fieldsType": "FieldsV1", "fieldsV1": fields}
    return found | ({"subresource": subresource} if subresource else {})


def deployment(*entries: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """Return a Deployment with these entries."""
    metadata = {**IDENTITY["metadata"], "managedFields": list(entries)}
    return {**IDENTITY, "metadata": metadata, "spec": spec}


def owned_image(name: str = "web") -> dict[str, Any]:
    """Return the FieldsV1 of a manager that owns the image of a container."""
    item: dict[str, Any] = {".": {}, "f:image": {}, "f:name": {}}
    return {"f:spec": {"f:template": {"f:spec": {"f:containers": {f'k:{{"name":"{name}"}}': item}}}}}
