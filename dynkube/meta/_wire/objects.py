"""Decoding of one object's bytes without decoding its body.

The hot path of the library. An item of a list, or the object of a watch line, is copied once, out of the receive
buffer, and its header is decoded from that copy; nothing else is allocated.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

import msgspec

from dynkube.meta._common import BodyCache, Common
from dynkube.meta._compact import BodyCodec, Compactor
from dynkube.meta._header import EMPTY_META, NO_LABELS, Header, Labels, packed, read_header, read_labels
from dynkube.meta._object import Unstructured

_MANAGED_FIELDS: Final = b'"managedFields":'
_LABEL_SETS: Final = 1024  # stored once each
_MAPPINGS: Final = 256  # of these as mappings
_NOTHING: Final = msgspec.Raw()
_documents: Final = msgspec.json.Decoder(dict)


class ObjectDecoder:
    """Creates :class:`Unstructured` objects from JSON bytes, which the objects keep.

    Objects of one decoder share kinds, namespaces and whole label sets (the pods of a Deployment have the same labels).

    Args:
        drop_managed_fields: cut ``metadata.managedFields`` out of the bytes (often a third of them).
        bodies: shared by the objects of one cache, to bound the number of decoded bodies.
        compactor: compresses the bytes that the objects of one cache keep.
        metadata_only: whether the objects have only metadata.
        reduce: applied to the bytes of each object first.
    """

    __slots__ = (
        "_bodies",
        "_common",
        "_compactor",
        "_compressed",
        "_drop",
        "_labels",
        "_mappings",
        "_reduce",
        "metadata_only",
    )

    def __init__(
        self,
        *,
        drop_managed_fields: bool = False,
        bodies: BodyCache | None = None,
        compactor: Compactor | None = None,
        metadata_only: bool = False,
        reduce: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self.metadata_only: bool = metadata_only
        self._reduce = reduce
        self._drop = drop_managed_fields
        self._bodies = bodies
        self._compactor = compactor
        self._common = self._compressed = Common(None, None, bodies, metadata_only=metadata_only)
        self._labels: dict[bytes, Labels] = {}
        self._mappings = _MAPPINGS  # how many more sets may be stored as mappings

    def decode(self, raw: bytes) -> Unstructured:
        """Decode the header of one object and return it.

        Raises:
            msgspec.DecodeError, UnicodeDecodeError, RecursionError: the bytes are not one JSON object with a well-typed
                header (``UNREADABLE``).
        """
        if self._reduce is not None:
            raw = self._reduce(raw)
        header = read_header(raw)
        meta = header.metadata or EMPTY_META
        labels = self._shared_labels(bytes(meta.labels), raw) if meta.labels else NO_LABELS
        if meta is not EMPTY_META:
            if meta.namespace:
                meta.namespace = sys.intern(meta.namespace)
            if self._drop and meta.managed_fields:
                raw = _without(raw, meta.managed_fields)
            meta.labels = meta.managed_fields = _NOTHING  # they are views of the received bytes
        common = self._shared_kind(header)
        if self._compactor is not None and (compressed := self._compactor.compress(raw)) is not None:
            codec, raw = compressed
            common = self._shared_codec(common, codec)
        return Unstructured.from_wire(raw, common, meta, labels)

    def _shared_kind(self, header: Header) -> Common:
        common = self._common
        if common.kind != header.kind or common.api_version != header.api_version:
            common = self._common = Common(
                header.api_version, header.kind, self._bodies, metadata_only=self.metadata_only
            )
        return common

    def _shared_codec(self, plain: Common, codec: BodyCodec) -> Common:
        common = self._compressed
        if common.codec is not codec or common.kind != plain.kind or common.api_version != plain.api_version:
            common = self._compressed = Common(
                plain.api_version, plain.kind, self._bodies, codec, metadata_only=self.metadata_only
            )
        return common

    def _shared_labels(self, text: bytes, raw: bytes) -> Labels:
        known = self._labels.get(text)
        if known is None:
            known = read_labels(text, raw)
            if self._mappings:
                self._mappings -= 1
            else:  # there may be as many sets as objects, and the garbage collector visits every mapping
                known = packed(known)
            if len(self._labels) >= _LABEL_SETS:  # limits memory if all label sets differ
                self._labels.clear()
            self._labels[text] = known
        return known


def cut_managed_fields(raw: bytes) -> bytes:
    """Return ``raw`` without ``metadata.managedFields``, all other bytes unchanged.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: ``raw`` is not one JSON object with a well-typed
            header.
    """
    metadata = read_header(raw).metadata
    return _without(raw, metadata.managed_fields) if metadata and metadata.managed_fields else raw


def _without(raw: bytes, managed_fields: msgspec.Raw) -> bytes:
    value = bytes(managed_fields)
    start = raw.find(_MANAGED_FIELDS)
    end = start + len(_MANAGED_FIELDS) + len(value)
    if start < 0 or not raw.startswith(value, start + len(_MANAGED_FIELDS)) or raw.find(_MANAGED_FIELDS, end) >= 0:
        return _cut_managed_fields_slowly(raw)  # several fields of that name, or unusual whitespace
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
