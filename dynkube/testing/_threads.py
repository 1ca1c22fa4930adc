"""The embedded server for programs without an event loop: it runs in a thread, and its functions may be called here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from dynkube.meta import GVR
from dynkube.testing._calls.api import Call, Result
from dynkube.testing._direct import DirectAccess
from dynkube.testing._engine import Engine
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._server import APIServer
from dynkube.testing._wire.audit import RequestRecord
from dynkube.testing._wire.endpoint import Endpoint

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

P = ParamSpec("P")
T = TypeVar("T")


class ServerThread(DirectAccess):
    """An embedded server that runs in another thread; made by :func:`serve_in_thread`.

    The plain functions (``create``, ``get``, ``list``, ``load``, ...) may be called from any thread but the server's
    own, and block until they are done, which takes no longer than the server's other work of the moment. Everything
    else the server can do is reached by :meth:`run`.

    Attributes:
        server: The server itself. Its methods belong to its thread: call them by :meth:`run`.
        endpoint: Where it listens: ``endpoint.url``, ``endpoint.write_kubeconfig(path)``.
    """

    def __init__(self, server: APIServer, engine: Engine, endpoint: Endpoint, portal: BlockingPortal) -> None:
        super().__init__(engine)
        self.server = server
        self.endpoint = endpoint
        self._portal = portal

    def __repr__(self) -> str:
        return f"<ServerThread {self.url}>"

    @property
    def url(self) -> str:
        """Its address, like ``http://127.0.0.1:41853``."""
        return self.endpoint.url

    @property
    def audit(self) -> list[RequestRecord]:
        """Every request received so far, oldest first; see :attr:`APIServer.audit`."""
        return self.run(lambda: self.server.audit)

    @property
    def requests(self) -> list[RequestRecord]:
        """The same as :attr:`audit`."""
        return self.audit

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call ``function`` in the server's thread and return what it returns; what it raises is raised here.

        ``cluster.run(cluster.server.fail, status=503, times=3)``. The server stands while the function runs.

        Raises:
            RuntimeError: The server has ended, or this is its own thread.
        """
        return self._portal.call(lambda: function(*args, **kwargs))

    def _handle(self, call: Call) -> Result:
        return self.run(super()._handle, call)

    def _kinds(self) -> Iterable[Kind]:
        return self.run(lambda: tuple(self._engine.registry))

    def _find(self, api_version: str, kind: str) -> Kind | None:
        return self.run(super()._find, api_version, kind)

    def _served_as(self, gvr: GVR) -> Kind | None:
        return self.run(super()._served_as, gvr)


@contextmanager
def serve_in_thread(
    server: APIServer | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: bool = False,
    token: str | None = None,
    accept_hosts: Sequence[str] = (),
) -> Iterator[ServerThread]:
    """Run a server on TCP in a thread of its own inside the block, for synchronous tests, scripts and notebooks.

    ::

        with serve_in_thread() as cluster:
            cluster.load("manifests/")
            api = kubernetes.config.new_client_from_config_dict(cluster.endpoint.kubeconfig())

    Needs the ``serve`` extra. The server has an event loop of its own and the real clock; whether the calling thread
    runs asyncio, trio or nothing does not matter. Leaving the block, by whatever exception (Ctrl-C too), ends the
    server and joins its thread; connections are cut, so that this takes no time. An exception that broke the server
    is raised from the end of the block.

    Args:
        server: A server that was not entered yet; one with default options unless given.
        host: See :meth:`APIServer.serve`, like the other arguments.
        port: ``0`` takes any free port.
        tls: Serve HTTPS.
        token: Bearer token to bring.
        accept_hosts: Further hosts that requests may name where there is no token.

    Raises:
        ImportError: The ``serve`` extra is not installed.
        InvalidInput: The host or the port is not valid, or one of ``accept_hosts``.
        OSError: The address cannot be listened on.
        ClosedError: The server was entered before.
    """
    from anyio.from_thread import start_blocking_portal  # only here: not everybody needs threads

    server = APIServer() if server is None else server
    with (
        start_blocking_portal("trio") as portal,
        portal.wrap_async_context_manager(server),
        portal.wrap_async_context_manager(
            server.serve(host=host, port=port, tls=tls, token=token, accept_hosts=accept_hosts)
        ) as endpoint,
    ):
        yield ServerThread(server, server._engine, endpoint, portal)
