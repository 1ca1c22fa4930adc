"""Strategic merge patch: a merge patch with keyed lists and directives.

The semantics are those of the reference implementation (apimachinery's ``strategicpatch``), including the order of
items in merged lists: items of the patch are in the order of the patch (or of ``$setElementOrder``), items that only
the object has stay before the items that they preceded, and new items come first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import msgspec

from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.gotext import go_text, go_type
from dynkube_testing._patching.shapes import Shape

_PATCH = "$patch"
_RETAIN_KEYS = "$retainKeys"
_SET_ORDER = "$setElementOrder/"
_DELETE_FROM = "$deleteFromPrimitiveList/"


def strategically_merged(target: JSONObject, patch: JSONObject, shape: Shape) -> JSONObject:
    """Return ``target`` with ``patch`` applied; arguments are not modified.

    Raises:
        BadRequest: A directive has a value of the wrong form.
        APIError: The patch contradicts itself or the object; 500, as from the real server.
    """
    if _PATCH in patch:
        return _directed(patch)
    result = _retained(target, patch)
    ordered = [key.removeprefix(_SET_ORDER) for key in patch if key.startswith(_SET_ORDER)]
    for key in ordered:
        _merge_ordered(result, patch, key, shape.field(key))
    for key, value in patch.items():
        if key.startswith(_DELETE_FROM):
            _delete_from(result, key.removeprefix(_DELETE_FROM), value)
        elif key not in ordered and not key.startswith((_SET_ORDER, _RETAIN_KEYS)):
            _merge_field(result, key, value, shape.field(key))
    return result


def _directed(patch: JSONObject) -> JSONObject:
    match patch[_PATCH]:
        case "replace":
            return {key: value for key, value in patch.items() if key != _PATCH}
        case "delete":
            return {}
    raise refuse.failed(f"unknown patch type: {go_text(patch[_PATCH])} in map: {go_text(patch)}")


def _retained(target: JSONObject, patch: JSONObject) -> JSONObject:
    """Return a copy of ``target`` with only the fields in ``$retainKeys``.

    ``$retainKeys`` must include all fields that the patch sets. Without ``$retainKeys``, all fields are copied.
    """
    if _RETAIN_KEYS not in patch:
        return dict(target)
    retained = patch[_RETAIN_KEYS]
    directives = (_RETAIN_KEYS, _SET_ORDER, _DELETE_FROM)
    set_here = {key for key, value in patch.items() if value is not None and not key.startswith(directives)}
    kept = {key for key in retained if isinstance(key, str)} if isinstance(retained, list) else set()
    if not isinstance(retained, list) or not set_here <= kept:
        raise refuse.bad_request("invalid patch format of retainKeys")
    return {key: value for key, value in target.items() if key in kept}


def _merge_field(result: JSONObject, key: str, value: Any, shape: Shape) -> None:
    present = result.get(key)
    if value is None:
        result.pop(key, None)
    elif isinstance(present, dict) and isinstance(value, dict):
        result[key] = value if shape.patch_replaces else strategically_merged(present, value, shape)
    elif isinstance(present, list) and isinstance(value, list):
        result[key] = _merged_list(present, value, shape) if shape.patch_merges else value
    elif _is_directive(value):
        result.pop(key, None)
    else:
        result[key] = _plain(value)


def _delete_from(result: JSONObject, key: str, unwanted: Any) -> None:
    present = result.get(key)
    if isinstance(present, list) and isinstance(unwanted, list):
        unwanted_keys = {_key(item) for item in unwanted}
        result[key] = [item for item in present if _key(item) not in unwanted_keys]


# ── lists ─────────────────────────────────────────────────────────────────────────────────────


def _merge_ordered(result: JSONObject, patch: JSONObject, key: str, shape: Shape) -> None:
    """Merge the list ``key`` and sort it by its ``$setElementOrder``."""
    order, wanted, present = patch[_SET_ORDER + key], patch.get(key), result.get(key)
    for value in (order, present, wanted):
        if not isinstance(value, list) and value is not None:
            raise refuse.failed(f"expected a []interface {{}}, but received a {go_type(value)}")
    _check_order(wanted or [], order, shape.patch_key)
    merged: list[Any]
    if wanted is None:
        if present is None:
            return
        merged = present
    elif present is None:
        merged = _plain(wanted)
    else:
        merged = _merged_list(present, wanted, shape) if shape.patch_merges else wanted
    result[key] = _in_order(merged, order, present or [], shape.patch_key)


def _check_order(wanted: list[Any], order: list[Any], key: str) -> None:
    """Check that ``order`` has all items of the patch, in the same order."""
    if not order or not wanted:
        return
    left = [_identity(item, key) for item in wanted if not _is_directive(item)]
    found = 0
    for item in order:
        if found < len(left) and left[found] == _identity(item, key):
            found += 1
    if found < len(left):
        shown = (
            f"The order in patch list:\n{go_text(wanted)}\n doesn't match $setElementOrder list:\n{go_text(order)}\n"
        )
        raise refuse.failed(shown)


def _merged_list(present: list[Any], patch: list[Any], shape: Shape) -> list[Any]:
    if not present and not patch:
        return present
    _check_items(present, patch)
    if not isinstance((patch or present)[0], dict):
        unique = {_key(item): item for item in (*reversed(patch), *reversed(present))}
        once = dict.fromkeys(map(_key, (*present, *patch)))
        return _in_order([unique[key] for key in once], patch, present, "")
    if any(isinstance(item, dict) and item.get(_PATCH) == "replace" for item in patch):
        return [item for item in patch if _PATCH not in item]
    present, wanted = _without_deleted(present, patch, shape.patch_key)
    merged, key = list(present), shape.patch_key
    places = _places(present, key)
    for item in wanted:
        at = places.setdefault(_identity(item, key), len(merged))
        if at == len(merged):
            merged.append(_plain(item))
        else:
            merged[at] = strategically_merged(merged[at], item, shape.item())
    return _in_order(merged, wanted, present, key)


def _without_deleted(present: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Return the items of the object without deleted ones, and the rest of the patch."""
    wanted, deleted = [], set()
    for item in patch:
        match item.get(_PATCH):
            case None:
                wanted.append(item)
            case "delete":
                deleted.add(_identity(item, key))
            case "merge":
                raise refuse.failed("merging lists cannot yet be specified in the patch")
            case other:
                raise refuse.failed(f"unknown patch type: {go_text(other)} in map: {go_text(item)}")
    if deleted:
        present = [there for there in present if _identity(there, key) not in deleted]
    return present, wanted


