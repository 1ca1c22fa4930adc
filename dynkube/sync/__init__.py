"""Floor 8: dynkube without await, for notebooks, scripts and REPLs.

::

    import dynkube.sync

    k = dynkube.sync.connect()
    k.resource("deployments").list(namespace="shop")
    routes = k.informer("httproutes.v1.gateway.networking.k8s.io")   # followed from here on
    routes.list()

The same names and arguments as the async face, carried out by it: one thread runs trio, is started by the first
``connect``, and ends with the process. A call that is interrupted (Ctrl-C, a notebook's stop button) is cancelled, and
informers go on. What is waited for takes a ``timeout``. Reads of informers, and everything that is plain in the async
face, wait for nobody. Start reading in ``_thread.py``; ``_delegation.py`` says how the methods are made.
"""

from dynkube.sync._client import APIClient, Client, Mapper, connect
from dynkube.sync._informer import Informer, Registration
from dynkube.sync._lists import UnstructuredList, UnstructuredTable
from dynkube.sync._resource import ResourceClient, SubresourceClient
from dynkube.sync._streams import EventStream, ObjectIterator, States, Watch

__all__ = [
    "APIClient",
    "Client",
    "EventStream",
    "Informer",
    "Mapper",
    "ObjectIterator",
    "Registration",
    "ResourceClient",
    "States",
    "SubresourceClient",
    "UnstructuredList",
    "UnstructuredTable",
    "Watch",
    "connect",
]
