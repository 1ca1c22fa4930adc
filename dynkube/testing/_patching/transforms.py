"""JSON patch, merge patch and strategic merge patch: from an object and a patch to the object that results."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Call, JSONObject
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._patching.shapes import BuiltinShape, Shape


def accepted_patches(kind: Kind) -> tuple[str, ...]:
    """The media types of patches that ``kind`` takes: custom resources have no strategic merge."""
    if kind.crd_uid is None:
        return (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)
    return (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


def patched(obj: JSONObject, call: Call) -> object:
    """``obj`` after the patch in the body of ``call``; not checked to be an object of its kind still.

    Raises:
        UnsupportedMediaType: The kind does not take this kind of patch.
        BadRequest: The body is no patch of its kind.
        Invalid: The patch cannot be carried out on this object.
    """
    appliers: Mapping[str, Callable[[JSONObject, object], object]] = {
        JSON_PATCH: _json_patched,
        MERGE_PATCH: _merge_patched,
        STRATEGIC_PATCH: _strategic_patched,
    }
    if call.content_type not in accepted_patches(call.kind):
        raise refuse.unsupported_patch(accepted_patches(call.kind))
    return appliers[call.content_type](obj, call.body)


def _json_patched(obj: JSONObject, patch: object) -> object:
    import jsonpatch  # an extra of the package, needed for this alone

    if not isinstance(patch, list):
        raise refuse.bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch"
        )
    try:
        return jsonpatch.apply_patch(obj, patch)
    except jsonpatch.InvalidJsonPatch as error:
        raise refuse.bad_request(f"error decoding patch: {error}") from None
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, KeyError) as error:
        raise refuse.unprocessable(str(error)) from None


def _merge_patched(obj: JSONObject, patch: object) -> object:
    if not isinstance(patch, dict):
        raise refuse.bad_request("error decoding patch: a merge patch must be a JSON object")
    return merged(obj, patch)


def merged(target: object, patch: object) -> object:
    """RFC 7386: objects merge, ``null`` deletes, everything else replaces. Arguments stay as they are."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


# ── strategic merge ───────────────────────────────────────────────────────────────────────────


def _strategic_patched(obj: JSONObject, patch: object) -> object:
    if not isinstance(patch, dict):
        raise refuse.bad_request("error decoding patch: a strategic merge patch must be a JSON object")
    return _strategic(copy.deepcopy(obj), patch, BuiltinShape())


def _strategic(target: Any, patch: Any, shape: Shape) -> Any:
    """Merge ``patch`` into ``target``; it may carry ``$patch``, ``$retainKeys`` and ``$deleteFromPrimitiveList``."""
    if isinstance(patch, dict):
        return _strategic_object(target, patch, shape)
    if isinstance(patch, list) and shape.list_type == "map":
        return _strategic_list(target if isinstance(target, list) else [], patch, shape)
    if isinstance(patch, list) and shape.list_type == "set" and isinstance(target, list):
        return [*target, *(item for item in patch if item not in target)]
    return patch


def _strategic_object(target: Any, patch: JSONObject, shape: Shape) -> Any:
    directive = patch.get("$patch")
    content = {key: value for key, value in patch.items() if not key.startswith("$")}
    if directive == "replace":
        return content
    if directive == "delete":
        return {}
    if directive not in {None, "merge"}:
        raise refuse.bad_request(f"invalid value for $patch: {directive!r}; use merge, replace or delete")
    result = dict(target) if isinstance(target, dict) else {}
    if isinstance(retained := patch.get("$retainKeys"), list):
        result = {key: value for key, value in result.items() if key in retained}
    for key, removed in patch.items():
        name = key.removeprefix("$deleteFromPrimitiveList/")
        if name != key and isinstance(removed, list) and isinstance(result.get(name), list):
            result[name] = [item for item in result[name] if item not in removed]
    for key, value in content.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _strategic(result.get(key), value, shape.field(key))
    return result


def _strategic_list(target: list[Any], patch: list[Any], shape: Shape) -> list[Any]:
    # One key tells items apart here, unlike in apply: a patch of a port need not repeat its protocol.
    key = shape.keys[0]
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if "$patch" not in item]
    result = list(target)
    for item in patch:
        if not isinstance(item, dict) or key not in item:
            raise refuse.bad_request(f"map: {item} does not contain declared merge key: {key}")
        index = next((i for i, there in enumerate(result) if there.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            result = [there for there in result if there.get(key) != item[key]]
        elif index is None:
            result.append(_strategic({}, item, shape.item()))
        else:
            result[index] = _strategic(result[index], item, shape.item())
    return result
