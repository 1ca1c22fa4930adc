"""Create and update strategies of kinds.

They determine which fields a write may change, and when generations change.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._patching.resetting import reset_fields
from dynkube_testing._schemas.correlation import same_json

# Resources whose creates keep the status in the request. A kubelet sends it when it creates its Node.
_STATUS_ON_CREATE = {"nodes"}
# Groups and resources whose updates must have a resourceVersion.
_LOCKED_GROUPS = {
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "policy",
}
_LOCKED_RESOURCES = {"csidrivers", "csinodes", "csistoragecapacities", "volumeattachments"}
# Resources whose updates and applies to the status create a missing object.
_CREATED_ON_UPDATE = {
    "clusterrolebindings.rbac.authorization.k8s.io",
    "clusterroles.rbac.authorization.k8s.io",
    "endpoints",
    "events",
    "leases.coordination.k8s.io",
    "limitranges",
    "rolebindings.rbac.authorization.k8s.io",
    "roles.rbac.authorization.k8s.io",
    "runtimeclasses.node.k8s.io",
    "services",
}
# Storage groups whose updates are validated as changes, and then once more as new objects.
VALIDATED_AGAIN = frozenset({"configmaps", "pods", "secrets"})
# Storage groups for which invalid changes are reported before errors in the new object.
CHANGES_FIRST = frozenset({"configmaps", "secrets", "services"})


def reset_for_create(obj: JSONObject, kind: Kind) -> None:
    """Remove the status, which a create cannot set, and set default values."""
    if "status" in kind.subresources and kind.group_resource not in _STATUS_ON_CREATE:
        obj.pop("status", None)
    if kind.gvr.group == "" and (defaults := _CORE_DEFAULTS.get(kind.kind)):
        defaults(obj)


def reset_for_update(obj: JSONObject, old: JSONObject, kind: Kind, subresource: str) -> JSONObject:
    """Return the object after an update.

    Fields that the update cannot change have the values of ``old``.

    Most subresources (``status``, ``resize``) change only a part of the object. For most built-in kinds, the status
    subresource changes metadata, too (https://github.com/kubernetes/kubernetes/issues/137681); for the others and for
    custom resources, it changes only managedFields. An update of the object itself (``subresource=""``) does not change
    the status if the kind has a status subresource.
    """
    if subresource in _PARTS:
        result = copy.deepcopy(old)
        reset = reset_fields(kind, subresource)
        if subresource == "status" and ("f:metadata",) not in reset:
            result["metadata"] = dict(obj["metadata"])
            for _, field in (path for path in reset if path[0] == "f:metadata"):
                _take(result["metadata"], old["metadata"], field.removeprefix("f:"))
        for field in ("managedFields", "resourceVersion"):
            _take(result["metadata"], obj["metadata"], field)
        _PARTS[subresource](result, obj)
        return result
    if "status" in kind.subresources:
        _take(obj, old, "status")
    if kind.gvr.group == "" and kind.kind == "Namespace":
        # Only the finalize subresource changes the finalizers in the spec, so that no other update can remove a
        # namespace before it is empty.
        if subresource != "finalize":
            _take(obj, old, "spec")
        _name_label(obj)
    return obj


# Resources whose generation is incremented if annotations change, because the controller copies them to ReplicaSets.
_GENERATION_OF_ANNOTATIONS = {"deployments.apps"}


def _annotations(obj: JSONObject) -> JSONObject:
    return obj["metadata"].get("annotations") or {}


def bump_generation(obj: JSONObject, old: JSONObject, kind: Kind, subresource: str) -> None:
    """Increment the generation if the spec or a similar field has changed.

    All fields count except metadata, and except the status if the kind has a status subresource.
    """
    if not kind.generation:
        return
    apart = {"apiVersion", "kind", "metadata"} | ({"status"} if "status" in kind.subresources else set())
    counts = kind.group_resource in _GENERATION_OF_ANNOTATIONS and not subresource
    annotated = counts and _annotations(obj) != _annotations(old)
    if annotated or not same_json(_without(obj, apart), _without(old, apart)):
        obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def allows_unconditional_update(kind: Kind) -> bool:
    """Return whether updates without resourceVersion are allowed.

    For custom resources they are not.
    """
    locked = kind.gvr.group in _LOCKED_GROUPS or kind.gvr.resource in _LOCKED_RESOURCES
    return kind.crd_uid is None and not locked


def creates_on_update(kind: Kind) -> bool:
    """Return whether an update creates a missing object. Few kinds allow this."""
    return kind.crd_uid is None and kind.storage_group in _CREATED_ON_UPDATE


def _take(target: JSONObject, source: JSONObject, field: str) -> None:
    if field in source:
        target[field] = source[field]
    else:
        target.pop(field, None)


def _without(obj: JSONObject, fields: set[str]) -> JSONObject:
    return {key: value for key, value in obj.items() if key not in fields}


def _approval(target: JSONObject, source: JSONObject) -> None:
    conditions = source.get("status", {}).get("conditions")
    target["status"] = {**target.get("status", {}), "conditions": conditions or []}


def _ephemeral_containers(target: JSONObject, source: JSONObject) -> None:
    _take(target["spec"], source.get("spec") or {}, "ephemeralContainers")


def _resize(target: JSONObject, source: JSONObject) -> None:
    """Copy the resources of the pod and, with ``resizePolicy``, of its containers.

    If containers are added, removed or renamed, all of them are copied, so that this is reported.
    """
    old, new = target["spec"], source.get("spec") or {}
    lists = [(old.get(field) or [], new.get(field) or [], field) for field in ("containers", "initContainers")]
    if any(len(before) != len(after) for before, after, _ in lists):
        target["spec"] = new
        return
    _take(old, new, "resources")
    for before, after, field in lists:
        if [each["name"] for each in before] != [each.get("name") for each in after]:
            old[field] = after
            continue
        for container, wanted in zip(before, after, strict=True):
            for part in ("resources", "resizePolicy"):
                _take(container, wanted, part)


# Functions that copy the part of the object that a subresource can change, from the new object to the result.
_PARTS: Mapping[str, Callable[[JSONObject, JSONObject], None]] = {
    "status": lambda target, source: _take(target, source, "status"),
    "approval": _approval,
    "ephemeralcontainers": _ephemeral_containers,
    "resize": _resize,
}


def _namespace(obj: JSONObject) -> None:
    given = (obj.get("spec") or {}).get("finalizers") or []
    obj["spec"] = {"finalizers": [*given, *(["kubernetes"] if "kubernetes" not in given else [])]}
    obj["status"] = {"phase": "Active"}
    _name_label(obj)


def _name_label(obj: JSONObject) -> None:
    metadata = obj["metadata"]
    metadata["labels"] = {**metadata.get("labels", {}), "kubernetes.io/metadata.name": metadata.get("name", "")}


_CORE_DEFAULTS = {"Namespace": _namespace}
