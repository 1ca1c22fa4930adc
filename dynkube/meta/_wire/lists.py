"""Incremental decoding of a list response to objects.

A list is split into items without decoding it. All items of a list have the same start (``{"apiVersion":"x/v1","``, or
``{"metadata":{`` for built-in kinds). So an item *may* end at a comma followed by that start. The header decoder checks
the syntax of the whole text before the comma, which shows whether the item really ends there, because no JSON object is
a proper prefix of another one. A list in any other layout (for example indented) is decoded as a whole when complete.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from dynkube._server_text import word
from dynkube.errors import ProtocolError
from dynkube.meta._header import read_header
from dynkube.meta._json import UNREADABLE
from dynkube.meta._list import UnstructuredList
from dynkube.meta._object import Unstructured
from dynkube.meta._wire.objects import ObjectDecoder
from dynkube.meta._wire.status import raise_failed_status

_ITEM_START: Final = re.compile(rb'\{"(?:metadata":\{|(?:apiVersion|kind)":"[^"\\]{1,300}",")')
_MANAGED_FIELDS_ENTRY: Final = b'fieldsType":'  # starts like an item, and occurs several times in each item
VIEWS: Final = "meta.k8s.io/"
"""API group of Table and PartialObjectMetadata.

Servers return them only on request.
"""
PARTIAL: Final = "PartialObjectMetadata"
_MAX_BUFFER: Final = 16 << 20  # bytes of one item, or before the first; etcd accepts 1.5 MB
_MAX_FALSE_ENDS: Final = 64  # failed attempts within one item, before splitting is given up


class ListMeta(msgspec.Struct, gc=False, rename="camel"):
    """The metadata of a list or a table."""

    resource_version: str | None = None
    continue_: str | None = msgspec.field(default=None, name="continue")
    remaining_item_count: int | None = None


class _Envelope(msgspec.Struct, gc=False, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    metadata: ListMeta | None = None
    items: list[msgspec.Raw] | None = None


_envelopes: Final = msgspec.json.Decoder(_Envelope)


class ListDecoder:
    """Splits one list response into objects while it arrives.

    :meth:`feed` takes the body in pieces of any size and returns the objects that are complete by then; :meth:`finish`
    returns the last ones and the list's metadata. Items of built-in kinds have no apiVersion and kind on the wire; they
    get the list's, as in client-go.
    """

    __slots__ = ("_buffer", "_decoder", "_head", "_parts", "_prefix", "_search", "_separator", "_split")

    def __init__(self, decoder: ObjectDecoder) -> None:
        self._decoder = decoder
        self._buffer = b""
        self._head: bytes | None = None  # everything before the items, once they have begun
        self._separator = b""
        self._prefix = b""  # apiVersion and kind for items that lack them
        self._search = 0  # where to look for the next separator
        self._split = True
        self._parts: list[bytes] = []  # the whole response, once splitting was given up

    def feed(self, chunk: bytes) -> list[Unstructured]:
        """Return the objects that ``chunk`` completes.

        Raises:
            ProtocolError: the response is not a Kubernetes list.
        """
        if not self._split:
            self._parts.append(chunk)
            return []
        self._buffer += chunk
        if (self._head is None and not self._find_items()) or not (self._separator or self._learn_separator()):
            self._give_up_on_endless()
            return []
        return self._complete_items()

    def finish(self) -> tuple[list[Unstructured], UnstructuredList]:
        """Return the remaining objects, and an empty list that has the metadata.

        Raises:
            APIError: the response is a Status that reports a failure.
            ProtocolError: the response ended early, or is not a Kubernetes list.
        """
        try:
            if self._head is None or not self._split:
                return self._finish_whole()
            return self._finish_split()
        except UNREADABLE as exc:
            raise ProtocolError(f"the response is not a Kubernetes list, or is truncated: {exc}") from exc

    def _find_items(self) -> bool:
        at = self._buffer.find(b'"items":[')
        if at < 0:
            return False
        head = self._buffer[:at]
        try:  # only at depth one does the text before the items form an object when closed with a brace
            envelope = _envelopes.decode(head.rstrip(b",") + b"}")
        except UNREADABLE:
            self._give_up(b"")
            return False
        self._head = head
        self._prefix = _item_prefix(envelope)
        self._buffer = self._buffer[at + len(b'"items":[') :]
        return True

    def _learn_separator(self) -> bool:
        match = _ITEM_START.match(self._buffer)
        if match is None:
            if self._buffer[:1] not in (b"", b"]") and len(self._buffer) >= 512:
                self._give_up(b'"items":[')
            return False
        start = match.group()
        self._separator = b"}," + start
        if not start.startswith(b'{"metadata"'):
            self._prefix = b""
        return True

    def _complete_items(self) -> list[Unstructured]:
        buffer, separator, found = self._buffer, self._separator, list[Unstructured]()
        start, search, false_ends = 0, self._search, 0
        while (at := buffer.find(separator, search)) >= 0:
            if not buffer.startswith(_MANAGED_FIELDS_ENTRY, at + len(separator)):
                try:
                    found.append(self._decode(buffer[start : at + 1]))
                except UNREADABLE:
                    false_ends += 1
                else:
                    start = search = at + 2
                    false_ends = 0
                    continue
            search = at + 1
            if false_ends > _MAX_FALSE_ENDS:
                self._buffer = buffer[start:]
                self._give_up(b'"items":[')
                return found
        # A separator may begin at the end of the buffer; all before that were found.
        self._search = max(search, len(buffer) - len(separator) + 1) - start
        self._buffer = buffer[start:]
        self._give_up_on_endless()
        return found

    def _give_up_on_endless(self) -> None:
        # Each chunk copies the buffer, so for items larger than any real object the time would be quadratic.
        if len(self._buffer) > _MAX_BUFFER:
            self._give_up(b'"items":[' if self._head is not None else b"")

    def _decode(self, raw: bytes) -> Unstructured:
        return self._decoder.decode(self._prefix + raw[1:] if self._prefix else raw)

    def _give_up(self, between: bytes) -> None:
        self._split = False
        self._parts = [(self._head or b"") + between, self._buffer]
        self._buffer = b""
        self._head = None

    def _finish_split(self) -> tuple[list[Unstructured], UnstructuredList]:
        assert self._head is not None
        rest = self._buffer
        if rest[:1] == b"]":
            return [], self._list_of(_envelopes.decode(self._head + b'"items":[' + rest))
        # The last item ends at one of the last "}]", after which only the end of the list follows.
        at = len(rest)
        for _ in range(_MAX_FALSE_ENDS):
            at = rest.rfind(b"}]", 0, at)
            if at < 0:
                break
            try:
                tail = _envelopes.decode(self._head + b'"items":[' + rest[at + 1 :])
                last = self._decode(rest[: at + 1])
            except UNREADABLE:
                at += 1
                continue
            return [last], self._list_of(tail)
        self._give_up(b'"items":[')
        return self._finish_whole()

    def _finish_whole(self) -> tuple[list[Unstructured], UnstructuredList]:
        document = b"".join(self._parts) + self._buffer
        envelope = _envelopes.decode(document)
        if envelope.items is None and not (envelope.kind or "").endswith("List"):
            raise_failed_status(document)
            kind = word(envelope.kind or "document without kind")
            raise ProtocolError(f"expected a list, the server returned a {kind}")
        prefix = _item_prefix(envelope)
        items: list[Unstructured] = []
        for raw in envelope.items or ():
            item = bytes(raw)
            if prefix and not read_header(item).kind:
                item = prefix + item.lstrip()[1:]
            items.append(self._decoder.decode(item))
        return items, self._list_of(envelope)

    def _list_of(self, envelope: _Envelope) -> UnstructuredList:
        partial = self._decoder.metadata_only and envelope.kind == f"{PARTIAL}List"
        if (envelope.api_version or "").startswith(VIEWS) and not partial:
            raise ProtocolError(
                f"the server returned a {word(envelope.kind or 'document')}, which does not contain the objects"
            )
        return _list_of(envelope)


def _item_prefix(envelope: _Envelope) -> bytes:
    if not envelope.kind or not envelope.api_version:
        return b""
    kind = envelope.kind.removesuffix("List")
    return msgspec.json.encode({"apiVersion": envelope.api_version, "kind": kind})[:-1] + b","


def _list_of(envelope: _Envelope) -> UnstructuredList:
    meta = envelope.metadata or ListMeta()
    return UnstructuredList(
        (),
        resource_version=meta.resource_version or "",
        continue_token=meta.continue_ or "",
        remaining_item_count=meta.remaining_item_count,
        api_version=envelope.api_version or "",
        kind=envelope.kind or "",
    )
