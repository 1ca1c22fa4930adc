"""Informer: what a user holds. It follows a shared cache, with handlers, a filter and indexes of one's own."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import trio

from dynkube._bound import Bound
from dynkube._display import Shown, printable
from dynkube._guard import repr_of
from dynkube.discovery import plain_failures
from dynkube.errors import ClosedError, InvalidInput, NoMatch
from dynkube.informers._crd_summary import PrinterColumn
from dynkube.informers._factory import InformerFactory
from dynkube.informers._filters import Filter, Predicate, as_filter
from dynkube.informers._handlers import EventStream, Handler, OnAdd, OnDelete, OnError, OnUpdate, Registration
from dynkube.informers._index import Index, IndexFunc, index_func
from dynkube.informers._namespaces import Surroundings
from dynkube.informers._reads import Selector
from dynkube.informers._settings import Consistency, ListSettings
from dynkube.informers._sharing import SharingKey
from dynkube.informers._states import Phase, State
from dynkube.informers._transform import Transform, drop_managed_fields
from dynkube.informers._waits import Waits
from dynkube.meta import (
    GVK,
    GVR,
    FieldSelector,
    LabelSelector,
    ResourceArg,
    a_type,
    resource_path,
)

if TYPE_CHECKING:
    from dynkube._display import Card

_ANYTHING: Final = GVR("", "v1", "pods")


class Informer(Bound, Waits, Shown):
    """A live, local copy of one collection, whether or not its resource exists.

    Made by :meth:`Client.informer`, which tells what the arguments mean. Making one does nothing;
    entering it (``async with``) starts following, and never waits for the cluster. Handlers, filters and
    indexes may be set before or after, and survive the resource's going and coming back.

    Reads (:meth:`list`, :meth:`get`, :meth:`by_index`, ``len()``, iteration, :attr:`state`, :meth:`statistics`)
    are plain calls for any thread: they never block, never raise for reasons of the cluster, take no lock, and each
    sees one version of the cache that was published whole, through one filter. Two reads after each other may see two
    versions, also on an index and its objects; in the event loop's thread they do not, as nothing is published
    between two checkpoints. All else belongs in the event loop's thread.
    """

    def __init__(
        self,
        factory: Callable[[], InformerFactory],
        resource: str | GVR | GVK,
        *,
        namespace: str | None = None,
        label_selector: Selector = None,
        field_selector: Selector = None,
        filter: Filter | Predicate | None = None,  # noqa: A002  # the word users know
        transform: Transform | None = drop_managed_fields,
        indexes: Mapping[str, str | IndexFunc] | None = None,
        page_size: int | None = None,
        consistency: Consistency | None = None,
        streaming_lists: bool | None = None,
    ) -> None:
        super().__init__(namespace or None)  # "" is client-go's word for all namespaces
        self._factory_of = factory
        self._resource = resource
        self._gvr = _complete(resource)
        if namespace:
            resource_path(_ANYTHING, namespace=namespace)  # refuses what cannot be one, here and not in a task
        self._label_selector = LabelSelector.parse(label_selector)
        self._field_selector = FieldSelector.parse(field_selector)
        self._transform = transform
        self._lists = ListSettings(page_size=page_size, consistency=consistency, streaming_lists=streaming_lists)
        self._entering: trio.Event | None = None
        self._closed = False
        self._surroundings = Surroundings(factory, self.notify_changed)
        self._view.filter = None if filter is None else as_filter(filter)
        if transform is not None and not callable(transform):
            raise InvalidInput(f"transform is {a_type(transform)}: pass a function of the object, or None")
        if not isinstance(indexes or {}, Mapping):
            raise InvalidInput(f"indexes is {a_type(indexes)}: pass {{name: function or JSONPath}}")
        for name, source in (indexes or {}).items():
            self._view.indexes[name] = self._new_index(name, source)

    # ── life ─────────────────────────────────────────────────────────────────────────────────

    async def __aenter__(self) -> Self:
        """Start following.

        Waits for the task that owns the cache, and for discovery where the resource is a short name (anything but
        RESOURCE.VERSION.GROUP). Cancelled, or failed, it leaves nothing behind.

        Raises:
            NoMatch: a short name that the server does not know.
            AmbiguousMatch: a short name that means several resources.
            DiscoveryFailed: a short name, and nobody could tell what it means.
            TransportError: a short name, and no usable answer.
            ClosedError: the client was not entered, or this informer was entered before.
        """
        self._check_unused()
        factory = self._factory_of()
        self._entering = self._entering or trio.Event()
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
            self._check_unused()  # somebody else may have entered or closed it meanwhile
        self._factory = factory
        key = SharingKey(
            self._gvr, self._namespace, self._label_selector, self._field_selector, self._transform, self._lists
        )
        self._shared = shared = factory.acquire(key)
        for subscriber in self._view.subscribers:
            if isinstance(subscriber, Registration):
                factory.start_handler(subscriber, key)
        try:
            self._view.set_filter(self._view.filter, self._surroundings)
            await shared.inbox.ask(partial(shared.attach, self._view))
            if shared.stopping:  # the client ended meanwhile, perhaps before the view was taken in
                self._view.end()
        except BaseException:  # cancelled, or a filter that cannot work: who enters no further leaves nothing behind
            self._let_go()
            raise

    async def _look_up(self, factory: InformerFactory) -> GVR:
        try:
            with plain_failures():
                return (await factory.mapper.resolve(self._resource)).gvr
        except NoMatch as exc:
            raise NoMatch(
                f"{exc}; to follow what is not installed yet, write RESOURCE.VERSION.GROUP, "
                "like httproutes.v1.gateway.networking.k8s.io"
            ) from None

    def _check_unused(self) -> None:
        if self._shared is not None or self._closed:
            raise ClosedError("this informer was entered before; make another one with client.informer(...)")

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # Shielded: if the block is cancelled, what it raises meanwhile must not be replaced by Cancelled.
        with trio.CancelScope(shield=True):
            await self.aclose()

    async def aclose(self) -> None:
        """Stop: handlers get nothing more. Some seconds after the last user left, the watch ends and the memory goes.

        An async handler that is at work is cancelled, and waited for. Safe to call twice. Cancelling stops the
        waiting alone: all of it ends just the same. For how long cache and watch go on: ``InformerSettings.linger``.
        """
        shared = self._shared
        registrations = self._let_go()
        if shared is not None and self._factory is not None and not self._factory.runs(shared):
            await shared.wait_ended()
        for registration in registrations:
            await registration.wait_ended()
        await trio.lowlevel.checkpoint()

    def _let_go(self) -> builtins.list[Registration]:
        """Close everything that can be closed without waiting; returns the handlers that are ending."""
        self._closed = True
        self._state = State(Phase.STOPPED, "Closed")
        self._end_entering()
        shared, self._shared = self._shared, None
        subscribers = (*self._view.subscribers, *self._view.joining)
        registrations = [s for s in subscribers if isinstance(s, Registration)]
        self._view.end()
        if shared is None or self._factory is None:
            return []
        for registration in registrations:
            registration.stop()
        shared.detach(self._view)
        self._view.close()
        self._factory.release(shared)
        shared.wake_waiters()  # those who wait on this informer; others may keep the shared one running
        return registrations

    @property
    def gvr(self) -> GVR | None:
        """The resource; ``None`` until a short name was looked up on entering."""
        return self._gvr

    @property
    def namespace(self) -> str | None:
        """The namespace it is limited to; ``None`` for all of them."""
        return self._namespace

    @property
    def printer_columns(self) -> tuple[PrinterColumn, ...]:
        """What the resource's CRD says that tables of its objects should show, besides names and ages.

        Empty where it says nothing, there is no CRD, or CRDs may not be read here. Follows the CRD.
        """
        if self._gvr is None or self._factory is None:
            return ()
        return self._factory.printer_columns(self._gvr)

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
        """Have functions called with what happens: ``on_add(obj)``, ``on_update(old, new)``, ``on_delete(obj)``.

        What the informer shows already comes as adds first, as with client-go's ``AddEventHandler``. Per object,
        events alternate legally and versions do not go backwards; if the handler is slower than the cluster, several
        changes of an object come as one. Does not block; may be called from a handler.

        Args:
            on_add: plain or async, as all of them. One with a parameter called ``initial`` is also given, by that name,
                whether the object belongs to the handler's initial list: ``def on_add(obj, *, initial)``. That is
                client-go's ``isInInitialList``; see :class:`Added` for what it is when a CRD comes back.
            on_update: gets the state shown last and the new one.
            on_delete: gets the state shown last, also where an object only left the filter.
            on_error: what to do if one raises: ``"log"`` it and go on, ``"cancel"`` the client with it, or
                a function of the error and the event.
            name: for logs and statistics; by default the function's.

        Returns:
            What waits for the handler to have synced, tells how it does, and takes it off.

        Raises:
            InvalidInput: no function was given, or something that is none.
            ClosedError: the informer is closed.
        """
        handler = Handler(on_add=on_add, on_update=on_update, on_delete=on_delete, on_error=on_error)
        registration = Registration(
            handler, name or handler.describe(), self._view.subscriber_settled, self._until_entered
        )
        self._subscribe(registration)
        if self._factory is not None and self._shared is not None:
            self._factory.start_handler(registration, self._shared.key)
        return registration

    @asynccontextmanager
    async def events(self) -> AsyncIterator[EventStream]:
        """What happens as an async iterator of :class:`Added`, :class:`Updated` and :class:`Deleted`.

        ::

            async with informer.events() as events:
                async for event in events: ...

        The same promises as for a handler. The iteration waits while nothing happens, and ends when the informer is
        closed; cancelled while it waits, it loses nothing, and may go on. Leaving the block takes the stream off.

        Raises:
            ClosedError: the informer was not entered, or is closed.
        """
        await self._until_entered()
        stream = EventStream(self._view.subscriber_settled)
        self._subscribe(stream)
        try:
            yield stream
        finally:
            stream.close()

    def _subscribe(self, subscriber: Registration | EventStream) -> None:
        self._check_open()
        if self._shared is None:
            self._view.subscribers.append(subscriber)
        else:
            self._view.joining.append(subscriber)
            self._shared.inbox.post(partial(self._shared.subscribe, self._view, subscriber))

    # ── filter and indexes ───────────────────────────────────────────────────────────────────

    @property
    def filter(self) -> Filter | None:
        """The filter, or ``None``."""
        return self._view.filter

    def set_filter(self, filter: Filter | Predicate | None) -> None:  # noqa: A002  # the word users know
        """Show other objects from now on.

        Reads follow at once. Each handler gets adds and deletes for exactly the difference, in order
        with everything else. Does not block; may be called from a handler. If the new filter cannot be taken, the
        one before stays.

        Args:
            filter: a :class:`Filter`, a function of the object, or ``None`` to show everything.

        Raises:
            InvalidInput: it is neither a filter, nor a function of the object, nor ``None``.
            ClosedError: the informer is closed.
        """
        self._check_open()
        new = None if filter is None else as_filter(filter)
        if self._shared is None:
            self._view.filter = new
        else:
            self._view.set_filter(new, self._surroundings)
            self.notify_changed()

    def notify_changed(self) -> None:
        """Say that the filter may answer differently now, as it looks at something outside the objects.

        Each handler gets adds and deletes for the difference. Does not block; may be called from a handler.
        """
        self._ask_round()

    def add_index(self, name: str, source: str | IndexFunc) -> None:
        """Add an index, or replace the one of that name. Does not block; it is complete at once.

        Args:
            name: what :meth:`by_index` will call it.
            source: a function from an object to the values it is found under, or a JSONPath whose matches
                are the values.

        Raises:
            InvalidInput: the name is no text, or the source neither a function nor a JSONPath that parses.
            ClosedError: the informer is closed.
        """
        self._check_open()
        index = self._new_index(name, source)
        self._view.indexes[name] = index
        if self._shared is not None:
            self._shared.inbox.post(partial(self._shared.build, index))

    def _new_index(self, name: str, source: str | IndexFunc) -> Index:
        if not isinstance(name, str):
            raise InvalidInput(f"the name of an index is {name!r}: write it as text")
        return Index(name, index_func(source), lambda exc, obj: self._report(f"index {name!r}", exc, obj))

    def _card(self, now: datetime) -> Card:
        from dynkube.informers._shown import Following, informer_card

        what = Following(
            resource=str(self._gvr or self._resource),
            namespace=self._namespace,
            selectors=(str(self._label_selector), str(self._field_selector)),
            filter="" if self.filter is None else repr_of(self.filter),
            indexes=tuple(self._view.indexes),
        )
        return informer_card(what, self.statistics(), self.list(), now)

    def __repr__(self) -> str:
        where = f" namespace={self._namespace}" if self._namespace else ""
        shown = f" filter={repr_of(self.filter)}" if self.filter is not None else ""
        return printable(
            f"<Informer {self._gvr or self._resource}{where} {self.state.phase} objects={len(self._snapshot)}{shown}>"
        )


def _complete(resource: str | GVR | GVK) -> GVR | None:
    """The GVR, if it can be told without asking a server: a plural with version and group."""
    if isinstance(resource, GVR):
        return resource
    if isinstance(resource, GVK):
        return None
    arg = ResourceArg.parse(resource)
    if arg.version is None or arg.name != arg.name.lower():
        return None
    return GVR(arg.group or "", arg.version, arg.name)
