"""List and watch one collection; responses are decoded while they arrive.

This is the hot path under informers and verbs. A :class:`ListWatch` does not remember a resourceVersion and does not
retry after errors; its callers do.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from copy import copy
from typing import Final, TypeAlias

import trio

from dynkube._logs import get_logger
from dynkube.client._batches import Batches
from dynkube.client._list_limits import Paging
from dynkube.errors import APIError, DeadlineExceeded, ProtocolError
from dynkube.meta import GVR, FieldSelector, HashShard, LabelSelector, Unstructured, UnstructuredList
from dynkube.meta._path import resource_path
from dynkube.meta._wire.lists import ListDecoder
from dynkube.meta._wire.metadata_only import ACCEPT, ACCEPT_LIST
from dynkube.meta._wire.objects import ObjectDecoder
from dynkube.rest import Answer
from dynkube.rest._client import RESTClient
from dynkube.rest._lines import LineSplitter
from dynkube.rest._messages import Request
from dynkube.rest._redaction import Redactor
from dynkube.telemetry import Collection

_log = get_logger("dynkube.client")

# An alias, as in the class body the name list means the method ListWatch.list.
_Items: TypeAlias = list[Unstructured]

_PIECE: Final = 1 << 18  # bytes of a list decoded per step
DEFAULT_LIST_TIMEOUT: Final = 75.0
"""Seconds for one list: a little more than kube-apiserver's own limit of 60 s (``--request-timeout``)."""


