"""Embedded Kubernetes API server for tests in virtual time, demos and notebooks.

:class:`APIServer` is the server. ``transport()`` connects an httpx2 client to it in-process, ``serve()`` listens on
TCP (for kubectl and other clients), and :func:`serve_in_thread` does so for programs without an event loop. The server
shares only plain data types with the client, so that a bug in one is not hidden by the same bug in the other.

:class:`ControlPlane` runs a real etcd and kube-apiserver as processes, from binaries that you provide.
:class:`FaultProxy` is a reverse proxy that injects the same faults in front of a real server.
"""

from dynkube.testing._calls.users import User
from dynkube.testing._control_plane.plane import ControlPlane
from dynkube.testing._control_plane.process import ServerProcess
from dynkube.testing._faults import rewrites
from dynkube.testing._faults.chaos import MISHAPS, Chaos, Faulty, Mishap
from dynkube.testing._faults.conversions import FailConversion
from dynkube.testing._faults.cuts import Cut
from dynkube.testing._faults.effects import Delay, Disconnect, Drip, Effect, Hang, Lag
from dynkube.testing._faults.endings import Ending
from dynkube.testing._faults.facts import RequestFacts
from dynkube.testing._faults.faults import Fault
from dynkube.testing._faults.freezing import Freeze
from dynkube.testing._faults.outages import Outage
from dynkube.testing._faults.refusals import Refuse
from dynkube.testing._faults.rewriting import Rewrite
from dynkube.testing._faults.scripts import play_script
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._proxy.proxy import FaultProxy
from dynkube.testing._server import APIServer
from dynkube.testing._store.snapshots import Snapshot
from dynkube.testing._threads import ServerThread, serve_in_thread
from dynkube.testing._wire.audit import OpenWatch, RequestRecord, WatchCount
from dynkube.testing._wire.endpoint import Endpoint

__all__ = [
    "MISHAPS",
    "APIServer",
    "Chaos",
    "ControlPlane",
    "Cut",
    "Delay",
    "Disconnect",
    "Drip",
    "Effect",
    "Ending",
    "Endpoint",
    "FailConversion",
    "Fault",
    "FaultProxy",
    "Faulty",
    "Freeze",
    "Hang",
    "Kind",
    "Lag",
    "Mishap",
    "OpenWatch",
    "Outage",
    "Refuse",
    "RequestFacts",
    "RequestRecord",
    "Rewrite",
    "ServerProcess",
    "ServerThread",
    "Snapshot",
    "User",
    "WatchCount",
    "play_script",
    "rewrites",
    "serve_in_thread",
]
