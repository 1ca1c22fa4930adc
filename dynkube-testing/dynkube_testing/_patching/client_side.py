"""Server-side apply to objects that client-side ``kubectl apply`` has written.

As in a real server, two rules apply to the manager ``kubectl`` only. It has no conflicts about fields that it applied
from the client side, which are known from the last-applied annotation. And as long as the annotation exists, the server
keeps it up to date, so that the user can return to client-side apply (kubernetes/kubernetes#99374, KEP-555 "upgrade"
and "downgrade").
"""

from __future__ import annotations

import msgspec

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._patching.contents import MISSING, equal, fields_of, value_at
from dynkube_testing._patching.fieldset import FieldSet
from dynkube_testing._patching.shapes import shape_of

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_MANAGER = "kubectl"


def taken_over(manager: str, kind: Kind, live: JSONObject) -> FieldSet:
    """Return the fields of ``live`` that ``manager`` may take over without ``force``."""
    annotation = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    if manager != _MANAGER or not annotation:
        return frozenset()
    try:
        applied = msgspec.json.decode(annotation)
    except (msgspec.DecodeError, TypeError):
        return frozenset()  # an unreadable annotation is ignored
    if not isinstance(applied, dict) or applied.get("apiVersion") != kind.api_version:
        return frozenset()
    shape = shape_of(kind)
    return frozenset(
        path
        for path in fields_of(applied, shape)
        if (there := value_at(live, path, shape)) is not MISSING and equal(there, value_at(applied, path, shape))
    )


def keep_annotation(manager: str, merged: JSONObject, applied: JSONObject) -> None:
    """Set the last-applied annotation of ``merged`` to the configuration ``applied``.

    This does nothing if there is no such annotation, or if ``manager`` is not ``kubectl``.
    """
    annotations = merged["metadata"].get("annotations") or {}
    if manager != _MANAGER or not annotations.get(LAST_APPLIED):
        return
    own = {key: text for key, text in (applied["metadata"].get("annotations") or {}).items() if key != LAST_APPLIED}
    metadata = {key: value for key, value in applied["metadata"].items() if key != "annotations"}
    content = {**applied, "metadata": {**metadata, "annotations": own} if own else metadata}
    text = msgspec.json.encode(content, order="sorted").decode() + "\n"
    merged["metadata"]["annotations"] = {**annotations, LAST_APPLIED: text}
