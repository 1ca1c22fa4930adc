"""dynkube: a Kubernetes client that knows no types in advance.

Start with :func:`connect`. The floors, each importing only from those below it::

    cli         the command line                    testing   an embedded API server, aside
    connect     Client: all floors put together
    informers   live copies of collections, filters, handlers
    client      verbs on one resource, watch, wait, apply
    discovery   what the server serves, names to resources
    rest        one request, one answer
    config      which cluster, as whom
    meta        GVR, Unstructured, selectors, JSONPath: data without I/O
    errors      the exception tree

This module gives the names that programs use; the packages give the rest to those who build on dynkube.
"""

from dynkube import errors
from dynkube._client import Client
from dynkube._connect import connect
from dynkube.client import ResourceClient
from dynkube.discovery import APIResource, RESTMapper
from dynkube.errors import DynkubeError
from dynkube.informers import (
    ABSENT,
    DEGRADED,
    LIVE,
    STOPPED,
    SYNCING,
    UNKNOWN,
    Filter,
    Informer,
    InformerSettings,
    JSONPathFilter,
    LabelFilter,
    NamespaceFilter,
    Phase,
    PredicateFilter,
    Registration,
    State,
    drop_managed_fields,
)
from dynkube.meta import (
    GVK,
    GVR,
    REMOVE,
    Added,
    Bookmark,
    Deleted,
    FieldSelector,
    JSONPath,
    LabelSelector,
    Modified,
    PatchType,
    Unstructured,
    UnstructuredList,
    Updated,
)

__all__ = [
    "ABSENT",
    "DEGRADED",
    "GVK",
    "GVR",
    "LIVE",
    "REMOVE",
    "STOPPED",
    "SYNCING",
    "UNKNOWN",
    "APIResource",
    "Added",
    "Bookmark",
    "Client",
    "Deleted",
    "DynkubeError",
    "FieldSelector",
    "Filter",
    "Informer",
    "InformerSettings",
    "JSONPath",
    "JSONPathFilter",
    "LabelFilter",
    "LabelSelector",
    "Modified",
    "NamespaceFilter",
    "PatchType",
    "Phase",
    "PredicateFilter",
    "RESTMapper",
    "Registration",
    "ResourceClient",
    "State",
    "Unstructured",
    "UnstructuredList",
    "Updated",
    "connect",
    "drop_managed_fields",
    "errors",
]
