"""Forms of responses: whole objects, metadata only, or rows of a table.

A form encodes the beginning of a list and each of its items separately, so that a long list can be sent while it is
encoded. See https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

import msgspec

from dynkube.errors import APIError, Status
from dynkube_testing._calls.api import Document, JSONObject, WatchEvent
from dynkube_testing._calls.refuse import failed
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.documents import ListDocument, PlainDocument
from dynkube_testing._store.versions import Version
from dynkube_testing._tables.ages import Ages
from dynkube_testing._tables.columns import Printer
from dynkube_testing._tables.fields import Fields

Include: TypeAlias = Literal["None", "Metadata", "Object"]


class Form(Protocol):
    """Encodes objects, lists and events of one request.

    Attributes:
        list_key: The key of the items in a list.
        plain: Whether items are sent as stored, without encoding them again.
    """

    @property
    def list_key(self) -> str: ...

    @property
    def plain(self) -> bool: ...

    def head(self, document: ListDocument) -> JSONObject:
        """Return a list with ``None`` instead of its items; keys are in the order to send.

        Raises:
            APIError: 406, because lists do not have this form.
        """
        ...

    def item(self, version: Version) -> bytes:
        """Encode one item of a list."""
        ...

    def single(self, document: Document) -> bytes:
        """Encode a document that is not a list; a Status is not changed.

        Raises:
            APIError: 406, or 500 as in a real server, because objects do not have this form.
        """
        ...

    def event(self, event: WatchEvent) -> bytes:
        """Encode one event of a watch, with a newline at the end."""
        ...


class _Envelope(msgspec.Struct):
    """The encoded metadata of an object; decoding skips all other fields."""

    metadata: msgspec.Raw = msgspec.Raw(b"{}")


_ENVELOPE = msgspec.json.Decoder(_Envelope)


def _is_status(document: Document) -> bool:
    return isinstance(document, PlainDocument) and document.content.get("kind") == "Status"


def _event_line(event: WatchEvent, encoded: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (event.type.encode(), encoded)


def _list_metadata(document: ListDocument) -> JSONObject:
    metadata: JSONObject = replace(document, versions=()).data["metadata"]
    return {name: value for name, value in metadata.items() if value != ""}


@dataclass(frozen=True, slots=True)
class Objects:
    """Whole objects."""

    kind: Kind
    list_key: str = "items"
    plain: bool = True

    def head(self, document: ListDocument) -> JSONObject:
        """Return kind and metadata of the list.

        Keys of lists of custom resources are sorted, as in a real server.
        """
        head = {**replace(document, versions=()).data, "items": None}
        return head if self.kind.crd_uid is None else dict(sorted(head.items()))

    def item(self, version: Version) -> bytes:
        """Return the object as encoded in lists of its kind."""
        return version.encode_item(self.kind)

    def single(self, document: Document) -> bytes:
        """Encode the document unchanged."""
        return document.json

    def event(self, event: WatchEvent) -> bytes:
        """Encode the event unchanged."""
        return event.line


@dataclass(frozen=True, slots=True)
class Metadata:
    """``PartialObjectMetadata``, and lists of it.

    Attributes:
        kind: The kind of the objects.
        version: The version of ``meta.k8s.io``.
        of_list: Whether ``PartialObjectMetadataList`` was requested, which only lists have; objects only have
            ``PartialObjectMetadata``.
    """

    kind: Kind
    version: str
    of_list: bool
    list_key: str = "items"
    plain: bool = False

    def head(self, document: ListDocument) -> JSONObject:
        """Return the metadata of the list."""
        if not self.of_list:
            raise _misplaced("PartialObjectMetadata", "a list", self.kind, self.kind.list_kind)
        return {
            "kind": "PartialObjectMetadataList",
            "apiVersion": f"meta.k8s.io/{self.version}",
            "metadata": _list_metadata(document),
            "items": None,
        }

    def item(self, version: Version) -> bytes:
        """Encode the metadata of one object."""
        return partial_metadata(version.encode(self.kind), self.version)

    def single(self, document: Document) -> bytes:
        """Encode the metadata of the object."""
        if _is_status(document):
            return document.json
        if self.of_list and self.kind.crd_uid is not None:
            raise failed("content is not a list")
        if self.of_list:
            raise _misplaced("PartialObjectMetadataList", "not a list", self.kind, self.kind.kind)
        return partial_metadata(document.json, self.version)

    def event(self, event: WatchEvent) -> bytes:
        """Encode the event with the metadata of its object."""
        if event.type == "ERROR":
            return event.line
        return _event_line(event, partial_metadata(event.object.json, self.version))


def partial_metadata(encoded: bytes, version: str) -> bytes:
    """Convert an encoded object to a ``PartialObjectMetadata``."""
    head = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%b","metadata":' % version.encode()
    return head + bytes(_ENVELOPE.decode(encoded).metadata) + b"}"


def _misplaced(form: str, what: str, kind: Kind, name: str) -> APIError:
    # The real server's message has the Go type of the resource. Its package is the first part of the group.
    package = kind.gvr.group.partition(".")[0] or "core"
    if kind.crd_uid is not None:
        package, name = "unstructured", "UnstructuredList" if name == kind.list_kind else "Unstructured"
    message = f"you requested {form}, but the requested object is {what} (*{package}.{name})"
    return APIError.from_status(Status(code=406, reason="NotAcceptable", message=message))


@dataclass(slots=True)
class Table:
    """Tables as printed by kubectl.

    In a watch, only the first event has the column definitions, since they do not change. An instance must therefore be
    used for one request only.

    Attributes:
        kind: The kind of the objects.
        printer: The columns, and the function that computes cells.
        version: The version of ``meta.k8s.io``.
        include: The object in each row besides the cells: ``None``, ``Metadata`` or ``Object``.
        now: Function that returns the current time.
    """

    kind: Kind
    printer: Printer
    version: str
    include: Include
    now: Callable[[], datetime]
    list_key: str = "rows"
    plain: bool = False
    _columns_sent: bool = field(default=False, init=False)

    def head(self, document: ListDocument) -> JSONObject:
        """Return the table without rows."""
        head = self._head(_list_metadata(document))
        return {**head, "columnDefinitions": self.printer.definitions, "rows": None}

    def item(self, version: Version) -> bytes:
        """Encode one row."""
        return self._row(version.encode(self.kind))

    def single(self, document: Document) -> bytes:
        """Encode a table of one row."""
        return document.json if _is_status(document) else self._table(document, with_columns=True)

    def event(self, event: WatchEvent) -> bytes:
        """Encode the event with a table of one row."""
        with_columns, self._columns_sent = not self._columns_sent, True
        if event.type == "ERROR":
            return event.line
        return _event_line(event, self._table(event.object, with_columns=with_columns))

    def _head(self, metadata: object) -> JSONObject:
        return {"kind": "Table", "apiVersion": f"meta.k8s.io/{self.version}", "metadata": metadata}

    def _table(self, document: Document, *, with_columns: bool) -> bytes:
        encoded = document.json
        metadata = Fields(msgspec.json.decode(_ENVELOPE.decode(encoded).metadata))
        revision = metadata.text("resourceVersion")  # missing in a dry run
        head = self._head({"resourceVersion": revision} if revision else {})
        head["columnDefinitions"] = self.printer.definitions if with_columns else None
        # The bookmark after the initial events has an annotation, so its row must include the metadata.
        marked = "k8s.io/initial-events-end" in metadata.mapping("annotations")
        row = self._row(encoded, "Metadata" if marked and self.include == "None" else self.include)
        return b'%b,"rows":[%b]}' % (msgspec.json.encode(head)[:-1], row)

    def _row(self, encoded: bytes, include: Include | None = None) -> bytes:
        obj = Fields(msgspec.json.decode(encoded))
        row: JSONObject = {"cells": self.printer.cells(obj, Ages.at(self.now()))}
        if conditions := self.printer.conditions(obj):
            row["conditions"] = conditions
        match include or self.include:
            case "Object":
                row["object"] = msgspec.Raw(encoded)
            case "Metadata":
                row["object"] = msgspec.Raw(partial_metadata(encoded, self.version))
            case "None":
                row["object"] = None
        return msgspec.json.encode(row)
