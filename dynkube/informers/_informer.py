"""``Informer``, the public class: its handlers, filter and indexes.

Informers of the same collection share one cache and its watch.
"""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self

import trio

from dynkube._bound import Bound
from dynkube._displayable import Displayable
from dynkube._guard import repr_of
from dynkube._text.tables import printable
from dynkube.discovery._failures import plain_failures
from dynkube.discovery._lookup import complete_gvr, gvr_to_follow
from dynkube.errors import ClosedError, InvalidInput, NoMatch
from dynkube.informers._availability.crd_summary import PrinterColumn
from dynkube.informers._cache.index import Index, IndexFunc, index_func
from dynkube.informers._cache.key import SharingKey
from dynkube.informers._cache.transform import Transform, drop_managed_fields
from dynkube.informers._factory import InformerFactory
from dynkube.informers._filter_context import Surroundings
from dynkube.informers._filters.filters import Filter, Predicate, as_filter
from dynkube.informers._namespace_set import Namespaces, as_namespaces, check_namespace, namespaces_text
from dynkube.informers._reads import Selector
from dynkube.informers._settings import Consistency, Overrides
from dynkube.informers._states import Phase, State
from dynkube.informers._statistics import NamespaceStatus
from dynkube.informers._views.event_stream import EventQueue, EventStream
from dynkube.informers._views.handlers import (
    Handler,
    HandlerTask,
    OnAdd,
    OnDelete,
    OnError,
    OnUpdate,
    Registration,
)
from dynkube.informers._waits import Waits
from dynkube.meta import GVK, GVR, FieldSelector, HashShard, LabelSelector
from dynkube.meta._arguments import a_type


