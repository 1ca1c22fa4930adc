"""The ``scale`` subresource: a Scale maps to three fields of an object."""

from __future__ import annotations

from typing import Any

from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._calls.causes import bad_value
from dynkube_testing._kinds.kinds import ScalePaths
from dynkube_testing._store.versions import Version

# A placeholder: ``spec.replicas`` of the Scale to patch if the custom resource has no replicas.
_UNSET = -(2**31)


def scale_of(call: Call, obj: JSONObject) -> JSONObject:
    """Return the Scale of ``obj``.

    Raises:
        InternalError: It is a custom resource without the replicas field that its CRD defines for the Scale.
    """
    paths = _paths(call)
    if _get(obj, paths.spec_replicas) is None and call.kind.crd_uid is not None:
        raise refuse.internal(f'the spec replicas field "{paths.spec_replicas}" does not exist')
    return _scale(paths, obj, 1)


def scale_to_patch(call: Call, obj: JSONObject) -> JSONObject:
    """Return the Scale of ``obj`` to which a patch is applied.

    If a custom resource does not set its replicas, ``spec.replicas`` of the Scale is a placeholder.
    """
    return _scale(_paths(call), obj, _UNSET if call.kind.crd_uid is not None else 1)


def _scale(paths: ScalePaths, obj: JSONObject, missing: int) -> JSONObject:
    replicas = _get(obj, paths.spec_replicas)
    replicas = missing if replicas is None else replicas
    status: JSONObject = {"replicas": _get(obj, paths.status_replicas) or 0}
    if paths.label_selector and (selector := _get(obj, paths.label_selector)):
        status["selector"] = selector if isinstance(selector, str) else selector_text(selector)
    metadata = obj["metadata"]
    fields = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: metadata[field] for field in fields if field in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def scaled(call: Call, version: Version, scale: object) -> JSONObject:
    """Return the object stored as ``version``, changed by ``scale``.

    It has the replicas and the resourceVersion of ``scale``.

    Raises:
        BadRequest: ``scale`` is not a Scale, or has another name or namespace than the path.
        Invalid: The number of replicas is invalid.
    """
    if not isinstance(scale, dict):
        raise refuse.bad_request("the body of a scale subresource must be an autoscaling/v1 Scale")
    _check_kind(scale)
    metadata, spec = scale.get("metadata") or {}, scale.get("spec") or {}
    if metadata.get("name", call.name) != call.name:
        name = metadata["name"]
        raise refuse.bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.name})")
    if metadata.get("namespace", call.namespace) != call.namespace:
        why = "the namespace of the provided object does not match the namespace sent on the request"
        raise refuse.bad_request(why)
    replicas = spec.get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise refuse.bad_request('Scale in version "v1" cannot be handled as a Scale: spec.replicas: expected int32')
    if replicas == _UNSET:
        raise refuse.bad_request(f'the spec replicas field "{_paths(call).spec_replicas}" cannot be empty')
    if replicas < 0 and call.kind.crd_uid is None:  # custom resources are validated by their own schema
        cause = bad_value("spec.replicas", replicas, "must be greater than or equal to 0")
        raise refuse.invalid_object("autoscaling", "Scale", call.name, [cause])
    obj = version.decode(call.kind)
    _set(obj, _paths(call).spec_replicas, replicas)
    obj["metadata"]["resourceVersion"] = metadata.get("resourceVersion", "")
    return obj


def set_replicas(call: Call, obj: JSONObject, scale: JSONObject) -> None:
    """Set the replicas of an object to those of a Scale."""
    _set(obj, _paths(call).spec_replicas, (scale.get("spec") or {}).get("replicas", 0))


def _check_kind(scale: JSONObject) -> None:
    kind, version = scale.get("kind") or "Scale", str(scale.get("apiVersion") or "").rpartition("/")[2]
    if kind != "Scale":
        conversion = f"converting ({version}.{kind}) to (autoscaling.Scale): unknown conversion"
        raise refuse.bad_request(f'{kind} in version "{version}" cannot be handled as a Scale: {conversion}')


def _paths(call: Call) -> ScalePaths:
    assert call.kind.scale is not None, "routed only where the kind has it"
    return call.kind.scale


def _get(obj: Any, path: str) -> Any:
    for name in path.strip(".").split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def _set(obj: JSONObject, path: str, value: int) -> None:
    *parents, last = path.strip(".").split(".")
    for name in parents:
        obj = obj.setdefault(name, {})
    obj[last] = value


def selector_text(selector: JSONObject) -> str:
    """Return a label selector as a string, like ``app=web,tier in (a,b)``.

    ``selector`` is a ``metav1.LabelSelector``, or the plain labels of a ReplicationController.
    """
    labels = selector.get("matchLabels", {} if "matchExpressions" in selector else selector)
    terms = [f"{key}={value}" for key, value in sorted(labels.items())]
    for expression in selector.get("matchExpressions") or ():
        key, operator, values = expression["key"], expression["operator"], expression.get("values") or ()
        match operator:
            case "Exists":
                terms.append(key)
            case "DoesNotExist":
                terms.append(f"!{key}")
            case _:
                terms.append(f"{key} {operator.lower()} ({','.join(sorted(values))})")
    return ",".join(terms)
