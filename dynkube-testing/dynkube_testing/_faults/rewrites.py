"""Functions for ``Rewrite`` that imitate faulty servers and proxies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dynkube_testing._faults.rewriting import Rewriter, Rewritten

_INITIAL_END = "k8s.io/initial-events-end"


def drop_bookmarks(event: dict[str, Any]) -> Rewritten:
    """Drop all BOOKMARK events, including the one that ends the initial events."""
    return None if event.get("type") == "BOOKMARK" else event


def drop_initial_events_end(event: dict[str, Any]) -> Rewritten:
    """Drop the BOOKMARK that ends the initial events (KEP-3157); keep the others."""
    annotations = _metadata(event.get("object")).get("annotations") or {}
    return None if event.get("type") == "BOOKMARK" and _INITIAL_END in annotations else event


def remove_metadata(document: dict[str, Any]) -> Rewritten:
    """Remove ``metadata`` from the object of an event, list items, or a single object."""
    for each in _objects(document):
        each.pop("metadata", None)
    return document


def rewind(by: int) -> Rewriter:
    """Decrease all resourceVersions by ``by``, but not below 1.

    They are changed in objects, lists and bookmarks.
    """

    def rewrite(document: dict[str, Any]) -> Rewritten:
        for each in (document, *_objects(document)):
            metadata = _metadata(each)
            if (version := metadata.get("resourceVersion", "")).isdecimal():
                metadata["resourceVersion"] = str(max(1, int(version) - by))
        return document

    return rewrite


def unknown_type(event: dict[str, Any]) -> Rewritten:
    """Change the type of the event to an unknown one."""
    return {**event, "type": "REPLACED"}


def error_without_status(event: dict[str, Any]) -> Rewritten:
    """Change the event to an ERROR whose object is not a Status."""
    return {**event, "type": "ERROR"}


def expired(event: dict[str, Any]) -> Rewritten:
    """Replace the event by the ERROR event for an expired resourceVersion (410)."""
    message = "The resourceVersion for the provided watch is too old."
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    return {"type": "ERROR", "object": {**status, "reason": "Expired", "code": 410}}


def garble(document: dict[str, Any]) -> Rewritten:
    """Replace the document by invalid JSON."""
    return b'{"type":"ADDED","object":{"metadata":\\x00 \n'


def before(*documents: dict[str, Any] | bytes) -> Rewriter:
    """Insert ``documents`` before each event.

    Use ``Rewrite(..., times=1)`` to insert them only before the first event.
    """

    def rewrite(event: dict[str, Any]) -> Rewritten:
        return [*documents, event]

    return rewrite


def repeat(event: dict[str, Any]) -> Rewritten:
    """Send each event twice."""
    return [event, event]


def without_group(group: str) -> Rewriter:
    """Remove ``group`` from discovery, aggregated or not."""

    def rewrite(document: dict[str, Any]) -> Rewritten:
        match document:
            case {"kind": "APIGroupList", "groups": list(groups)}:
                document["groups"] = [each for each in groups if each.get("name") != group]
            case {"kind": "APIGroupDiscoveryList", "items": list(items)}:
                document["items"] = [each for each in items if _metadata(each).get("name") != group]
        return document

    return rewrite


def stale_group(group: str) -> Rewriter:
    """Mark ``group`` as ``Stale`` in aggregated discovery.

    All its versions are marked, and have no resources.
    """

    def rewrite(document: dict[str, Any]) -> Rewritten:
        if document.get("kind") == "APIGroupDiscoveryList":
            for each in document.get("items") or ():
                if _metadata(each).get("name") == group:
                    for version in each.get("versions") or ():
                        version.pop("resources", None)
                        version["freshness"] = "Stale"
        return document

    return rewrite


def in_turn(*rewriters: Callable[[dict[str, Any]], Rewritten]) -> Rewriter:
    """Rewrite each event with the next function, starting over after the last one."""
    turn = 0

    def rewrite(document: dict[str, Any]) -> Rewritten:
        nonlocal turn
        turn += 1
        return rewriters[(turn - 1) % len(rewriters)](document)

    return rewrite


def _objects(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the object of an event, the items of a list, or the document itself."""
    if isinstance(inner := document.get("object"), dict) and "type" in document:
        yield inner
    elif isinstance(items := document.get("items"), list):
        yield from (item for item in items if isinstance(item, dict))
    else:
        yield document


def _metadata(obj: object) -> dict[str, Any]:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    return metadata if isinstance(metadata, dict) else {}
