"""From bytes off the socket to one object, without ever decoding the whole of it.

The hot path of the library. An item of a list, or the object of a watch line, is copied once, out of the receive
buffer, and its header is decoded from that copy; nothing else is made.
"""

from __future__ import annotations

import sys
from typing import Final

import msgspec

from dynkube.meta._object import BodyCache, Header, Unstructured

_MANAGED_FIELDS: Final = b'"managedFields":'
_NOTHING: Final = msgspec.Raw()
_headers: Final = msgspec.json.Decoder(Header)
_documents: Final = msgspec.json.Decoder(dict)


class ObjectDecoder:
    """Makes :class:`Unstructured` objects from JSON bytes that this decoder may keep.

    Args:
        drop_managed_fields: cut ``metadata.managedFields`` out of the bytes (often a third of them).
        bodies: shared by the objects of one cache, so that few decoded bodies stay alive.
    """

    __slots__ = ("_bodies", "_drop")

    def __init__(self, *, drop_managed_fields: bool = False, bodies: BodyCache | None = None) -> None:
        self._drop = drop_managed_fields
        self._bodies = bodies

    def decode(self, raw: bytes) -> Unstructured:
        """One object.

        Raises:
            msgspec.DecodeError, UnicodeDecodeError, RecursionError: the bytes are not one JSON object with a
                well-typed header (``UNREADABLE``).
        """
        header = _headers.decode(raw)
        if self._drop and header.metadata is not None and header.metadata.managed_fields:
            raw = _without(raw, header.metadata.managed_fields)
            header.metadata.managed_fields = _NOTHING
        _share_strings(header)
        return Unstructured.from_wire(raw, header, self._bodies)


def _share_strings(header: Header) -> None:
    # Kinds, namespaces and labels repeat across a cache: interned they cost a pointer each.
    intern = sys.intern
    if header.api_version:
        header.api_version = intern(header.api_version)
    if header.kind:
        header.kind = intern(header.kind)
    meta = header.metadata
    if meta is not None:
        if meta.namespace:
            meta.namespace = intern(meta.namespace)
        if meta.labels:
            meta.labels = {intern(key): intern(value) for key, value in meta.labels.items()}


def cut_managed_fields(raw: bytes) -> bytes:
    """``raw`` without ``metadata.managedFields``, every other byte as it was.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: ``raw`` is not one JSON object with a well-typed
            header.
    """
    metadata = _headers.decode(raw).metadata
    return _without(raw, metadata.managed_fields) if metadata and metadata.managed_fields else raw


def _without(raw: bytes, managed_fields: msgspec.Raw) -> bytes:
    value = bytes(managed_fields)
    start = raw.find(_MANAGED_FIELDS)
    end = start + len(_MANAGED_FIELDS) + len(value)
    if start < 0 or not raw.startswith(value, start + len(_MANAGED_FIELDS)) or raw.find(_MANAGED_FIELDS, end) >= 0:
        return _cut_managed_fields_slowly(raw)  # more than one field of that name, or odd spacing
    if raw[end : end + 1] == b",":
        return raw[:start] + raw[end + 1 :]
    if raw[start - 1 : start] == b",":
        return raw[: start - 1] + raw[end:]
    if raw[start - 1 : start] == b"{" and raw[end : end + 1] == b"}":
        return raw[:start] + raw[end:]
    return _cut_managed_fields_slowly(raw)


def _cut_managed_fields_slowly(raw: bytes) -> bytes:
    document = _documents.decode(raw)
    document["metadata"].pop("managedFields", None)
    return msgspec.json.encode(document)
