"""An embedded Kubernetes API server: for tests in virtual time, demos, notebooks, and kubectl.

:class:`APIServer` is the server. ``transport()`` connects an httpx2 client to it inside the process, ``serve()`` puts
it on TCP, and :func:`serve_in_thread` does so for programs without an event loop. It shares no code with the client
but plain data, so neither hides the other's mistakes.

:class:`ControlPlane` is the real thing beside it: etcd and kube-apiserver as processes, with binaries that you have.
:class:`FaultProxy` stands before a real server and gives it the embedded one's faults.
"""

from dynkube.testing._calls.users import User
from dynkube.testing._control_plane.plane import ControlPlane
from dynkube.testing._control_plane.process import ServerProcess
from dynkube.testing._faults import Fault
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._proxy.door import Outage
from dynkube.testing._proxy.proxy import FaultProxy
from dynkube.testing._server import APIServer
from dynkube.testing._store.snapshots import Snapshot
from dynkube.testing._threads import ServerThread, serve_in_thread
from dynkube.testing._wire.audit import OpenWatch, RequestRecord, WatchCount
from dynkube.testing._wire.endpoint import Endpoint

__all__ = [
    "APIServer",
    "ControlPlane",
    "Endpoint",
    "Fault",
    "FaultProxy",
    "Kind",
    "OpenWatch",
    "Outage",
    "RequestRecord",
    "ServerProcess",
    "ServerThread",
    "Snapshot",
    "User",
    "WatchCount",
    "serve_in_thread",
]