class Informer(Bound, Waits, Displayable):
    """A live, local copy of one collection, whether or not its resource exists.

    Created by :meth:`Client.informer`, which documents the arguments. Creating one does nothing; entering it
    (``async with``) starts the list and watch, without waiting for the initial sync. Handlers, filters and indexes
    may be set before or after that, and are kept while the resource is removed and installed again.

    Reads (:meth:`list`, :meth:`get`, :meth:`by_index`, ``len()``, iteration, :attr:`state`, :meth:`statistics`)
    are synchronous and may be called from any thread. They never block, take no lock, and never raise because of the
    cluster's state. Each read uses one consistent version of the cache and one filter. Two consecutive reads may use
    different versions, for example an index lookup and a read of the objects found. In the event loop's thread they use
    the same version, unless there is a checkpoint between them. Everything else must be called in the event loop's
    thread.
    """

    # With instance dicts, an absent informer takes half a KB more, once instances have stopped to share their keys.
    __slots__ = (
        "__weakref__",
        "_factory_of",
        "_field_selector",
        "_gvr",
        "_label_selector",
        "_metadata_only",
        "_namespaces",
        "_overrides",
        "_resource",
        "_shard",
        "_surroundings",
        "_transform",
    )

    def __init__(
        self,
        factory: Callable[[], InformerFactory],
        resource: str | GVR | GVK,
        *,
        namespace: str | None = None,
        namespaces: Namespaces | None = None,
        label_selector: Selector = None,
        field_selector: Selector = None,
        shard: HashShard | None = None,
        filter: Filter | Predicate | None = None,  # noqa: A002  # the word users know
        transform: Transform | None = drop_managed_fields,
        indexes: Mapping[str, str | IndexFunc] | None = None,
        page_size: int | None = None,
        consistency: Consistency | None = None,
        streaming_lists: bool | None = None,
        compact: bool | None = None,
        metadata_only: bool = False,
    ) -> None:
        check_namespace(namespace)  # here rather than in a task
        super().__init__(namespace or None)  # "" means all namespaces, as in client-go
        self._factory_of = factory
        self._resource = resource
        self._gvr = complete_gvr(resource)
        self._namespaces = None if namespaces is None else as_namespaces(namespaces)
        if namespace and namespaces is not None:
            raise InvalidInput(f"namespace={namespace!r} and namespaces= exclude each other: pass one of them")
        self._label_selector = LabelSelector.parse(label_selector)
        self._field_selector = FieldSelector.parse(field_selector)
        if shard is not None and not isinstance(shard, HashShard):
            raise InvalidInput(f"shard is {a_type(shard)}: pass HashShard(index, count), or None")
        self._shard = shard
        self._transform = transform
        self._overrides = Overrides(
            page_size=page_size, consistency=consistency, streaming_lists=streaming_lists, compact=compact
        )
        self._entering: trio.Event | None = None
        self._closed = False
        if not isinstance(metadata_only, bool):
            raise InvalidInput(f"metadata_only must be True or False, not {metadata_only!r}")
        self._metadata_only = metadata_only
        self._surroundings = Surroundings(factory, self.refresh_filter, metadata_only=metadata_only)
        self._view.filter = None if filter is None else as_filter(filter)
        if transform is not None and not callable(transform):
            raise InvalidInput(f"transform is {a_type(transform)}: pass a function of the object, or None")
        if not isinstance(indexes or {}, Mapping):
            raise InvalidInput(f"indexes is {a_type(indexes)}: pass {{name: function or JSONPath}}")
        for name, source in (indexes or {}).items():
            self._view.indexes[name] = self._new_index(name, source)

    # ── life ─────────────────────────────────────────────────────────────────────────────────

    async def __aenter__(self) -> Self:
        """Start listing and watching.

        Waits until this informer is attached to the shared cache. Also waits for discovery, unless the resource was
        given as RESOURCE.VERSION.GROUP or a GVR. Does not wait for the initial sync. If entering is cancelled or
        raises, nothing is left running.

        Raises:
            NoMatch: discovery was needed, and the server does not serve such a resource. Not for RESOURCE.GROUP, which
                may be installed later.
            AmbiguousMatch: the name matches several resources.
            DiscoveryFailed: the name could not be resolved because discovery failed.
            TransportError: discovery was needed and got no usable response.
            ClosedError: the client was not entered, this informer was entered before, or another task is entering it.
        """
        self._check_never_entered()
        factory = self._factory_of()
        self._entering = trio.Event()
        try:
            await self._enter(factory)
        finally:
            self._end_entering()
        return self

    def _end_entering(self) -> None:
        entering, self._entering = self._entering, None
        if entering is not None:
            entering.set()

    async def _enter(self, factory: InformerFactory) -> None:
        if self._gvr is None:
            self._gvr = await self._look_up(factory)
            self._check_unused()  # another task may have closed it during discovery
        gvr = replace(self._gvr, version="") if gvr_to_follow(self._resource) else self._gvr
        self._factory = factory
        key = SharingKey(
            gvr,
            self._namespace,
            self._namespaces,
            self._label_selector,
            self._field_selector,
            self._transform,
            self._overrides,
            self._shard,
            self._metadata_only,
        )
        self._shared = shared = factory.acquire(key)
        for subscriber in self._view.subscribers:
            if isinstance(subscriber, HandlerTask):
                factory.start_handler(subscriber, key)
        try:
            self._view.set_filter(self._view.filter, self._surroundings)
            await shared.inbox.ask(partial(shared.attach, self._view))
            if shared.stopping:  # the client was closed meanwhile, perhaps before the view was attached
                self._view.end()
        except BaseException:  # cancelled, or binding the filter raised: __aexit__ will not run, so clean up here
            self._let_go()
            raise

    async def _look_up(self, factory: InformerFactory) -> GVR:
        try:
            with plain_failures():
                return (await factory.mapper.resolve(self._resource)).gvr
        except NoMatch as exc:
            if followed := gvr_to_follow(self._resource):
                return followed
            raise NoMatch(
                f"{exc}; to follow a resource that is not installed yet, pass RESOURCE.VERSION.GROUP, "
                "like httproutes.v1.gateway.networking.k8s.io"
            ) from None

    def _check_never_entered(self) -> None:
        """Raise ClosedError if the informer was entered, is being entered, or is closed."""
        self._check_unused()
        if self._entering is not None:
            raise ClosedError("another task is entering this informer; create one for each with client.informer(...)")

    def _check_unused(self) -> None:
        if self._shared is not None or self._closed:
            raise ClosedError("this informer was entered before; create another one with client.informer(...)")

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Shielded: if the block is cancelled, its exception must not be replaced by Cancelled.
        with trio.CancelScope(shield=True):
            await self.aclose()

    async def aclose(self) -> None:
        """Close the informer: no handler is called any more.

        An async handler that is running is cancelled and waited for. The shared cache and its watch are kept for
        ``InformerSettings.linger`` seconds after their last informer was closed; then the watch ends and the memory is
        freed. Safe to call twice. If the call is cancelled, it stops waiting for handlers, but everything is closed.
        """
        shared = self._shared
        handlers, release = self._let_go()
        if shared is not None and self._factory is not None:
            with trio.CancelScope(shield=True):  # takes as long as the indexes need, and waits for nothing
                await shared.slices.run(release)
            if not self._factory.runs(shared):
                await shared.wait_ended()
        for handler in handlers:
            await handler.wait_ended()
        await trio.lowlevel.checkpoint()

    def _let_go(self) -> tuple[builtins.list[HandlerTask], Iterator[None]]:
        """Close everything without waiting.

        Returns:
            The handlers whose tasks are ending, and an iterator that frees the indexes in short steps.
        """
        self._closed = True
        self._state = State(Phase.STOPPED, "Closed")
        self._end_entering()
        shared, self._shared = self._shared, None
        subscribers = (*self._view.subscribers, *self._view.joining)
        handlers = [s for s in subscribers if isinstance(s, HandlerTask)]
        self._view.end()
        if shared is None or self._factory is None:
            return [], iter(())
        for handler in handlers:
            handler.stop()
        shared.detach(self._view)
        release = self._view.close()
        self._factory.release(shared)
        shared.wake_waiters()  # wakes tasks that wait on this informer; others may keep the shared cache open
        return handlers, release

    @property
    def gvr(self) -> GVR | None:
        """The resource; ``None`` before entering if its name needs discovery.

        If it was given as RESOURCE.GROUP, its version is the one that is listed and watched, or was last; ``""`` while
        none is known.
        """
        shared = self._shared
        return shared.gvr if shared is not None and shared.gvr.version else self._gvr

    @property
    def namespace(self) -> str | None:
        """The namespace that is watched; ``None`` for all namespaces, or a set."""
        return self._namespace

    @property
    def namespaces(self) -> Mapping[str, NamespaceStatus]:
        """The status of each namespace of the set that was passed as ``namespaces=``, by name.

        Empty without such a set, before entering, and while the resource is absent or the set is not known.
        """
        parts = self._shared.namespaces if self._shared is not None else None
        return {} if parts is None else parts.statuses()

    @property
    def printer_columns(self) -> tuple[PrinterColumn, ...]:
        """The ``additionalPrinterColumns`` of the resource's CRD, kept up to date.

        Empty if the CRD declares none, if no CRD defines the resource, or if the client may not read CRDs. With
        ``metadata_only`` only those that show metadata.
        """
        gvr = self.gvr
        columns = () if gvr is None or self._factory is None else self._factory.printer_columns(gvr)
        if not self._metadata_only:
            return columns
        return tuple(column for column in columns if column.json_path.startswith(".metadata."))

    # ── handlers and events ──────────────────────────────────────────────────────────────────

    def add_handler(
        self,
        *,
        on_add: OnAdd | None = None,
        on_update: OnUpdate | None = None,
        on_delete: OnDelete | None = None,
        on_error: OnError = "log",
        name: str = "",
    ) -> Registration:
        """Register functions to be called when objects change.

        The functions are ``on_add(obj)``, ``on_update(old, new)`` and ``on_delete(obj)``; at least one of them is
        needed. The objects that pass the informer's filter now are delivered as adds first, as with client-go's
        ``AddEventHandler``. The events of one object always come in the order add, updates, delete, and its versions
        never go backwards. If the handler is slower than the cluster, several changes of an object are coalesced into
        one event. Events are delivered one at a time. Does not block; may be called from a handler.

        Args:
            on_add: called with the object; a plain or async function, like the other two. If it has a parameter named
                ``initial`` (``def on_add(obj, *, initial)``), this is passed by keyword: whether the object belongs to
                the handler's initial list (client-go's ``isInInitialList``). See :class:`Added` for the value when a
                CRD is installed again.
            on_update: called with the object as last delivered, and as it is now.
            on_delete: called with the object as last delivered, also when it still exists but stopped matching the
                filter.
            on_error: the action when one of these functions raises: ``"log"`` logs the exception and continues,
                ``"cancel"`` raises it in the client, which ends the client, and a plain function is called with the
                exception and the event.
            name: for logs and statistics; by default the name of the function.

        Returns:
            The registration, to wait for the handler's initial sync, read its statistics, or remove it.

        Raises:
            InvalidInput: no function was given, or an argument is not a function.
            ClosedError: the informer is closed.
        """
        handler = Handler(on_add=on_add, on_update=on_update, on_delete=on_delete, on_error=on_error)
        task = HandlerTask(handler, name or handler.describe(), self._view.subscriber_settled, self._until_entered)
        self._subscribe(task)
        if self._factory is not None and self._shared is not None:
            self._factory.start_handler(task, self._shared.key)
        return Registration(task)

    @asynccontextmanager
    async def events(self) -> AsyncIterator[EventStream]:
        """Iterate over changes: ``Added``, ``Updated`` and ``Deleted`` events.

        ::

            async with informer.events() as events:
                async for event in events: ...

        The objects that pass the informer's filter now come as ``Added`` first. The events of one object always come in
        the order added, updated, deleted; its versions never go backwards; and changes are coalesced while the consumer
        is busy. The iteration waits for changes, and ends when the informer is closed. If it is cancelled while it
        waits, no event is lost and it can be resumed. Leaving the block ends the stream.

        Raises:
            ClosedError: the informer was not entered, or is closed.
        """
        await self._until_entered()
        queue = EventQueue(self._view.subscriber_settled)
        self._subscribe(queue)
        stream = EventStream(queue)
        try:
            yield stream
        finally:
            stream.close()

    def _subscribe(self, subscriber: HandlerTask | EventQueue) -> None:
        self._check_open()
        if self._shared is None:
            self._view.subscribers.append(subscriber)
        else:
            self._view.joining.append(subscriber)
            self._shared.inbox.post(partial(self._shared.subscribe, self._view, subscriber))

    # ── filter and indexes ───────────────────────────────────────────────────────────────────

    @property
    def filter(self) -> Filter | None:
        """The current filter; ``None`` if all objects are shown."""
        return self._view.filter

    def set_filter(self, filter: Filter | Predicate | None) -> None:  # noqa: A002  # the word users know
        """Replace the filter.

        Reads use the new filter at once. Each handler gets an add for each object that the new filter shows and the old
        one did not, and a delete in the opposite case, in order with its other events. Does not block; may be called
        from a handler. If this method raises, the previous filter stays.

        Args:
            filter: a :class:`Filter`, a function of the object, or ``None`` to show everything.

        Raises:
            InvalidInput: ``filter`` is neither a filter nor a function nor ``None``.
            ClosedError: the informer is closed.
        """
        self._check_open()
        new = None if filter is None else as_filter(filter)
        if self._shared is None:
            self._view.filter = new
        else:
            self._view.set_filter(new, self._surroundings)
            self.refresh_filter()

    async def _hide_everything(self, nothing: Predicate) -> None:
        """Set a filter that shows nothing, and wait until all deletions are pending; unless the informer is closed."""
        shared = self._shared
        if shared is not None and shared.state.phase is not Phase.STOPPED:
            self.set_filter(nothing)
            await shared.inbox.ask(trio.lowlevel.checkpoint)  # after the round that set_filter has requested

    def refresh_filter(self) -> None:
        """Evaluate the filter again.

        Needed when the filter depends on something outside the objects, and that has changed. Each handler gets adds
        and deletes for the difference. Does not block; may be called from a handler.
        """
        self._request_round()

    def add_index(self, name: str, source: str | IndexFunc) -> None:
        """Add an index, or replace the one of that name.

        Does not block. Lookups are complete at once; until the index is built they scan the cache.

        Args:
            name: the name to pass to :meth:`by_index`.
            source: a function that returns the index values of an object (client-go's ``IndexFunc``), or a JSONPath
                whose matches are the values.

        Raises:
            InvalidInput: the name is not a string, or the source is neither a function nor a valid JSONPath.
            ClosedError: the informer is closed.
        """
        self._check_open()
        index = self._new_index(name, source)
        self._view.indexes[name] = index
        if self._shared is not None:
            self._shared.inbox.post(partial(self._shared.build, index))

    def _new_index(self, name: str, source: str | IndexFunc) -> Index:
        if not isinstance(name, str):
            raise InvalidInput(f"the name of an index is {name!r}: pass a string")
        func = index_func(source, metadata_only=self._metadata_only)
        return Index(func, lambda exc, obj: self._report(f"index {name!r}", exc, obj))

    def __repr__(self) -> str:
        where = f" namespace={self._namespace}" if self._namespace else ""
        if self._namespaces is not None:
            where = f" in {namespaces_text(self._namespaces)}"
        shown = f" filter={repr_of(self.filter)}" if self.filter is not None else ""
        return printable(
            f"<Informer {self._gvr or self._resource}{where} {self.state.phase} objects={len(self._snapshot)}{shown}>"
        )