def _check_items(present: list[Any], patch: list[Any]) -> None:
    kinds = {go_type(item) for item in (*present, *patch)}
    if len(kinds) > 1:
        raise refuse.failed(f"list element types are not identical: {go_text([present, patch])}")
    if "[]interface {}" in kinds:
        raise refuse.failed("lists of lists are not supported")


def _in_order(merged: list[Any], patched: list[Any], present: list[Any], key: str) -> list[Any]:
    """Order ``merged``: patched items by ``patched``, the others by ``present``."""
    before, order = _places(present, key), _places(patched, key)
    new = len(present)  # the position of new items
    named = [(_identity(item, key), item) for item in merged]
    ours = sorted((pair for pair in named if pair[0] in order), key=lambda pair: order[pair[0]])
    theirs = sorted((pair for pair in named if pair[0] not in order), key=lambda pair: before.get(pair[0], new))
    result: list[Any] = []
    mine = other = 0
    while mine < len(ours) and other < len(theirs):
        left, right = before.get(theirs[other][0], new), before.get(ours[mine][0], new)
        if left < right < new:
            result.append(theirs[other][1])
            other += 1
        else:
            result.append(ours[mine][1])
            mine += 1
    return [*result, *(item for _, item in ours[mine:]), *(item for _, item in theirs[other:])]


def _places(items: Sequence[Any], key: str) -> dict[Hashable, int]:
    """Return the first index of each item, by its identity."""
    places: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        places.setdefault(_identity(item, key), index)
    return places


def _identity(item: Any, key: str) -> Hashable:
    """Return the identity of an item: the value of its merge key, or the item itself."""
    if not key or not isinstance(item, dict):
        return _key(item)
    if key not in item:
        raise refuse.failed(f"map: {go_text(item)} does not contain declared merge key: {key}")
    return _key(item[key])


def _key(value: Any) -> Hashable:
    """Return ``value`` if it is hashable, else a hashable substitute."""
    return ("json", msgspec.json.encode(value, order="sorted")) if isinstance(value, dict | list) else value


# ── values ────────────────────────────────────────────────────────────────────────────────────


def _is_directive(value: object) -> bool:
    return isinstance(value, dict) and _PATCH in value


def _plain(value: Any) -> Any:
    """Return a value to be set as new: without directives and null fields."""
    if isinstance(value, dict):
        kept = {key: part for key, part in value.items() if part is not None and not _is_directive(part)}
        return {key: _plain(part) for key, part in kept.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value if not _is_directive(part)]
    return value
