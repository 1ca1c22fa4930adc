"""The client without await, and ``connect``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, ClassVar, Self, overload

import dynkube._client as aio
from dynkube._connect import connect as connect_async
from dynkube.client import APIClient as AsyncAPIClient
from dynkube.client import FieldSelectorLike, LabelSelectorLike, Resources
from dynkube.client import ResourceClient as AsyncResourceClient
from dynkube.config import ClientConfig
from dynkube.discovery import DeferredRESTMapper, ResourceLike, RESTMapper, completions
from dynkube.errors import ClosedError, DynkubeError
from dynkube.informers import Informer as AsyncInformer
from dynkube.manifests import ApplyRun as AsyncApplyRun
from dynkube.manifests import Report
from dynkube.meta import Unstructured
from dynkube.meta import UnstructuredTable as AsyncTable
from dynkube.sync._delegation import Facade, arguments_of, at_once, blocking, in_loop, overloaded, wrapping
from dynkube.sync._held import Held
from dynkube.sync._informer import Informer
from dynkube.sync._lists import Origin, UnstructuredTable
from dynkube.sync._manifests import carry_out
from dynkube.sync._resource import ResourceClient
from dynkube.sync._thread import Process, TrioThread

_PROCESS = Process()  # the one thing that a process has one of; it starts nothing before the first connect


class Client(Facade[aio.Client]):
    """One cluster: resources to read and write, informers to follow. Open as :func:`dynkube.sync.connect` gives it.

    Everything it starts ends with :meth:`close`, with the end of a ``with`` block around it, or with the process. It
    may be used from several threads. In a process that was forked from the one that opened it, it is closed: connect
    again.
    """

    __slots__ = ("_held", "_informers", "_origin")

    def __init__(self, inner: aio.Client, thread: TrioThread) -> None:
        super().__init__(inner, thread)
        self._informers: dict[Informer, None] = {}
        self._held = Held(thread, inner, self._read)
        self._origin = Origin(thread, self._start, inner.informer)
        self._held.open()

    def __repr__(self) -> str:
        return "<Client, closed>" if self._held.ended else super().__repr__()

    def __enter__(self) -> Self:
        __tracebackhide__ = True
        self._check_open()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        self.close()

    def close(self) -> None:
        """End everything it has started, its informers first. Safe to call twice.

        Raises:
            Exception: what a handler raised that was to end the client with it (``on_error="cancel"``).
        """
        __tracebackhide__ = True
        with ExitStack() as stack:  # what one of them raises keeps none from being closed
            stack.callback(self._held.close)
            while self._informers:
                stack.callback(self._informers.popitem()[0].close)

    # ── what it talks to ─────────────────────────────────────────────────────────────────────

    @property
    def config(self) -> ClientConfig:
        """Which cluster, and as whom."""
        return self._open.config

    @property
    def namespace(self) -> str:
        """The context's namespace: where single objects are looked for if a call names none."""
        return self._open.namespace

    @property
    def api(self) -> APIClient:
        """The verbs without informers, and requests of your own (``client.api.raw``)."""
        return APIClient(self._open.api, self._thread, Origin(self._thread, self._start))

    @property
    def mapper(self) -> Mapper:
        """What says which resource a name means."""
        return Mapper(self._open.mapper, self._thread)

    @blocking(aio.Client.server_version)
    def server_version(self) -> None: ...

    # ── short ways in ────────────────────────────────────────────────────────────────────────

    __iter__: ClassVar[None] = None
    __contains__: ClassVar[None] = None

    @wrapping(aio.Client.__getitem__)
    def __getitem__(self, inner: AsyncResourceClient) -> ResourceClient:
        return ResourceClient(inner, self._thread, self._origin)

    @property
    def resources(self) -> Resources[ResourceClient]:
        """The resources as attributes, for prompts that complete them: ``k.resources.deployments``.

        What of it is known is shown and completed without asking the server; :meth:`api_resources` asks.

        Raises:
            ClosedError: the client is closed.
        """
        self._check_open()
        return Resources(self.resource, self._known)

    @overload
    def get(
        self,
        resource: ResourceLike,
        name: None = None,
        *,
        namespace: str | None = None,
        label_selector: LabelSelectorLike = None,
        field_selector: FieldSelectorLike = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> UnstructuredTable: ...
    @overload
    def get(
        self,
        resource: ResourceLike,
        name: str,
        *,
        namespace: str | None = None,
        timeout: float | None = None,
    ) -> Unstructured: ...
    @overloaded(aio.Client.get)
    def get(self, found: Unstructured | AsyncTable, given: Mapping[str, Any]) -> Unstructured | UnstructuredTable:
        if isinstance(found, AsyncTable):
            return UnstructuredTable.of(found, self.resource(given["resource"])._follow(given))
        return found

    @blocking(aio.Client.api_resources)
    def api_resources(self) -> None: ...

    @blocking(aio.Client.whoami)
    def whoami(self) -> None: ...

    @blocking(aio.Client.can)
    def can(self) -> None: ...

    # ── what it does ─────────────────────────────────────────────────────────────────────────

    @wrapping(aio.Client.resource)
    def resource(self, inner: AsyncResourceClient) -> ResourceClient:
        return ResourceClient(inner, self._thread, self._origin)

    @wrapping(aio.Client.informer)
    def informer(self, inner: AsyncInformer) -> Informer:
        """A live, local copy of a collection, whether or not its resource exists; followed from now on.

        While no CRD defines the resource, reads are empty; when one appears the informer lists and follows the objects,
        and handlers hear of them; when it goes, of their deletion. It ends with :meth:`Informer.close`, with the
        client, or with the process. Informers share one watch where all arguments but ``filter`` and
        ``indexes`` are equal.
        """
        __tracebackhide__ = True
        informer = Informer(inner, self._thread, self._forget)
        self._informers[informer] = None
        return informer

    @wrapping(aio.Client.apply_all)
    def apply_all(self, inner: AsyncApplyRun) -> Report:
        """Server-side apply of many objects: ``report = k.apply_all("manifests/")``. See the async one for its order.

        Returns when all is done. What goes wrong with single objects is in the report and not raised. Interrupted, what
        was done by then is a note of the exception. ``on_entry`` is called in the trio thread: it may not use ``k``.
        """
        __tracebackhide__ = True
        return carry_out(self._thread, inner)

    @blocking(aio.Client.diff_all)
    def diff_all(self) -> None: ...

    # ── how it is doing ──────────────────────────────────────────────────────────────────────

    @at_once(aio.Client.informers)
    def informers(self) -> None: ...

    @at_once(aio.Client.statistics)
    def statistics(self) -> None: ...

    def _ipython_key_completions_(self) -> list[str]:
        """The names that fit after ``k["``: what is known of the server by now, without asking it."""
        known = self._known()
        return [] if known is None else completions(known.discovery)

    def _known(self) -> RESTMapper | None:
        try:
            return self._open.mapper.loaded
        except ClosedError:
            return None

    async def _read(self) -> None:
        # Every verb needs it, and would begin with it: whichever comes first, the other one waits for the same answer.
        with suppress(DynkubeError):  # nobody has asked for this: whoever wants a resource will hear of it
            await self._inner.mapper.load()

    @property
    def _open(self) -> aio.Client:
        self._check_open()
        return self._inner

    def _check_open(self) -> None:
        if self._held.ended:
            self._inner._check_not_ended()
            raise ClosedError("this client is closed: make another one with dynkube.sync.connect(...)")

    def _start(self, function: Callable[[], Awaitable[None]]) -> None:
        self._check_open()
        self._held.start(function)

    def _forget(self, informer: Informer) -> None:
        self._informers.pop(informer, None)


class APIClient(Facade[AsyncAPIClient]):
    """Reads and writes objects of any type, without informers; see :class:`dynkube.client.APIClient`."""

    __slots__ = ("_origin",)

    def __init__(self, inner: AsyncAPIClient, thread: TrioThread, origin: Origin) -> None:
        super().__init__(inner, thread)
        self._origin = origin

    @property
    def namespace(self) -> str:
        """Where single objects are looked for if a call names no namespace."""
        return self._inner.namespace

    @property
    def field_manager(self) -> str:
        """Who is recorded as owner of written fields if a call does not say."""
        return self._inner.field_manager

    @property
    def mapper(self) -> Mapper:
        """What says which resource a name means."""
        return Mapper(self._inner.mapper, self._thread)

    @blocking(AsyncAPIClient.raw)
    def raw(self) -> None: ...

    @blocking(AsyncAPIClient.server_version)
    def server_version(self) -> None: ...

    @wrapping(AsyncAPIClient.resource)
    def resource(self, inner: AsyncResourceClient) -> ResourceClient:
        return ResourceClient(inner, self._thread, self._origin)


class Mapper(Facade[DeferredRESTMapper]):
    """What says which resource a name means, with the newest knowledge that is needed."""

    __slots__ = ()

    @blocking(DeferredRESTMapper.load)
    def load(self) -> None: ...

    @blocking(DeferredRESTMapper.resolve)
    def resolve(self) -> None: ...

    @in_loop(DeferredRESTMapper.invalidate)
    def invalidate(self) -> None: ...

    @in_loop(DeferredRESTMapper.statistics)
    def statistics(self) -> None: ...

    @property
    def loaded(self) -> RESTMapper | None:
        """The mapper as last read, perhaps out of date by now; ``None`` before the first load."""
        return self._inner.loaded


@arguments_of(connect_async)
def connect(inner: aio.Client) -> Client:
    """A client for one cluster, open at once: ``k = dynkube.sync.connect()``.

    Without arguments: the cluster that kubectl would use, or, inside a pod, the one the pod runs in. It is open until
    :meth:`Client.close`, the end of a ``with`` block around it, or the end of the process.
    """
    __tracebackhide__ = True
    return Client(inner, _PROCESS.thread())
