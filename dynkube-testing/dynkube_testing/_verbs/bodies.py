"""Checks of a body against the path: kind, namespace and name of the object."""

from __future__ import annotations

import json

from dynkube.errors import APIError
from dynkube.meta import GVK
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._calls.causes import bad_value
from dynkube_testing._calls.gotext import json_name
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._kinds.schemas import builtin_schemas
from dynkube_testing._schemas.objectmeta import is_metadata_field

# API groups that a real server decodes with a separate Go scheme, so other groups' decoders do not know their kinds.
_OTHER_SCHEMES = {"apiextensions.k8s.io", "apiregistration.k8s.io"}


def own_copy(call: Call) -> JSONObject:
    """Return a copy of the body of ``call``.

    The caller may modify its top level and its metadata.

    Only apiVersion and kind are validated. ``metadata`` is set if it is missing, and its nulls are removed, except
    those of unknown fields, which are reported later.

    Raises:
        BadRequest: The body is not a JSON object, or its apiVersion or kind differs from the path.
        Invalid: The path is for custom resources, and the body has another kind.
    """
    body = call.body
    if not isinstance(body, dict):
        raise refuse.bad_request("the body of the request must be a JSON object")
    obj: JSONObject = dict(body)
    _check_type(obj, call.kind)
    metadata = obj.get("metadata")
    if metadata is None:
        metadata = {}
    if isinstance(metadata, dict):
        given = ((key, _without_nulls(key, value)) for key, value in metadata.items())
        metadata = {key: value for key, value in given if value is not None or not is_metadata_field(key)}
    obj["metadata"] = metadata
    return obj


def _without_nulls(field: str, value: object) -> object:
    """Return a metadata field with nulls replaced by zero values, as in Go."""
    if isinstance(value, dict) and None in value.values():
        return {key: "" if content is None else content for key, content in value.items()}
    if isinstance(value, list) and None in value:
        zero: object = "" if field == "finalizers" else {}
        return [zero if content is None else content for content in value]
    return value


def _check_type(obj: JSONObject, kind: Kind) -> None:
    for field, expected in (("apiVersion", kind.api_version), ("kind", kind.kind)):
        value = obj.get(field)
        if value == expected:
            continue
        if kind.crd_uid is not None:
            raise _wrong_custom_type(obj, kind)
        if value not in {None, ""} if isinstance(value, str | None) else True:
            raise _wrong_builtin_type(obj, kind)
        obj[field] = expected  # as in a real server, built-in kinds default to the apiVersion and kind of the path


def _wrong_custom_type(obj: JSONObject, kind: Kind) -> Exception:
    version, name = obj.get("apiVersion") or "", obj.get("kind") or ""
    if name and obj.get("apiVersion", "") is None:
        trouble = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
        return refuse.bad_request(f'{name} in version "" cannot be handled as a {kind.kind}: {trouble}')
    if problem := untyped_problem(obj):
        return _unrecognized(obj, kind, problem)
    if not name:
        return _unrecognized(obj, kind, f"Object 'Kind' is missing in '{json.dumps(obj)}'")
    if version != kind.api_version:
        return refuse.other_kind(kind, "apiVersion", version)
    metadata = obj.get("metadata")
    given = metadata.get("name") if isinstance(metadata, dict) else ""
    cause = bad_value("kind", name, f"must be {kind.kind}")
    return refuse.invalid_object(kind.gvr.group, name, str(given or ""), [cause])


def untyped_problem(obj: JSONObject) -> str:
    """Return the error if ``apiVersion`` or ``kind`` is not a string, else ``""``."""
    for field in ("apiVersion", "kind"):
        value = obj.get(field)
        if not isinstance(value, str | None):
            trouble = f"json: cannot unmarshal {json_name(value)} into Go struct field .{field} of type string"
            return f"couldn't get version/kind; json parse error: {trouble}"
    return ""


def _unrecognized(obj: JSONObject, kind: Kind, why: str) -> Exception:
    text = json.dumps(obj)
    summary = f"{text[:30]} ..." if len(text) > 30 else text
    return refuse.bad_request(f"the object provided is unrecognized (must be of type {kind.kind}): {why} ({summary})")


def _wrong_builtin_type(obj: JSONObject, kind: Kind) -> Exception:
    version, name = str(obj.get("apiVersion") or kind.api_version), str(obj.get("kind") or kind.kind)
    short, problem = version.rpartition("/")[2], conversion_problem(version, name, kind.gvk)
    return refuse.bad_request(f'{name} in version "{short}" cannot be handled as a {kind.kind}: {problem}')


def conversion_problem(version: str, name: str, wanted: GVK) -> str:
    """Return the error for a body of another type than the kind ``wanted``.

    ``wanted`` is a built-in kind.

    Args:
        version: The apiVersion of the body.
        name: The kind of the body.
        wanted: The kind of the path.
    """
    group, _, short = version.rpartition("/")
    if group not in _OTHER_SCHEMES and builtin_schemas().name_of(GVK(group, short, name)) is not None:
        # A real server knows the body's kind, decodes it, and then fails to convert it.
        package = wanted.group.partition(".")[0] or "core"
        return f"converting ({short}.{name}) to ({package}.{wanted.kind}): unknown conversion"
    return f'no kind "{name}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'


def check_namespace(obj: JSONObject, call: Call) -> None:
    """Set the namespace of ``obj`` to the namespace of the path.

    A namespace in a cluster-scoped object is removed.

    Raises:
        BadRequest: ``obj`` has another namespace, or the path of a namespaced kind has none.
    """
    metadata = obj["metadata"]
    given = metadata.get("namespace", "")
    if not call.kind.namespaced:
        metadata.pop("namespace", None)  # the real server ignores a namespace in cluster-scoped objects
    elif not call.namespace:
        raise refuse.bad_request("an empty namespace may not be set during creation")
    elif given and given != call.namespace:
        raise refuse.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    else:
        metadata["namespace"] = call.namespace


def check_name_in_path(obj: JSONObject, call: Call, *, required: bool = True) -> None:
    """Check that ``obj`` has the name in the path.

    If ``required`` is false, it may have no name.

    Raises:
        BadRequest: ``obj`` has another name, or no name although it is required.
    """
    if required and not obj["metadata"].get("name"):
        raise nameless(call)
    name = obj["metadata"].get("name") or call.name
    if name != call.name:
        raise refuse.bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.name})")


def nameless(call: Call) -> APIError:
    """Return the error response for a body without a name."""
    return refuse.bad_request(
        f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
    )
