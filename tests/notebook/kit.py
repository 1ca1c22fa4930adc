"""Helpers for tests of live tables: objects, and a page that applies messages as the script does."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import trio

import dynkube
from dynkube.informers import ClusterObject
from dynkube.meta import Added, Deleted, InformerEvent, Updated
from dynkube.notebook._columns import LiveColumn, columns_for
from dynkube.notebook._follower import Follower
from dynkube.notebook._messages import Message
from dynkube.notebook._picture import Head, Painter, Picture, headings
from dynkube.notebook._row_keys import RowKey
from dynkube.notebook._selection import RowSelection
from dynkube.notebook._source import ONE

EPOCH = datetime(2026, 5, 6, 12, tzinfo=UTC)


def now() -> datetime:
    """Return the time of day by the test's clock."""
    return EPOCH + timedelta(seconds=trio.current_time())


def obj(name: str, namespace: str = "default", version: int = 1, **fields: Any) -> dynkube.Unstructured:
    """Return an object as in an informer."""
    metadata = {"name": name, "namespace": namespace, "resourceVersion": str(version), "uid": f"{name}-uid"}
    return dynkube.Unstructured({"apiVersion": "v1", "kind": "Thing", "metadata": metadata, **fields})


def row(given: dynkube.Unstructured, cluster: str = "") -> ClusterObject:
    """Return the row of an object."""
    return ClusterObject(cluster, given)


class Selection(RowSelection):
    """A selection with its objects, as the queues of events of informers have them."""

    def __init__(self) -> None:
        self._objects: dict[RowKey, dynkube.Unstructured] = {}
        super().__init__(self._objects.get)

    def fold(self, event: InformerEvent, cluster: str = "") -> None:
        """Apply an event."""
        match event:
            case Deleted(obj):
                self._objects.pop((cluster, *obj.key), None)
            case Added(obj) | Updated(_, obj):
                self._objects[cluster, *obj.key] = obj
        super().fold(event, cluster)


def paint(
    selection: RowSelection, painter: Painter, *, limit: int = 200, columns: tuple[LiveColumn, ...] | None = None
) -> Picture:
    """Return a picture of the selected rows."""
    columns = columns if columns is not None else columns_for((), {})
    rows = tuple(painter.rows(selection.window(0, limit), columns))
    head = Head(title="things.v1", phase="LIVE", shown=len(rows), matching=len(selection), total=len(selection))
    return Picture(head, headings(columns, rows, selection.namespaces), rows)


class Page:
    """The contents of a page after some messages."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.times: list[float] = []
        self.head: dict[str, Any] = {}
        self.columns: list[dict[str, Any]] = []
        self.rows: dict[str, tuple[str, list[Any]]] = {}
        self.details: dict[str, Any] = {}
        self.order: list[str] = []

    def show(self, message: Message, picture: Picture | None = None) -> None:
        """Apply a message, as the script does."""
        self.messages.append(message)
        self.times.append(trio.current_time() if trio.lowlevel.in_trio_run() else 0.0)
        if message["kind"] == "details":
            self.details[message["id"]] = message["blocks"]
            return
        if message["kind"] == "table":
            self.rows, self.order = {}, [row[0] for row in message["rows"]]
        self.order = message.get("order", self.order)
        self.head = message.get("head", self.head)
        self.columns = message.get("columns", self.columns)
        for row_id in message.get("drop", ()):
            del self.rows[row_id]
        for row_id, version, cells in [*message.get("rows", ()), *message.get("add", ())]:
            assert row_id not in self.rows
            self.rows[row_id] = (version, list(cells))
        for row_id, version, cells in message.get("put", ()):
            known = self.rows[row_id][1]
            self.rows[row_id] = (version, [cells.get(str(place), cell) for place, cell in enumerate(known)])

    def drain(self) -> list[str]:
        """Return the kinds of the messages since the last call."""
        kinds = [message["kind"] for message in self.messages]
        self.messages = []
        return kinds

    def texts(self, *names: str) -> list[list[str]]:
        """Return the texts of some columns, sorted by namespace and name."""
        places = [[column["name"] for column in self.columns].index(name) for name in names]
        rows = sorted(self.rows.items(), key=lambda item: item[0].split("/"))
        return [[text(cells[place]) for place in places] for _, (_, cells) in rows]

    def shown(self) -> list[str]:
        """Return the headings of the visible columns."""
        return [column["name"] for column in self.columns if column["shown"]]


def text(cell: Any) -> str:
    """Return the text of a cell."""
    return cell if isinstance(cell, str) else str(cell["t"])


def follow(informer: dynkube.Informer, nursery: trio.Nursery, **options: Any) -> Follower:
    """Return a follower of an informer, which is not started yet."""
    return Follower(lambda: nullcontext({ONE: informer}), nursery.start_soon, **options)


def attach(follower: Follower, *, greet: bool = True) -> Page:
    """Return a page of the follower; ``greet`` starts the follower and sends the page's hello."""
    page = Page()
    follower.outlet = page
    if greet:
        follower.begin()
        follower.receive({"kind": "hello", "page": "1"})
    return page


def names(objects: Iterable[dynkube.Unstructured]) -> list[str]:
    """Return the names of objects, in their order."""
    return [each.name for each in objects]
