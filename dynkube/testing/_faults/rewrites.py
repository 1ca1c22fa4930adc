"""Ready-made functions for :class:`~dynkube.testing.Rewrite`: what servers, proxies and bugs make of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dynkube.testing._faults.rewriting import Rewriter, Rewritten

_INITIAL_END = "k8s.io/initial-events-end"


def drop_bookmarks(event: dict[str, Any]) -> Rewritten:
    """No BOOKMARK arrives, the one that ends the initial events included."""
    return None if event.get("type") == "BOOKMARK" else event


def drop_initial_events_end(event: dict[str, Any]) -> Rewritten:
    """The BOOKMARK that ends the initial events of a streamed list (KEP-3157) never arrives; others do."""
    annotations = _metadata(event.get("object")).get("annotations") or {}
    return None if event.get("type") == "BOOKMARK" and _INITIAL_END in annotations else event


def remove_metadata(document: dict[str, Any]) -> Rewritten:
    """Objects have no ``metadata``: those of events, and the items of lists."""
    for each in _objects(document):
        each.pop("metadata", None)
    return document


def rewind(by: int) -> Rewriter:
    """Each resourceVersion, of objects, lists and bookmarks, is ``by`` lower than it is, and at least 1."""

    def rewrite(document: dict[str, Any]) -> Rewritten:
        for each in (document, *_objects(document)):
            metadata = _metadata(each)
            if (version := metadata.get("resourceVersion", "")).isdecimal():
                metadata["resourceVersion"] = str(max(1, int(version) - by))
        return document

    return rewrite


def unknown_type(event: dict[str, Any]) -> Rewritten:
    """The type of the event is one that nobody knows."""
    return {**event, "type": "REPLACED"}


def error_without_status(event: dict[str, Any]) -> Rewritten:
    """The event is an ERROR, and what it carries is the object and no Status."""
    return {**event, "type": "ERROR"}


def expired(event: dict[str, Any]) -> Rewritten:
    """The event is the ERROR that says that the watch is too old to go on: 410 Expired."""
    message = "The resourceVersion for the provided watch is too old."
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    return {"type": "ERROR", "object": {**status, "reason": "Expired", "code": 410}}


def garble(document: dict[str, Any]) -> Rewritten:
    """What arrives is no JSON."""
    return b'{"type":"ADDED","object":{"metadata":\\x00 \n'


def before(*documents: dict[str, Any] | bytes) -> Rewriter:
    """``documents`` arrive before each event; combine it with ``times=1``, or they do so each time."""

    def rewrite(event: dict[str, Any]) -> Rewritten:
        return [*documents, event]

    return rewrite


def repeat(event: dict[str, Any]) -> Rewritten:
    """Each event arrives twice."""
    return [event, event]


def without_group(group: str) -> Rewriter:
    """Discovery, aggregated or not, does not know the API group ``group``."""

    def rewrite(document: dict[str, Any]) -> Rewritten:
        match document:
            case {"kind": "APIGroupList", "groups": list(groups)}:
                document["groups"] = [each for each in groups if each.get("name") != group]
            case {"kind": "APIGroupDiscoveryList", "items": list(items)}:
                document["items"] = [each for each in items if _metadata(each).get("name") != group]
        return document

    return rewrite


def stale_group(group: str) -> Rewriter:
    """Aggregated discovery says that all versions of ``group`` are ``Stale``, and nothing of their resources."""

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
    """The first function for the first event that comes, the next for the next, and then from the beginning."""
    turn = 0

    def rewrite(document: dict[str, Any]) -> Rewritten:
        nonlocal turn
        turn += 1
        return rewriters[(turn - 1) % len(rewriters)](document)

    return rewrite


def _objects(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects in an event or in a list; a single object is its own."""
    if isinstance(inner := document.get("object"), dict) and "type" in document:
        yield inner
    elif isinstance(items := document.get("items"), list):
        yield from (item for item in items if isinstance(item, dict))
    else:
        yield document


def _metadata(obj: object) -> dict[str, Any]:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    return metadata if isinstance(metadata, dict) else {}
