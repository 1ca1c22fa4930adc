"""Application of patches by their media type, and JSON merge patch."""

from __future__ import annotations

from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    Call,
    JSONObject,
    Undecodable,
)
from dynkube_testing._calls.gotext import json_name
from dynkube_testing._calls.nesting import TooDeep, check_depth
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._patching.jsonpatch import NotApplicable, TooMuchWork, json_patched
from dynkube_testing._patching.shapes import SchemaShape, Shape, shape_of
from dynkube_testing._patching.strategic import strategically_merged

_WITH_VALUE = {"add", "replace", "test"}


def accepted_patches(kind: Kind) -> tuple[str, ...]:
    """Return the media types of patches that ``kind`` supports.

    Custom resources do not support strategic merge.
    """
    if kind.crd_uid is None:
        return (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)
    return (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


def patched(obj: JSONObject, call: Call) -> object:
    """Return ``obj`` with the patch in ``call`` applied; the result is not validated.

    Raises:
        UnsupportedMediaType: The kind does not support this type of patch.
        BadRequest: The body is not a valid patch of its type.
        Invalid: The patch cannot be applied to this object.
        ServerTimeout: A real server would not complete the patch in time.
    """
    if call.content_type not in accepted_patches(call.kind):
        raise refuse.unsupported_media_type(accepted_patches(call.kind))
    patch = call.body
    if isinstance(patch, Undecodable):
        raise patch.error
    if call.content_type == JSON_PATCH:
        return _json_patched(obj, patch)
    if not isinstance(patch, dict):
        raise _undecodable(patch, "map[string]interface {}")
    return merged(obj, patch) if call.content_type == MERGE_PATCH else strategically_merged(obj, patch, _shape(call))


def _shape(call: Call) -> Shape:
    # The object of the ``scale`` subresource is a Scale, which has no lists.
    return SchemaShape({}) if call.subresource == "scale" else shape_of(call.kind)


def _json_patched(obj: JSONObject, patch: object) -> object:
    if not isinstance(patch, list):
        raise _undecodable(patch, "[]handlers.jsonPatchOp")
    for operation in patch:
        if not isinstance(operation, dict):
            raise _undecodable(operation, "handlers.jsonPatchOp")
        for member in ("op", "path", "from"):
            if not isinstance(found := operation.get(member), str | None):
                raise _undecodable(found, "string", into=f"struct field jsonPatchOp.{member}")
    try:
        result = json_patched(obj, patch)
        check_depth(result)
    except (NotApplicable, TooDeep) as error:
        raise refuse.unprocessable() from error
    except TooMuchWork as error:
        raise refuse.out_of_time() from error
    return result


def _undecodable(value: object, wanted: str, *, into: str = "value") -> Exception:
    found = json_name(value)
    return refuse.bad_request(f"error decoding patch: json: cannot unmarshal {found} into Go {into} of type {wanted}")


def merged(target: object, patch: object) -> object:
    """Apply a JSON merge patch (RFC 7386). Arguments are not modified.

    Objects are merged, ``null`` deletes a field, everything else replaces the value. As in the real server's library,
    nulls inside a list are removed too, unless the list replaces an object.
    """
    if not isinstance(patch, dict):
        return patch if isinstance(target, dict) else _without_nulls(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def _without_nulls(value: object) -> object:
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if isinstance(value, dict):
        return {name: _without_nulls(child) for name, child in value.items() if child is not None}
    return value
