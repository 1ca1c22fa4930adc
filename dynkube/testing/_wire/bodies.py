"""Bodies: bytes and a content type to decoded JSON, with refusals that say where the trouble is."""

from __future__ import annotations

import json

import msgspec

from dynkube.testing._calls.api import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Verb
from dynkube.testing._wire import protobuf, refusals, yaml

JSON_TYPE = "application/json"
YAML_TYPE = "application/yaml"

_OBJECT_TYPES = (JSON_TYPE, YAML_TYPE, protobuf.MEDIA_TYPE)
_PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)

# etcd's own limit is 1.5 MiB; kube-apiserver reads bodies of up to 3 MiB before it looks at them.
MAX_BODY = 3 * 1024 * 1024


def decode_body(verb: Verb, kind: str, content_type: str, body: bytes) -> object:
    """The decoded body of a call, ``None`` where the verb takes none or it may be absent and is.

    Args:
        verb: What is to be done with it.
        kind: The kind expected, for messages.
        content_type: Media type without parameters; ``""`` counts as JSON, which kube-apiserver assumes too.
        body: As received.

    Raises:
        APIError: 415 for a content type the verb does not take, 400 for a body that does not decode.
    """
    if verb in {"get", "list", "watch"}:
        return None
    accepted = _PATCH_TYPES if verb == "patch" else _OBJECT_TYPES
    media_type = content_type or (JSON_TYPE if verb != "patch" else "")
    if verb in {"delete", "deletecollection"}:
        if not body.strip():
            return None
        kind = "DeleteOptions"
    if media_type not in accepted:
        raise refusals.unsupported_media_type(accepted)
    try:
        if media_type == protobuf.MEDIA_TYPE:
            return protobuf.decode(body)
        data = _decode(body, as_yaml=media_type in {YAML_TYPE, APPLY_PATCH})
    except LookupError:
        raise refusals.unsupported_media_type(accepted[:-1]) from None
    except ValueError as error:
        raise refusals.bad_request(_describe(verb, kind, str(error))) from None
    if not isinstance(data, list if media_type == JSON_PATCH else dict):
        wanted = "an array of operations" if media_type == JSON_PATCH else "an object"
        raise refusals.bad_request(_describe(verb, kind, f"the body is not {wanted}"))
    return data


def _describe(verb: Verb, kind: str, trouble: str) -> str:
    if verb == "patch":
        return f"error decoding patch: {trouble}"
    return f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; {trouble}"


def _decode(body: bytes, *, as_yaml: bool) -> object:
    """Decode JSON, or YAML (of which JSON is a part, so it is tried first: it is 100 times faster).

    Raises:
        ValueError: With the position of the trouble.
    """
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        if as_yaml:
            return yaml.load_document(body)
        raise ValueError(f"json parse error: {_position(body, error)}") from None


def _position(body: bytes, error: Exception) -> str:
    """What is wrong, by line and column: the standard library's parser is slow, and says it best."""
    if not body.strip():
        return "unexpected end of JSON input: the body is empty"
    try:
        json.loads(body)
    except json.JSONDecodeError as detailed:
        return f"{detailed.msg} at line {detailed.lineno}, column {detailed.colno}"
    except UnicodeDecodeError as detailed:
        return f"invalid UTF-8 at byte {detailed.start}"
    except RecursionError:
        return "exceeded max depth"
    return str(error)  # e.g. NaN, which only the standard library takes