class ListWatch:
    """Lists and watches one collection.

    A collection is the objects of a resource, in one namespace or in all, restricted by selectors.

    Args:
        rest: sends the requests.
        gvr: the resource.
        namespace: ``None`` means all namespaces; must be ``None`` for cluster-scoped resources.
        label_selector: restrict by labels; evaluated by the server.
        field_selector: restrict by fields; evaluated by the server.
        shard: restrict by a hash; evaluated by servers that support it (KEP-5866), and here, as others ignore it: other
            objects are not listed, and count as deleted in watches.
        decoder: decodes objects; pass one to drop managedFields or to limit the size of decoded bodies. If it reads
            only metadata, only metadata is requested.
        honor_retry_after: retry requests when the server asks for it (Retry-After); see :class:`~dynkube.rest.Request`.
        on_malformed: called with each listed item without ``metadata.name``, which is skipped; by default a warning
            is logged. ``malformed`` counts them.
    """

    __slots__ = (
        "_decoder",
        "_obliging",
        "_on_malformed",
        "_params",
        "_path",
        "_rest",
        "_shard",
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
        shard: HashShard | None = None,
        decoder: ObjectDecoder | None = None,
        honor_retry_after: bool = True,
        on_malformed: Callable[[Unstructured], None] | None = None,
    ) -> None:
        self._rest = rest
        self._path = resource_path(gvr, namespace=namespace)
        self._params: dict[str, str] = {}
        if not label_selector.empty:
            self._params["labelSelector"] = str(label_selector)
        if not field_selector.empty:
            self._params["fieldSelector"] = str(field_selector)
        if shard is not None:
            self._params["shardSelector"] = str(shard)
        self._shard = shard
        self._decoder = decoder or ObjectDecoder()
        self._obliging = honor_retry_after
        self._on_malformed = on_malformed
        self.gvr: GVR = gvr
        self.namespace: str | None = namespace
        self.malformed: int = 0

    @property
    def collection(self) -> Collection:
        """The collection, as observers get it."""
        return Collection(
            gvr=self.gvr,
            namespace=self.namespace,
            label_selector=self._params.get("labelSelector", ""),
            field_selector=self._params.get("fieldSelector", ""),
            shard=self._shard,
            metadata_only=self._decoder.metadata_only,
        )

    def pacing_itself(self) -> ListWatch:
        """Return a copy that ignores Retry-After, for callers with their own backoff."""
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
        """Send one list request; objects are decoded while the response arrives.

        Args:
            resource_version: ``None`` or ``""`` for the most recent state, ``"0"`` for any cached state, else the
                minimum resourceVersion (API concepts, "resourceVersion parameter").
            resource_version_match: ``"NotOlderThan"`` or ``"Exact"``.
            limit: maximum number of objects; the result's ``continue_token`` is for the next page.
            continue_token: from the page before. The server rejects it together with ``resource_version``.
            timeout: seconds for the whole call, including retries, but excluding an exec plugin that may prompt a user
                at a terminal; ``None`` means 75.
            paging: limits of the list that this page belongs to; the bytes of the page are added to its count.

        Returns:
            The objects in the server's order, with the list's own metadata.

        Raises:
            APIError: an error response; :class:`~dynkube.errors.Gone` for an expired token or resourceVersion.
            ProtocolError: the response is not a list, or was truncated; no partial result is returned.
            EndlessList: a limit of ``paging`` was exceeded.
            ConnectionLost: the connection broke.
            DeadlineExceeded: not complete in time.
            TransportError: the server could not be reached.
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
                        items += self._kept(listing.feed(chunk), paging)
            if patience.cancelled_caught:
                raise DeadlineExceeded(f"the list did not end within {seconds:g} s [GET {self._path}]")
        return self._finished(listing, items, stream.redact, paging)

    def paging(self, *, kept: bool = True) -> Paging:
        """Return the limits of one list of this collection, over all its pages."""
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
        """Return the request that :meth:`list` sends, for callers that send it themselves."""
        asked = {
            "resourceVersion": resource_version,
            "resourceVersionMatch": resource_version_match,
            "limit": str(limit) if limit else None,
            "continue": continue_token,
        }
        params = self._params | {name: text for name, text in asked.items() if text}
        seconds = DEFAULT_LIST_TIMEOUT if timeout is None else timeout
        return Request(
            method="GET",
            path=self._path,
            params=params,
            accept=ACCEPT_LIST if self._decoder.metadata_only else "application/json",
            timeout=seconds,
            honor_retry_after=self._obliging,
        )

    async def read(self, answer: Answer) -> UnstructuredList:
        """Decode a complete response to :meth:`list_request`, with checkpoints in between.

        Raises:
            ProtocolError: the response is not a list, or was truncated.
        """
        listing = ListDecoder(self._decoder)
        items: _Items = []
        for start in range(0, len(answer.body), _PIECE):
            with self._naming_the_request(answer.redact):
                items += self._kept(listing.feed(answer.body[start : start + _PIECE]))
            await trio.lowlevel.checkpoint()
        return self._finished(listing, items, answer.redact)

    def _finished(
        self, listing: ListDecoder, items: _Items, redact: Redactor, paging: Paging | None = None
    ) -> UnstructuredList:
        with self._naming_the_request(redact):
            last, envelope = listing.finish()
            items += self._kept(last, paging)
        return UnstructuredList(
            self._well_formed(items),
            resource_version=envelope.resource_version,
            continue_token=envelope.continue_token,
            remaining_item_count=envelope.remaining_item_count,
            api_version=envelope.api_version,
            kind=envelope.kind,
        )

    def _kept(self, items: _Items, paging: Paging | None = None) -> _Items:
        """Return the listed objects that are in the shard.

        Raises:
            ProtocolError: an object is not in the namespace that was listed.
        """
        namespace, shard = self.namespace, self._shard
        if namespace is not None:
            for obj in items:
                if obj.namespace != namespace and obj.name:
                    raise ProtocolError(f"the list of namespace {namespace!r} contains {obj!r}")
        if shard is None:
            return items
        kept = [obj for obj in items if shard.matches(obj)]
        if paging is not None:
            paging.dropped(len(items) - len(kept))
        return kept

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
        if not any(item.name for item in items):  # skipping all of them would look like an empty collection
            raise ProtocolError(f"none of the {len(items)} items of the list has a metadata.name [GET {self._path}]")
        for item in items:
            if not item.name:
                self.malformed += 1
                if self._on_malformed is not None:
                    self._on_malformed(item)
                elif self.malformed == 1:  # warn once, as the same object is in every list
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
        """Send one watch request.

        Entering the context manager waits for the response's headers, leaving it closes the request. No deadline
        applies once the watch is open: callers use their own cancel scope for each step. After a step was cancelled the
        watch cannot be used any more; open another one from the last resourceVersion seen.

        Args:
            resource_version: start after this one; ``""`` starts with an Added for each existing object.
            timeout_seconds: time after which the server shall end the watch.
            bookmarks: request :class:`~dynkube.meta.Bookmark` events (about one a minute).
            send_initial_events: start with the existing objects, followed by a bookmark with
                ``initial_events_end`` (KEP-3157); also sends ``resourceVersionMatch=NotOlderThan``.

        Returns:
            A context manager that gives batches: all events completed by one received chunk, never an
            empty list. The iteration ends when the server ends the watch cleanly.

        Raises:
            APIError: on entering, an error response; later, an ERROR event (with the code of the event).
            UnreadableEvent: a line is not JSON, has an unknown type, an object without name, or is too long.
            ConnectionLost: the connection broke, or the stream ended in the middle of a line.
            TransportError: on entering, no usable response.

            Errors during the iteration are raised after all events received before them were returned.
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
        accept = ACCEPT if self._decoder.metadata_only else "application/json"
        return self._open_watch(
            Request(method="GET", path=self._path, params=params, accept=accept, honor_retry_after=self._obliging)
        )

    @asynccontextmanager
    async def _open_watch(self, request: Request) -> AsyncIterator[Batches]:
        async with self._rest.stream(request, watch=True) as stream:
            lines = LineSplitter(self._rest.limits.max_line_bytes, setting="Limits.max_line_bytes")
            yield Batches(
                stream,
                lines,
                self._decoder,
                f"GET {request.path}?watch",
                namespace=self.namespace,
                shard=self._shard,
            )

    def __repr__(self) -> str:
        return f"<ListWatch {self._path} {self._params or ''}>"
