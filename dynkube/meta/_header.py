"""The header of an object: names, labels, resourceVersion.

It is decoded when an object arrives; the body is decoded later, if needed.
"""

from __future__ import annotations

import sys
from itertools import chain
from typing import Final, TypeAlias

import msgspec

from dynkube.meta._frozen import FrozenDict
from dynkube.meta._json import UNREADABLE

NO_LABELS: Final = FrozenDict()

Labels: TypeAlias = FrozenDict | tuple[str, ...]
"""Labels as an object stores them: decoded, or packed (key, value, key, ...) for the garbage collector not to visit."""


class MetaHeader(msgspec.Struct, gc=False, rename="camel"):
    """The part of ``metadata`` that is decoded on arrival.

    ``labels`` and ``managed_fields`` are views into the object's bytes: labels are decoded separately, since many
    objects share them, and managed fields can be cut out.
    """

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    labels: msgspec.Raw = msgspec.Raw()
    deletion_timestamp: str | None = None
    managed_fields: msgspec.Raw = msgspec.Raw()


class Header(msgspec.Struct, gc=False, rename="camel"):
    """The part of an object that is decoded on arrival."""

    api_version: str | None = None
    kind: str | None = None
    metadata: MetaHeader | None = None


class _LabelsAlone(msgspec.Struct):
    labels: dict[str, str] | None = None


class _LabelsInPlace(msgspec.Struct):
    metadata: _LabelsAlone


EMPTY_META: Final = MetaHeader()
_labels_decoder: Final = msgspec.json.Decoder(dict[str, str] | None)
_labels_in_place: Final = msgspec.json.Decoder(_LabelsInPlace)

_headers: Final = msgspec.json.Decoder(Header)


def read_header(raw: bytes) -> Header:
    """Decode the header of an object.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: the bytes are not one JSON object with a well-typed
            header (``UNREADABLE``). Labels are not checked: see :func:`read_labels`.
    """
    return _headers.decode(raw)


def packed(labels: FrozenDict) -> Labels:
    """Return labels as a tuple, which takes a third of the memory, and a microsecond to unpack."""
    return tuple(chain.from_iterable(labels.items())) if labels else labels


def unpacked(labels: tuple[str, ...]) -> FrozenDict:
    """Return packed labels as a mapping."""
    each = iter(labels)
    return FrozenDict(zip(each, each, strict=True))


def read_labels(text: bytes, raw: bytes) -> FrozenDict:
    """Decode labels from ``text``, their JSON inside the object ``raw``.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: the labels are malformed (``UNREADABLE``). The message
            has the path within the whole object.
    """
    try:
        # Keys and values repeat across a cache. Interned, each occurrence takes only a pointer.
        labels = {sys.intern(key): sys.intern(value) for key, value in (_labels_decoder.decode(text) or {}).items()}
    except UNREADABLE:
        _labels_in_place.decode(raw)  # raises too, with the path in the whole object
        raise
    return FrozenDict(labels) if labels else NO_LABELS
