"""One collection as bytes off the socket turned into objects: a list, and a watch in batches.

The hot path under both the informers and the plain verbs. A :class:`ListWatch` keeps no position, retries
nothing and remembers nothing between two calls; whoever stands on it decides what an error means.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from copy import copy
from typing import Final, TypeAlias

import trio

from dynkube._logs import get_logger
from dynkube.client._batches import Batches
from dynkube.client._paging import Paging
from dynkube.errors import APIError, DeadlineExceeded, ProtocolError
from dynkube.meta import (
    GVR,
    FieldSelector,
    LabelSelector,
    ListDecoder,
    ObjectDecoder,
    Unstructured,
    UnstructuredList,
    resource_path,
)
from dynkube.rest import Answer, LineSplitter, Redactor, Request, RESTClient
from dynkube.telemetry import Collection

_log = get_logger("dynkube.client")

# Names for what the method ListWatch.list would otherwise hide.
_Items: TypeAlias = list[Unstructured]

_PIECE: Final = 1 << 18  # bytes of a list that are decoded at once
DEFAULT_LIST_TIMEOUT: Final = 75.0
"""Seconds for one list: a little more than the 60 s a kube-apiserver gives itself (``--request-timeout``)."""


class ListWatch:
    """Lists and watches one collection: a resource, in one namespace or in all, narrowed by selectors.

    Args:
        rest: where requests go.
        gvr: the resource.
        namespace: ``None`` means all namespaces, and is the only choice for cluster-scoped resources.
        label_selector: which objects, by labels; decided by the server.
        field_selector: which objects, by fields; decided by the server.
        decoder: how bytes become objects; give one to drop managedFields or to bound decoded bodies.
        obliging: have requests come back by themselves when the server says when; see :class:`~dynkube.rest.Request`.
        on_malformed: called with each listed item that has no ``metadata.name`` and is therefore left
            out; without it a warning is logged. ``malformed`` counts them.
    """

    __slots__ = (
        "_decoder",
        "_obliging",
        "_on_malformed",
        "_params",
        "_path",
        "_rest",
        "gvr",
        "malformed",
        "namespace",
    )

    def __init__(
        self,
        rest: RESTClient,
        gvr: GVR,
        *,
        namespace: str | None = None,
        label_selector: LabelSelector,
        field_selector: FieldSelector,
        decoder: ObjectDecoder | None = None,
        obliging: bool = True,
        on_malformed: Callable[[Unstructured], None] | None = None,
    ) -> None:
        self._rest = rest
        self._path = resource_path(gvr, namespace=namespace)
        self._params: dict[str, str] = {}
        if not label_selector.empty:
            self._params["labelSelector"] = str(label_selector)
        if not field_selector.empty:
            self._params["fieldSelector"] = str(field_selector)
        self._decoder = decoder or ObjectDecoder()
        self._obliging = obliging
        self._on_malformed = on_malformed
        self.gvr: GVR = gvr
        self.namespace: str | None = namespace
        self.malformed: int = 0

    @property
    def collection(self) -> Collection:
        """What it lists and watches, for those who are told of it."""
        return Collection(
            gvr=self.gvr,
            namespace=self.namespace,
            label_selector=self._params.get("labelSelector", ""),
            field_selector=self._params.get("fieldSelector", ""),
        )

    def pacing_itself(self) -> ListWatch:
        """The same, for somebody with a pace of their own: no request comes back by itself."""
        other = copy(self)
        other._obliging = False
        return other

    async def list(
        self,
        *,
        resource_version: str | None = None,
        resource_version_match: str | None = None,
        limit: int | None = None,
        continue_token: str | None = None,
        timeout: float | None = None,
        paging: Paging | None = None,
    ) -> UnstructuredList:
        """One list request, turned into objects while it arrives.

        Args:
            resource_version: ``None`` or ``""`` for the most recent state, ``"0"`` for whatever the
                server has at hand, else not older than this (API concepts, "resourceVersion parameter").
            resource_version_match: ``"NotOlderThan"`` or ``"Exact"``.
            limit: at most so many objects; the answer's ``continue_token`` asks for the next ones.
            continue_token: from the page before. The server refuses it together with ``resource_version``.
            timeout: seconds for everything, retries of the request included (but not what a plugin takes while somebody
                at a terminal may have to log in); ``None`` means 75.
            paging: of the list that this page belongs to; counts its bytes.

        Returns:
            The objects in the server's order, with the list's own metadata.

        Raises:
            APIError: the server said no; :class:`~dynkube.errors.Gone` for an expired token or version.
            ProtocolError: the answer is no list, or was cut short. Nothing of it is handed out.
            EndlessList: ``paging`` has had enough.
            ConnectionLost: the connection broke.
            DeadlineExceeded: it did not end in time.
            TransportError: the server was not reached.
        """
        seconds = DEFAULT_LIST_TIMEOUT if timeout is None else timeout
        request = self.list_request(
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            limit=limit,
            continue_token=continue_token,
            timeout=seconds,
        )
        listing = ListDecoder(self._decoder)
        items: _Items = []
        async with self._rest.stream(request, watch=False) as stream:
            with trio.CancelScope(deadline=stream.deadline) as patience:
                async for chunk in stream:
                    if paging is not None:
                        paging.received(len(chunk))
                    with self._naming_the_request(stream.redact):
                        items += listing.feed(chunk)
            if patience.cancelled_caught:
                raise DeadlineExceeded(f"the list did not end within {seconds:g} s [GET {self._path}]")
        return self._finished(listing, items, stream.redact)

    def paging(self, *, kept: bool = True) -> Paging:
        """The bounds of one list of this collection, over all its pages."""
        return Paging(self._rest.limits, f"GET {self._path}", kept=kept)

    def list_request(
        self,
        *,
        resource_version: str | None = None,
        resource_version_match: str | None = None,
        limit: int | None = None,
        continue_token: str | None = None,
        timeout: float | None = None,
    ) -> Request:
        """The request that :meth:`list` sends, for those who want the answer in another form."""
        asked = {
            "resourceVersion": resource_version,
            "resourceVersionMatch": resource_version_match,
            "limit": str(limit) if limit else None,
            "continue": continue_token,
        }
        params = self._params | {name: text for name, text in asked.items() if text}
        seconds = DEFAULT_LIST_TIMEOUT if timeout is None else timeout
        return Request(method="GET", path=self._path, params=params, timeout=seconds, obliging=self._obliging)

    async def read(self, answer: Answer) -> UnstructuredList:
        """The list in a whole answer to such a request, without holding the loop.

        Raises:
            ProtocolError: it is no list, or was cut short.
        """
        listing = ListDecoder(self._decoder)
        items: _Items = []
        for start in range(0, len(answer.body), _PIECE):
            with self._naming_the_request(answer.redact):
                items += listing.feed(answer.body[start : start + _PIECE])
            await trio.lowlevel.checkpoint()
        return self._finished(listing, items, answer.redact)

    def _finished(self, listing: ListDecoder, items: _Items, redact: Redactor) -> UnstructuredList:
        with self._naming_the_request(redact):
            last, envelope = listing.finish()
        items += last
        return UnstructuredList(
            self._well_formed(items),
            resource_version=envelope.resource_version,
            continue_token=envelope.continue_token,
            remaining_item_count=envelope.remaining_item_count,
            api_version=envelope.api_version,
            kind=envelope.kind,
        )

    @contextmanager
    def _naming_the_request(self, redact: Redactor) -> Iterator[None]:
        try:
            yield
        except APIError as exc:
            raise APIError.from_status(redact.status(exc.status), request=f"GET {self._path}") from None
        except ProtocolError as exc:
            redact.error(exc)
            raise ProtocolError(f"{exc} [GET {self._path}]") from exc

    def _well_formed(self, items: _Items) -> _Items:
        if all(item.name for item in items):
            return items
        if not any(item.name for item in items):  # leaving them all out would look as if nothing were there
            raise ProtocolError(f"none of the {len(items)} items of the list has a metadata.name [GET {self._path}]")
        for item in items:
            if not item.name:
                self.malformed += 1
                if self._on_malformed is not None:
                    self._on_malformed(item)
                elif self.malformed == 1:  # the same object comes with every list
                    _log.warning("an item without metadata.name was left out of a list [GET %s]: %r", self._path, item)
        return [item for item in items if item.name]

    def watch(
        self,
        *,
        resource_version: str = "",
        timeout_seconds: int | None = None,
        bookmarks: bool = True,
        send_initial_events: bool = False,
    ) -> AbstractAsyncContextManager[Batches]:
        """One watch request. Entering it waits for the server's yes, leaving it ends the request.

        No deadline applies once it is open: callers put their own cancel scope around each step. A step
        that was cancelled leaves the watch unusable; open another one from the last version seen.

        Args:
            resource_version: what was seen already; ``""`` begins with an Added for each present object.
            timeout_seconds: after how long the server is to end the watch.
            bookmarks: ask for :class:`~dynkube.meta.Bookmark` events (about one a minute).
            send_initial_events: begin with the present objects and mark their end by a bookmark with
                ``initial_events_end`` (KEP-3157); sends ``resourceVersionMatch=NotOlderThan`` with it.

        Returns:
            A context manager that gives batches: all events that one received chunk completes, never an
            empty list. The iteration ends when the server ends the watch cleanly.

        Raises:
            APIError: on entering, the server said no; later, an ERROR event came (its code is in the event).
            UnreadableEvent: a line is not JSON, has an unknown type, an object without name, or is too long.
            ConnectionLost: the connection broke, or the stream ended in the middle of a line.
            TransportError: on entering, no usable answer.

            What is raised while iterating comes after the events before it were handed out.
        """
        params = {**self._params, "watch": "true"}
        if bookmarks:
            params["allowWatchBookmarks"] = "true"
        if resource_version:
            params["resourceVersion"] = resource_version
        if send_initial_events:
            params["sendInitialEvents"] = "true"
            params["resourceVersionMatch"] = "NotOlderThan"
        if timeout_seconds is not None:
            params["timeoutSeconds"] = str(timeout_seconds)
        return self._open_watch(Request(method="GET", path=self._path, params=params, obliging=self._obliging))

    @asynccontextmanager
    async def _open_watch(self, request: Request) -> AsyncIterator[Batches]:
        async with self._rest.stream(request, watch=True) as stream:
            lines = LineSplitter(self._rest.limits.max_line_bytes, setting="Limits.max_line_bytes")
            yield Batches(stream, lines, self._decoder, f"GET {request.path}?watch")

    def __repr__(self) -> str:
        return f"<ListWatch {self._path} {self._params or ''}>"
