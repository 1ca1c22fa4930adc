"""What kinds do to their own objects on the way in: the part of an object a write may touch, and generations."""

from __future__ import annotations

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds.kinds import Kind

# Objects of these kinds are created with the status they come with: whoever creates a Node reports its state.
_STATUS_ON_CREATE = {"nodes"}
_UNCONDITIONAL_UPDATE_REFUSED_GROUPS = {"apiregistration.k8s.io"}


def reset_for_create(obj: JSONObject, kind: Kind) -> None:
    """Drop the status a creator cannot set, and fill in what the kind's own defaults say."""
    if "status" in kind.subresources and kind.gvr.resource not in _STATUS_ON_CREATE:
        obj.pop("status", None)
    if kind.gvr.group == "" and (defaults := _CORE_DEFAULTS.get(kind.kind)):
        defaults(obj)


def reset_for_update(obj: JSONObject, old: JSONObject, kind: Kind, subresource: str) -> JSONObject:
    """The object that results from writing ``obj`` over ``old`` through ``subresource`` (``""``: the object itself).

    Through ``status`` only the status is written; of the metadata, as with custom resources, nothing but the
    bookkeeping of managers. Through the object itself everything else is, where the kind has a status subresource.
    """
    if subresource == "status":
        result = {**old, "metadata": dict(old["metadata"])}
        for field in ("managedFields", "resourceVersion"):
            if field in obj["metadata"]:
                result["metadata"][field] = obj["metadata"][field]
        _take(result, obj, "status")
        return result
    if "status" in kind.subresources:
        _take(obj, old, "status")
    if kind.gvr.group == "" and kind.kind == "Namespace":
        # Only the finalize subresource changes them, so that no update can stop a namespace from being emptied.
        _take(obj, old, "spec")
    return obj


def bump_generation(obj: JSONObject, old: JSONObject, kind: Kind) -> None:
    """Count a change of what the object asks for: everything but metadata, and but status where that is apart."""
    if not kind.generation:
        return
    apart = {"apiVersion", "kind", "metadata"} | ({"status"} if "status" in kind.subresources else set())
    if _without(obj, apart) != _without(old, apart):
        obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def allows_unconditional_update(kind: Kind) -> bool:
    """Whether an update without resourceVersion overwrites whatever is there; not for custom resources."""
    return kind.crd_uid is None and kind.gvr.group not in _UNCONDITIONAL_UPDATE_REFUSED_GROUPS


def _take(target: JSONObject, source: JSONObject, field: str) -> None:
    if field in source:
        target[field] = source[field]
    else:
        target.pop(field, None)


def _without(obj: JSONObject, fields: set[str]) -> JSONObject:
    return {key: value for key, value in obj.items() if key not in fields}


def _pod(obj: JSONObject) -> None:
    obj["status"] = {"phase": "Pending", "qosClass": "BestEffort"}


def _namespace(obj: JSONObject) -> None:
    obj["spec"] = {"finalizers": ["kubernetes"]}
    obj["status"] = {"phase": "Active"}
    metadata = obj["metadata"]
    metadata["labels"] = {**metadata.get("labels", {}), "kubernetes.io/metadata.name": metadata.get("name", "")}


_CORE_DEFAULTS = {"Pod": _pod, "Namespace": _namespace}
