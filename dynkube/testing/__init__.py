"""An embedded Kubernetes API server: for tests in virtual time, demos, notebooks, and kubectl.

:class:`APIServer` is the server. ``transport()`` connects an httpx2 client to it inside the process, ``serve()`` puts
it on TCP, and :func:`serve_in_thread` does so for programs without an event loop. It shares no code with the client
but plain data, so neither hides the other's mistakes.
"""

from dynkube.testing._calls.users import User
from dynkube.testing._faults import Fault
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._server import APIServer
from dynkube.testing._store.snapshots import Snapshot
from dynkube.testing._threads import ServerThread, serve_in_thread
from dynkube.testing._wire.audit import OpenWatch, RequestRecord, WatchCount
from dynkube.testing._wire.tcp import Endpoint

__all__ = [
    "APIServer",
    "Endpoint",
    "Fault",
    "Kind",
    "OpenWatch",
    "RequestRecord",
    "ServerThread",
    "Snapshot",
    "User",
    "WatchCount",
    "serve_in_thread",
]
