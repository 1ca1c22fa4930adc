"""``Context``: what a reconcile in an asyncio loop reads and writes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

from dynkube import controllers as in_trio
from dynkube._portal.facade import Facade, at_once, in_loop, like
from dynkube.aio._call import in_trio as call_in_trio
from dynkube.aio._client import Client
from dynkube.aio._delegation import for_asyncio
from dynkube.controllers import ObjectKey

P = ParamSpec("P")
T = TypeVar("T")


def _verb(
    function: Callable[Concatenate[in_trio.Context, P], Coroutine[object, object, T]],
) -> Callable[[Callable[[Context], None]], Callable[Concatenate[Context, P], Coroutine[Any, Any, T]]]:
    """Make a method as ``awaiting`` does, which ends when its reconcile does, whatever the asyncio task does."""

    def made(stub: Callable[[Context], None]) -> Callable[Concatenate[Context, P], Coroutine[Any, Any, T]]:
        async def method(self: Context, /, *args: P.args, **kwargs: P.kwargs) -> T:
            __tracebackhide__ = True
            # A generator is code of the reconcile, which must not run in the trio thread.
            given: Any = [[*each] if isinstance(each, Iterator) else each for each in args]
            named: Any = {name: [*each] if isinstance(each, Iterator) else each for name, each in kwargs.items()}
            verb = partial(function, self._inner, *given, **named)
            return await call_in_trio(self._thread, self._inner._from_thread, verb)

        return like(function, stub, method, for_asyncio)

    return made


class Context(Facade[in_trio.Context]):
    """The caches that a reconcile reads, and the verbs with which it writes; passed to the reconcile function.

    Form of :class:`dynkube.controllers.Context` for asyncio, with the same guarantees. Reads are plain calls, which do
    not wait and send nothing. Writes are awaited in the event loop of the controllers.

    A context can be used only while its reconcile runs: later, all methods raise ClosedError. So they do once the
    reconcile was cancelled, by its deadline, a lost lease or the end of the controllers: its ``finally`` blocks run,
    and write nothing.
    """

    __slots__ = ("_clients",)

    def __init__(self, inner: in_trio.Context, clients: Mapping[str, Client]) -> None:
        super().__init__(inner, clients[inner.cluster]._thread)
        self._clients = clients

    @property
    def key(self) -> ObjectKey:
        """The key that is reconciled."""
        return self._inner.key

    @property
    def attempt(self) -> int:
        """1, and one more for each failure of the key since it last succeeded."""
        return self._inner.attempt

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that adds the controller, the key and the attempt."""
        return self._inner.log

    @property
    def cluster(self) -> str:
        """The name of the cluster whose object is reconciled; ``""`` if there is only one client."""
        return self._inner.cluster

    @property
    def client(self) -> Client:
        """The client of this cluster, for all that the context does not offer.

        Its calls are made in such ``finally`` blocks, too.
        """
        return self._clients[self._inner.cluster]

    @property
    def clients(self) -> Mapping[str, Client]:
        """The clients of all clusters, by name; what is written with those of others is not recorded."""
        return self._clients

    @property
    def state(self) -> Any:
        """The value of the lifespan of :func:`run`; ``None`` without one."""
        return self._inner.state

    # ── reads ────────────────────────────────────────────────────────────────────────────────

    @at_once(in_trio.Context.get, for_asyncio)
    def get(self) -> None: ...

    @at_once(in_trio.Context.list, for_asyncio)
    def list(self) -> None: ...

    @at_once(in_trio.Context.by_index, for_asyncio)
    def by_index(self) -> None: ...

    @at_once(in_trio.Context.owned, for_asyncio)
    def owned(self) -> None: ...

    # ── writes ───────────────────────────────────────────────────────────────────────────────

    @_verb(in_trio.Context.apply)
    def apply(self) -> None: ...

    @_verb(in_trio.Context.apply_owned)
    def apply_owned(self) -> None: ...

    @_verb(in_trio.Context.create)
    def create(self) -> None: ...

    @_verb(in_trio.Context.update)
    def update(self) -> None: ...

    @_verb(in_trio.Context.patch)
    def patch(self) -> None: ...

    @_verb(in_trio.Context.delete)
    def delete(self) -> None: ...

    @_verb(in_trio.Context.set_status)
    def set_status(self) -> None: ...

    @_verb(in_trio.Context.set_conditions)
    def set_conditions(self) -> None: ...

    @_verb(in_trio.Context.wrote)
    def wrote(self) -> None: ...

    @in_loop(in_trio.Context.event, for_asyncio)
    def event(self) -> None: ...
