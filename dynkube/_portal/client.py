"""What the clients of all threads have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import ClassVar

import dynkube._client
from dynkube._portal.facade import Facade, at_once, in_loop
from dynkube.config import ClientConfig
from dynkube.discovery import DeferredRESTMapper, RESTMapper
from dynkube.discovery._listing import completions
from dynkube.errors import ClosedError


class ClientFacade(Facade[dynkube._client.Client]):
    """A client for one cluster."""

    __slots__ = ()

    @abstractmethod
    def _check_open(self) -> None:
        """Raise ClosedError if the client is not open."""

    @property
    def config(self) -> ClientConfig:
        """Address, TLS settings and credentials of the cluster."""
        return self._open.config

    @property
    def namespace(self) -> str:
        """The context's namespace: the default for calls on single objects."""
        return self._open.namespace

    __iter__: ClassVar[None] = None
    __contains__: ClassVar[None] = None

    @at_once(dynkube._client.Client.informers)
    def informers(self) -> None: ...

    @at_once(dynkube._client.Client.statistics)
    def statistics(self) -> None: ...

    def _ipython_key_completions_(self) -> list[str]:
        """Return completions for ``k["``, from cached discovery without a request."""
        known = self._known()
        return [] if known is None else completions(known.discovery)

    def _known(self) -> RESTMapper | None:
        try:
            return self._open.mapper.loaded
        except ClosedError:
            return None

    @property
    def _open(self) -> dynkube._client.Client:
        self._check_open()
        return self._inner

    @abstractmethod
    def _start(self, function: Callable[[], Awaitable[None]]) -> None:
        """Start a task that the client cancels when it is closed; in the trio thread."""


class MapperFacade(Facade[DeferredRESTMapper]):
    """The REST mapper."""

    __slots__ = ()

    @in_loop(DeferredRESTMapper.invalidate)
    def invalidate(self) -> None: ...

    @in_loop(DeferredRESTMapper.statistics)
    def statistics(self) -> None: ...

    @property
    def loaded(self) -> RESTMapper | None:
        """The mapper of the last load, possibly stale; ``None`` before the first load.

        Does not block.
        """
        return self._inner.loaded
