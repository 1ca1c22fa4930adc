"""Decoding of watch lines to events."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from dynkube._server_text import word
from dynkube.errors import APIError, ProtocolError, Status
from dynkube.meta._events import Added, Bookmark, Deleted, Modified, WatchEvent
from dynkube.meta._json import UNREADABLE
from dynkube.meta._wire.lists import PARTIAL, VIEWS
from dynkube.meta._wire.objects import ObjectDecoder
from dynkube.meta._wire.status import raise_failed_status

_INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"  # KEP-3157
_NAME: Final = re.compile(rb'"name"\s*:\s*"([^"\\]{1,253})"')


class _BookmarkMeta(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str | None = None
    annotations: dict[str, str] | None = None


class _BookmarkObject(msgspec.Struct, gc=False):
    metadata: _BookmarkMeta | None = None


class _Frame(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


_bookmarks: Final = msgspec.json.Decoder(_BookmarkObject)
_frames: Final = msgspec.json.Decoder(_Frame)
_documents: Final = msgspec.json.Decoder(dict)

_EVENTS: Final[dict[str, type[Added | Modified | Deleted]]] = {
    "ADDED": Added,
    "MODIFIED": Modified,
    "DELETED": Deleted,
}


def decode_watch_line(line: bytes, decoder: ObjectDecoder) -> WatchEvent:
    """Decode one line of a watch response.

    Raises:
        APIError: the line is an ERROR event; the exception is the Status it carries.
        ProtocolError: the line is not JSON, has an unknown type, or its object has no metadata or name.
    """
    kind, raw = _split_frame(line)
    event = _EVENTS.get(kind)
    if event is None:
        return _rare_event(kind, raw)
    try:
        obj = decoder.decode(raw)
    except UNREADABLE as exc:
        raise ProtocolError(f"{kind} event whose object{_called(raw)} cannot be decoded: {exc}") from exc
    if obj.api_version.startswith(VIEWS) and not (decoder.metadata_only and obj.kind == PARTIAL):
        raise ProtocolError(f"{kind} event with a {word(obj.kind)} instead of the object")
    if not obj.name:
        raise ProtocolError(f"{kind} event whose object has no metadata.name (kind {word(obj.kind) or 'unknown'!r})")
    return event(obj)


def _called(raw: bytes) -> str:
    """Return the probable name of an undecodable object, for messages."""
    match = _NAME.search(raw, max(raw.find(b'"metadata"'), 0))
    return f" (perhaps {word(match[1].decode('utf-8', 'replace'))!r})" if match else ""


def _split_frame(line: bytes) -> tuple[str, bytes]:
    # API servers write '{"type":"ADDED","object":{...}}'. The object is sliced out, as parsing the whole line would
    # parse the object twice.
    if line.startswith(b'{"type":"'):
        quote = line.find(b'"', 9)
        if line.startswith(b'","object":{', quote) and line.endswith(b"}}"):
            return line[9:quote].decode("utf-8", "replace"), line[quote + 11 : -1]
    try:
        frame = _frames.decode(line)
    except UNREADABLE as exc:
        raise_failed_status(line, request="watch")
        excerpt = line[:80].decode("utf-8", "replace")
        raise ProtocolError(f"watch line is not a watch event: {exc} ({excerpt!r})") from exc
    return frame.type, bytes(frame.object)


def _rare_event(kind: str, raw: bytes) -> WatchEvent:
    try:
        if kind == "BOOKMARK":
            meta = _bookmarks.decode(raw).metadata
            if meta is None or not meta.resource_version:
                raise ProtocolError("BOOKMARK event without metadata.resourceVersion")
            end = (meta.annotations or {}).get(_INITIAL_EVENTS_END) == "true"
            return Bookmark(meta.resource_version, end)
        if kind == "ERROR":
            body = _documents.decode(raw)
            if body.get("kind") != "Status":
                raise ProtocolError(
                    f"ERROR event with a {word(str(body.get('kind') or 'document'))} instead of a Status"
                )
            raise APIError.from_status(Status.from_mapping(body), request="watch")
    except UNREADABLE as exc:
        raise ProtocolError(f"{kind} event that cannot be decoded: {exc}") from exc
    raise ProtocolError(f"watch event of unknown type {word(kind)!r}")
