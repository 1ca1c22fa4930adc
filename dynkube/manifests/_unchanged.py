"""Whether an object needs no apply, because its manager's last one said the same and all of it still holds. Pure.

Then nothing is sent, for two reasons. A real server may write although nothing differs: of a custom resource whose CRD
has defaults for its status, and of an object of which nobody owns anything, the second apply moves the resourceVersion
(seen with 1.36). And admission would judge again what has long been there: a policy that forbids new objects of a kind
would forbid that nothing changes.

It compares what was applied with what is to be. Wherever a server writes things in its own way (quantities, order of
items) that is "news": the apply is sent, and the server decides.
"""

from __future__ import annotations

import enum
from typing import Any

import msgspec

from dynkube.errors import InvalidInput
from dynkube.fields import extract
from dynkube.meta import Unstructured


class Standing(enum.Enum):
    """How an object stands to what its manager applied last."""

    SAME = "same"
    """It is that, and all of it holds."""
    FILLED_IN = "filled in"
    """It is that, but for fields that it lacks inside of lists: defaults of the server, or fields that were removed."""
    NEWS = "news"
    """It is something else, or nobody can tell."""


def standing(obj: Unstructured, live: Unstructured, manager: str) -> Standing:
    """How ``obj`` stands to what ``manager`` applied last, as ``live`` still has it."""
    wanted = _content(obj)
    if not live.get("metadata", {}).get("managedFields"):
        return Standing.NEWS if wanted else Standing.SAME  # nobody owns anything, and nothing is to be owned
    try:
        applied = _content(extract(live, manager, missing_ok=True))
    except InvalidInput:  # applied in another version, or not to be understood
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
    """As JSON: Python takes ``1`` for ``True``."""
    return msgspec.json.encode(applied, order="sorted") == msgspec.json.encode(wanted, order="sorted")


def _content(obj: Unstructured) -> dict[str, Any]:
    """What there is to own: all but what says which object it is."""
    body = obj.to_dict()
    metadata = body.pop("metadata", None) or {}
    for name in ("apiVersion", "kind"):
        body.pop(name, None)
    for name in ("name", "namespace"):
        metadata.pop(name, None)
    if metadata.get("creationTimestamp", ...) is None:  # as generators of manifests write it; a server passes it over
        del metadata["creationTimestamp"]
    return {**body, "metadata": metadata} if metadata else body
