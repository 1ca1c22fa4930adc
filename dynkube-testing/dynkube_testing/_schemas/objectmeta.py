"""Pruning of ``metadata``, whose fields are the same for all kinds."""

from __future__ import annotations

from typing import Any

from dynkube_testing._calls.api import JSONObject

_OWNER = {"apiVersion", "blockOwnerDeletion", "controller", "kind", "name", "uid"}
_MANAGED = {"apiVersion", "fieldsType", "fieldsV1", "manager", "operation", "subresource", "time"}
_OMITTED = {"annotations", "finalizers", "labels", "ownerReferences"}
_KNOWN: dict[str, set[str] | None] = {
    "annotations": None,
    "creationTimestamp": None,
    "deletionGracePeriodSeconds": None,
    "deletionTimestamp": None,
    "finalizers": None,
    "generateName": None,
    "generation": None,
    "labels": None,
    "managedFields": _MANAGED,
    "name": None,
    "namespace": None,
    "ownerReferences": _OWNER,
    "resourceVersion": None,
    "selfLink": None,
    "uid": None,
}


def is_metadata_field(name: str) -> bool:
    """Return whether ``metadata`` has a field with this name."""
    return name in _KNOWN


def pruned_metadata(metadata: JSONObject) -> tuple[JSONObject, list[str]]:
    """Return ``metadata`` without unknown fields, and the paths of the unknown fields.

    Paths begin with ``metadata``. Empty lists and maps are removed too, as Go's encoder omits them.
    """
    result, unknown = metadata, list[str]()
    for name, value in metadata.items():
        if name not in _KNOWN:
            unknown.append(f"metadata.{name}")
            result = {key: result[key] for key in result if key != name}
        elif name in _OMITTED and value in ([], {}):
            result = {key: result[key] for key in result if key != name}
        elif (fields := _KNOWN[name]) is not None and isinstance(value, list):
            entries = [_entry(entry, fields, f"metadata.{name}[{index}]", unknown) for index, entry in enumerate(value)]
            if any(before is not after for before, after in zip(value, entries, strict=True)):
                result = {**result, name: entries}
    return result, unknown


def _entry(entry: Any, known: set[str], path: str, unknown: list[str]) -> Any:
    if not isinstance(entry, dict) or entry.keys() <= known:
        return entry
    unknown += [f"{path}.{name}" for name in entry if name not in known]
    return {name: value for name, value in entry.items() if name in known}
