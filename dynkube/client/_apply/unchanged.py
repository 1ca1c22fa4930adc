"""Detect objects that are up to date. Pure.

An object is up to date if its manager's last apply was identical, and the manager still owns all applied fields.

No apply is sent for such an object, for two reasons. First, a server may write although nothing differs: for a custom
resource whose CRD has defaults for its status, and for an object without owned fields, a second apply changes the
resourceVersion (observed with 1.36). Second, admission would evaluate the existing object again: a policy that forbids
new objects of a kind would reject an apply that changes nothing.

The last applied fields are compared with the new ones. If the server has normalized a value (quantities, order of
items), they differ, so the apply is sent, and the server decides. Drift is decided in the same way, with a dry run.
"""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from dynkube.errors import InvalidInput
from dynkube.fields import extract
from dynkube.meta import Unstructured


class Standing(enum.Enum):
    """Relation of an object to the last apply of its manager."""

    SAME = "same"
    """Identical and still owned."""
    FILLED_IN = "filled in"
    """Identical, except that list items lack fields: either defaults of the server, or fields that were removed."""
    NEWS = "news"
    """Different, or unknown."""


def standing(obj: Unstructured, live: Unstructured, manager: str, subresource: str | None = None) -> Standing:
    """Compare ``obj`` with the fields that ``manager`` applied last to ``live``, itself or a subresource."""
    wanted = _content(obj)
    if not live.get("metadata", {}).get("managedFields"):
        return Standing.NEWS if wanted else Standing.SAME  # SAME if there are neither owned fields nor fields to apply
    try:
        applied = _content(extract(live, manager, subresource=subresource, missing_ok=True))
    except InvalidInput:  # applied in another API version, or not parsable
        return Standing.NEWS
    if _same(applied, wanted):
        return Standing.SAME
    return Standing.FILLED_IN if _covers(applied, wanted, in_list=False) else Standing.NEWS


def _covers(applied: Any, wanted: Any, *, in_list: bool) -> bool:
    if isinstance(applied, dict) and isinstance(wanted, dict):
        if not in_list and applied.keys() != wanted.keys():
            return False
        return all(name in applied and _covers(applied[name], wanted[name], in_list=in_list) for name in wanted)
    if isinstance(applied, list) and isinstance(wanted, list):
        pairs = zip(applied, wanted, strict=False)
        return len(applied) == len(wanted) and all(_covers(one, other, in_list=True) for one, other in pairs)
    return _same(applied, wanted)


def _same(applied: Any, wanted: Any) -> bool:
    """Whether two values are equal as JSON, which unlike ``==`` distinguishes 1 and True."""
    return msgspec.json.encode(applied, order="sorted") == msgspec.json.encode(wanted, order="sorted")


def _content(obj: Unstructured) -> dict[str, Any]:
    """Return the fields that can be owned: all except identifying ones."""
    body = obj.to_dict()
    metadata = body.pop("metadata", None) or {}
    for name in ("apiVersion", "kind"):
        body.pop(name, None)
    for name in ("name", "namespace"):
        metadata.pop(name, None)
    if metadata.get("creationTimestamp", ...) is None:  # written by manifest generators; ignored by servers
        del metadata["creationTimestamp"]
    return {**body, "metadata": metadata} if metadata else body
