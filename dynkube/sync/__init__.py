"""Layer 8: the blocking API, for notebooks, scripts and REPLs.

::

    import dynkube.sync

    k = dynkube.sync.connect()
    k.resource("deployments").list(namespace="shop")
    routes = k.informer("httproutes.v1.gateway.networking.k8s.io")   # starts watching now
    routes.list()

The names and arguments are those of the async API, which does the work in one background thread running trio. The
first ``connect`` starts this thread; it ends with the process. An interrupted call (KeyboardInterrupt: Ctrl-C, a
notebook's stop button) is cancelled, while informers keep running. Waiting methods take a ``timeout``. Informer reads,
and methods that are not async in the async API, do not block. The
thread, and how methods are generated, are explained in ``dynkube/_portal``.
"""

from dynkube._portal.controllers import LiveStatus
from dynkube.sync._client import Client, Mapper, connect
from dynkube.sync._controllers import ControllerRun, run, start
from dynkube.sync._event_recorder import EventRecorder
from dynkube.sync._informer import Informer, Registration
from dynkube.sync._lists import UnstructuredList, UnstructuredTable
from dynkube.sync._live import live
from dynkube.sync._logs import LogStream, MergedLogs
from dynkube.sync._pods import Pod, PortForward, PortStream, Process, ProcessInput, ProcessOutput
from dynkube.sync._resource import ResourceClient, SubresourceClient
from dynkube.sync._streams import EventStream, ObjectIterator, States, Watch
from dynkube.sync._workloads import Rollout

__all__ = [
    "Client",
    "ControllerRun",
    "EventRecorder",
    "EventStream",
    "Informer",
    "LiveStatus",
    "LogStream",
    "Mapper",
    "MergedLogs",
    "ObjectIterator",
    "Pod",
    "PortForward",
    "PortStream",
    "Process",
    "ProcessInput",
    "ProcessOutput",
    "Registration",
    "ResourceClient",
    "Rollout",
    "States",
    "SubresourceClient",
    "UnstructuredList",
    "UnstructuredTable",
    "Watch",
    "connect",
    "live",
    "run",
    "start",
]
