"""The part of an object that is decoded on arrival: names, labels, resourceVersion, and nothing of its body."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final

import msgspec

from dynkube.meta._frozen import FrozenDict
from dynkube.meta._json import UNREADABLE

NO_LABELS: Final[Mapping[str, str]] = FrozenDict()


class MetaHeader(msgspec.Struct, gc=False, rename="camel"):
    """The part of ``metadata`` that is decoded on arrival.

    ``labels`` and ``managed_fields`` are views into the object's own bytes: the ones are decoded apart, since many
    objects have the same, and the others can be cut out.
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
    """The header of an object.

    Raises:
        msgspec.DecodeError, UnicodeDecodeError, RecursionError: the bytes are not one JSON object with a well-typed
            header (``UNREADABLE``). Labels are not looked at: see :func:`read_labels`.
    """
    return _headers.decode(raw)


def read_labels(text: bytes, raw: bytes) -> Mapping[str, str]:
    """The labels whose JSON is ``text``; raises what :class:`Header` would for the whole object ``raw``."""
    try:
        # Keys and values repeat across a cache: interned they cost a pointer each.
        labels = {sys.intern(key): sys.intern(value) for key, value in (_labels_decoder.decode(text) or {}).items()}
    except UNREADABLE:
        _labels_in_place.decode(raw)  # raises too, and names the place in the whole object
        raise
    return FrozenDict(labels) if labels else NO_LABELS
