"""Decode request bodies by their content type, with the error messages of a real server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynkube.errors import APIError
from dynkube.meta._yaml import loading as yaml
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Verb
from dynkube_testing._calls.gotext import json_name
from dynkube_testing._calls.nesting import TooDeep, check_depth
from dynkube_testing._wire import protobuf, refusals
from dynkube_testing._wire.jsonerrors import parse_json
from dynkube_testing._wire.layouts import JSON_TYPE, YAML_TYPE

_OBJECT_TYPES = (JSON_TYPE, YAML_TYPE, protobuf.MEDIA_TYPE)
_PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)
# Custom resources have no Go types with merge keys, so they do not support strategic merge patches.
_CUSTOM_PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)

# The limit of kube-apiserver for request bodies. etcd has a lower limit for objects, 1.5 MiB.
MAX_BODY = 3 * 1024 * 1024
# From this value on, Go formats floating-point numbers with an exponent.
_EXPONENTS = 1e21
_MAX_OPERATIONS = 10_000

# The Go type into which the real server first decodes a body to find out its kind; part of its error messages.
_TYPE_META = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_GO_MAP = "map[string]interface {}"


def decode_body(verb: Verb, kind: str, content_type: str, body: bytes, *, custom: bool = False) -> object:
    """Decode the body of a request.

    Args:
        verb: The verb of the request.
        kind: The expected kind, for error messages.
        content_type: Media type without parameters. ``""`` means JSON, as in kube-apiserver.
        body: The body as received.
        custom: Whether the request is for a custom resource.

    Returns:
        The decoded body; ``None`` if the verb has no body, or the optional body of a delete is missing.

    Raises:
        APIError: 415 for a content type that the verb does not support, 400 for a malformed body, 413 for a JSON patch
            with too many operations.
    """
    match verb:
        case "get" | "list" | "watch":
            return None
        case "patch":
            check_media_type(verb, content_type, custom=custom)
            return _decode_patch(content_type, body)
        case "delete" | "deletecollection":
            return _decode_options(content_type, body) if body.strip() else None
    check_media_type(verb, content_type)
    return _decode_object(kind, content_type or JSON_TYPE, body, custom=custom)


def _decode_object(kind: str, media_type: str, body: bytes, *, custom: bool) -> object:
    data = _parsed(media_type, body, f"the object provided is unrecognized (must be of type {kind}): ", _summary(body))
    if data is None and not custom:
        return {}  # for built-in kinds, an empty body is an object without fields
    if data is None:
        text = body.decode("utf-8", "replace")
        raise _unrecognized(kind, f"Object 'Kind' is missing in '{text}'", body)
    if not isinstance(data, dict):
        raise _unrecognized(kind, _not_an_object(data), body)
    if media_type != protobuf.MEDIA_TYPE and (problem := _type_problem(data, body, custom=custom)):
        raise _unrecognized(kind, problem, body)
    return data


def _type_problem(data: Mapping[str, object], body: bytes, *, custom: bool) -> str:
    """Return the error for ``apiVersion`` or ``kind``; ``""`` if both are valid."""
    for field in ("apiVersion", "kind"):
        if not isinstance(data.get(field), str | None):
            found = json_name(data[field])
            trouble = f"json: cannot unmarshal {found} into Go struct field .{field} of type string"
            return f"couldn't get version/kind; json parse error: {trouble}"
    version = data.get("apiVersion")
    if isinstance(version, str) and version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    return f"Object 'Kind' is missing in '{body.decode('utf-8', 'replace')}'" if custom and not data.get("kind") else ""


def _decode_options(content_type: str, body: bytes) -> object:
    media_type = content_type or JSON_TYPE
    if media_type not in _OBJECT_TYPES:
        raise refuse.unsupported_media_type(_OBJECT_TYPES)
    data = _parsed(media_type, body, "", "")
    if data is not None and not isinstance(data, dict):
        raise refuse.bad_request(_not_an_object(data))
    return data


def check_media_type(verb: Verb, content_type: str, *, custom: bool = False) -> None:
    """Check the content type of a create, update or patch.

    Raises:
        UnsupportedMediaType: The verb does not support the content type. ``""`` means JSON, except for patches.
    """
    if verb != "patch":
        if (content_type or JSON_TYPE) not in _OBJECT_TYPES:
            raise refuse.unsupported_media_type(_OBJECT_TYPES)
    elif content_type not in (_CUSTOM_PATCH_TYPES if custom else _PATCH_TYPES):
        raise refuse.unsupported_media_type(_CUSTOM_PATCH_TYPES) if custom else refusals.unknown_patch_type()


def _decode_patch(media_type: str, body: bytes) -> object:
    if media_type == APPLY_PATCH:
        return _decode_configuration(body)
    # The real server omits the prefix for strategic merge patches.
    prefix = "" if media_type == STRATEGIC_PATCH else "error decoding patch: "
    try:
        data = parse_json(body)
    except ValueError as error:
        raise refuse.bad_request(f"{prefix}{error}") from None
    if data is None and media_type == STRATEGIC_PATCH:
        return {}
    if data is None and media_type == MERGE_PATCH:
        raise refuse.bad_request("Invalid JSON Patch")
    wanted, go_type = (list, "[]handlers.jsonPatchOp") if media_type == JSON_PATCH else (dict, _GO_MAP)
    if not isinstance(data, wanted):
        found = json_name(data)
        raise refuse.bad_request(f"{prefix}json: cannot unmarshal {found} into Go value of type {go_type}")
    if isinstance(data, list) and len(data) > _MAX_OPERATIONS:
        raise refusals.too_many_operations(_MAX_OPERATIONS, len(data))
    return data


def _decode_configuration(body: bytes) -> object:
    try:
        data = _parse_yaml(body)
    except ValueError as error:
        raise refuse.bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        found = json_name(data)
        raise refuse.bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
            f"json: cannot unmarshal {found} into Go value of type {_GO_MAP}"
        )
    return _whole_numbers(data)


def _whole_numbers(value: Any) -> Any:
    """Convert floats without fraction to integers.

    Go's conversion of YAML to JSON changes ``2.0`` to ``2``, too.
    """
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _EXPONENTS else value
    if isinstance(value, dict):
        return {name: _whole_numbers(inner) for name, inner in value.items()}
    return [_whole_numbers(item) for item in value] if isinstance(value, list) else value


def _parsed(media_type: str, body: bytes, prefix: str, summary: str) -> object:
    try:
        if media_type == protobuf.MEDIA_TYPE:
            return protobuf.decode(body)
        return _parse_yaml(body) if media_type == YAML_TYPE else parse_json(body)
    except LookupError:
        raise refuse.unsupported_media_type((JSON_TYPE, YAML_TYPE)) from None
    except ValueError as error:
        stage = "couldn't get version/kind; json parse error: " if media_type == JSON_TYPE else ""
        raise refuse.bad_request(f"{prefix}{stage}{error}{summary}") from None


def _parse_yaml(body: bytes) -> object:
    """Parse YAML, trying JSON first.

    JSON is a subset of YAML, and its parser is 100 times faster.
    """
    try:
        return parse_json(body)
    except TooDeep:
        raise
    except ValueError:
        return _first_document(body)


def _first_document(body: bytes) -> object:
    """Return the first document of a body in YAML; what follows it is ignored, as by a real server.

    Raises:
        ValueError: It is not YAML, or exceeds a limit.
    """
    try:
        first = yaml.load_first(body)
    except yaml.MalformedYAML as error:
        raise ValueError(error.go_message) from None
    data = None if first is None else first.data
    check_depth(data)
    return data


def _not_an_object(data: object) -> str:
    found = json_name(data)
    return (
        "couldn't get version/kind; json parse error: "
        f"json: cannot unmarshal {found} into Go value of type {_TYPE_META}"
    )


def _unrecognized(kind: str, why: str, body: bytes) -> APIError:
    return refuse.bad_request(f"the object provided is unrecognized (must be of type {kind}): {why}{_summary(body)}")


def _summary(body: bytes) -> str:
    """Return the beginning of a body for an error message.

    As in the real server, it is text if it looks like JSON, otherwise hexadecimal digits.
    """
    if not body:
        return " (<empty>)"
    start, more = body[:30], " ..." if len(body) > 30 else ""
    return f" ({start.decode('utf-8', 'replace') if start.startswith(b'{') else start.hex()}{more})"
