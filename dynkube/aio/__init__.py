"""Layer 8: the API for asyncio.

::

    import dynkube.aio

    async with dynkube.aio.connect() as client:
        await client.resource("deployments").list(namespace="shop")
        async with client.informer("httproutes.v1.gateway.networking.k8s.io") as routes:
            await routes.wait_synced()
            routes.list()

The names and arguments are those of the API for trio, which does the work in one background thread, shared with
``dynkube.sync``. Cancelling a task that awaits cancels the call there, and waits for its end. Handlers of informers are
called in the event loop that registered them. Informer reads, and methods that are not async in the API for trio, are
plain calls. Start reading in ``_call.py``; ``_delegation.py`` makes the methods; ``_loop_calls.py`` calls functions in
the event loop, for ``_handlers.py`` and ``_reconciles.py``.
"""

from dynkube._portal.controllers import LiveStatus
from dynkube.aio._client import Client, Mapper, connect
from dynkube.aio._context import Context
from dynkube.aio._controllers import ControllerRun, run, start
from dynkube.aio._event_recorder import EventRecorder
from dynkube.aio._informer import Informer, Registration
from dynkube.aio._live import live
from dynkube.aio._logs import LogStream, MergedLogs
from dynkube.aio._manifests import ApplyRun
from dynkube.aio._pods import Pod, PortForward, PortStream, Process, ProcessInput, ProcessOutput
from dynkube.aio._resource import ResourceClient, SubresourceClient
from dynkube.aio._streams import EventStream, ObjectIterator, States, Watch
from dynkube.aio._workloads import Rollout

__all__ = [
    "ApplyRun",
    "Client",
    "Context",
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
    "Watch",
    "connect",
    "live",
    "run",
    "start",
]
