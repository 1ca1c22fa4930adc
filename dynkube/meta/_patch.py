"""The API's four patch types, and a local implementation of JSON merge patch."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from dynkube.errors import InvalidInput


class PatchType(enum.Enum):
    """The type of a patch, sent to the server as :attr:`content_type`.

    ``STRATEGIC`` works for built-in kinds only: for custom resources the server responds with 415.
    """

    JSON = "json"
    MERGE = "merge"
    STRATEGIC = "strategic"
    APPLY = "apply"

    @property
    def content_type(self) -> str:
        """The media type of the request body."""
        return _CONTENT_TYPES[self]

    @classmethod
    def parse(cls, patch_type: str | PatchType) -> PatchType:
        """Parse ``"json"``, ``"merge"``, ``"strategic"`` or ``"apply"``.

        A patch type is returned unchanged.

        Raises:
            InvalidInput: ``patch_type`` is unknown.
        """
        try:
            return cls(patch_type)
        except ValueError:
            names = ", ".join(repr(known.value) for known in cls)
            raise InvalidInput(f"patch type {patch_type!r} is not one of {names}") from None


_CONTENT_TYPES = {
    PatchType.JSON: "application/json-patch+json",
    PatchType.MERGE: "application/merge-patch+json",
    PatchType.STRATEGIC: "application/strategic-merge-patch+json",
    # The only media type for apply besides CBOR. The body may be JSON, which is also YAML.
    PatchType.APPLY: "application/apply-patch+yaml",
}


def merge_patch(target: object, patch: object) -> Any:  # JSON in, JSON out: its type depends on both
    """Apply a JSON merge patch (RFC 7386).

    Objects merge, ``null`` removes, anything else replaces.

    Args:
        target: decoded JSON; never changed.
        patch: decoded JSON; never changed.

    Returns:
        A new value that shares no dict or list with ``target`` or ``patch``, so it may be modified.
    """
    if not isinstance(patch, Mapping):
        return _copy(patch)
    kept = target if isinstance(target, Mapping) else {}
    merged: dict[str, Any] = {}
    for key in [*kept, *(key for key in patch if key not in kept)]:
        if key not in patch:
            merged[key] = _copy(kept[key])
        elif patch[key] is not None:
            merged[key] = merge_patch(kept.get(key), patch[key])
    return merged


def _copy(value: object) -> Any:  # JSON in, the same JSON out
    if isinstance(value, Mapping):
        return {key: _copy(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(element) for element in value]
    return value
