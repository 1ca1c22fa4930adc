"""Run the embedded server in a thread, for programs without an event loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from dynkube.meta import GVR
from dynkube_testing._calls.api import Call, Result
from dynkube_testing._direct import DirectAccess
from dynkube_testing._engine import Engine
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._server import APIServer
from dynkube_testing._wire.audit import RequestRecord
from dynkube_testing._wire.endpoint import Endpoint

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

P = ParamSpec("P")
T = TypeVar("T")


class ServerThread(DirectAccess):
    """Embedded server running in another thread, created by :func:`serve_in_thread`.

    The direct methods (``create``, ``get``, ``list``, ``load``, ...) may be called from any thread except the server's
    own. They block until the server's thread has executed them. Use :meth:`run` for all other methods of the server.

    Attributes:
        server: The server. Its methods must run in its thread: call them through :meth:`run`.
        endpoint: The TCP address, with ``endpoint.url`` and ``endpoint.write_kubeconfig(path)``.
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
        """Base URL of the endpoint, like ``http://127.0.0.1:41853``."""
        return self.endpoint.url

    @property
    def audit(self) -> list[RequestRecord]:
        """The requests received so far, oldest first, as a new list.

        Only the last ``audit_limit`` requests are kept, each with its user, body, response and duration.
        """
        return self.run(lambda: self.server.audit)

    @property
    def requests(self) -> list[RequestRecord]:
        """Alias of :attr:`audit`."""
        return self.audit

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in the server's thread and return its result.

        An exception raised by the function is raised here. Example:
        ``cluster.run(cluster.server.fail, status=503, times=3)``. Blocks until the function returns; the server handles
        no requests meanwhile.

        Raises:
            RuntimeError: The server has stopped, or the caller is in the server's own thread.
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
    """Serve on TCP from a background thread.

    A context manager for synchronous tests, scripts and notebooks::

        with serve_in_thread() as cluster:
            cluster.load("manifests/")
            api = kubernetes.config.new_client_from_config_dict(cluster.endpoint.kubeconfig())

    The server has its own event loop and uses the real clock; the calling thread may run asyncio, trio or neither.
    Leaving the block, even by an exception such as KeyboardInterrupt, stops the server and joins its thread. This does
    not wait for clients: their connections are closed at once. If the server has failed, its exception is raised at the
    end of the block.

    Args:
        server: A server that has not been entered yet; default: one with default options.
        host: Address to listen on. Anyone who can connect has full access, unless a token or users are set.
        port: ``0`` selects a free port.
        tls: Serve HTTPS with a certificate of a newly created CA (``Endpoint.ca_pem``).
        token: Bearer token for the endpoint's kubeconfig; default: the server's own. The token of a user authenticates
            as that user, any other one as the cluster administrator. kubectl sends tokens over HTTPS only, and requires
            one there: if the server has none, the kubeconfig has a placeholder, which the server ignores.
        accept_hosts: Additional ``Host`` values to accept when no token is needed: regular expressions (RE2) that match
            a whole host name, without the port.

    Raises:
        InvalidInput: The host, the port or one of ``accept_hosts`` is invalid.
        OSError: The address cannot be listened on.
        ClosedError: The server was entered before.
    """
    from anyio.from_thread import start_blocking_portal  # imported here because only this function needs anyio

    server = APIServer() if server is None else server
    with (
        start_blocking_portal("trio") as portal,
        portal.wrap_async_context_manager(server),
        portal.wrap_async_context_manager(
            server.serve(host=host, port=port, tls=tls, token=token, accept_hosts=accept_hosts)
        ) as endpoint,
    ):
        yield ServerThread(server, server._engine, endpoint, portal)
