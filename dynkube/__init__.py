"""dynkube: a dynamic Kubernetes client, for any resource without generated types.

::

    async with dynkube.connect() as client:        # in programs on trio
        await client.get("deploy", namespace="shop")
        async with client.informer("httproutes.v1.gateway.networking.k8s.io") as routes: ...

    k = dynkube.sync.connect()                     # everywhere else: the same API, blocking
    k.get("deploy", namespace="shop")

The layers, each of which imports only from those below it::

    cli         the command line                    testing         an embedded API server (separate)
    sync        the blocking API                    pytest_plugin   fixtures with that server
    connect     Client: combines all layers
    manifests   many objects at once: files, order, report, prune
    informers   local caches of collections, filters, handlers
    client      verbs on one resource, watch, wait, apply
    discovery   served resources, REST mapper
    rest        one request, one response
    config      cluster address and credentials
    telemetry   observers: metrics, spans
    fields      field ownership: paths, field sets, managedFields
    meta        GVR, Unstructured, selectors, JSONPath: data without I/O
    errors      the exception tree

This module exports the names that programs need; the packages export more, for code that extends dynkube.

Names are imported on first use (PEP 562), so that ``import dynkube`` is cheap and a program loads only what it
uses.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    __version__: str

    from dynkube import errors, sync
    from dynkube._client import Client
    from dynkube._connect import connect
    from dynkube.client import Applied, Change, Permission, ResourceClient, UserInfo
    from dynkube.config import InsecureTLSWarning
    from dynkube.discovery import APIResource, ResourceAvailability, RESTMapper
    from dynkube.errors import DynkubeError
    from dynkube.fields import (
        Diff,
        FieldChange,
        FieldPath,
        FieldSet,
        Manager,
        Owners,
        compare,
        extract,
        fields_of,
        owners,
    )
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
        OwnerTree,
        Phase,
        PredicateFilter,
        Registration,
        State,
        drop_managed_fields,
        owner_tree,
        owner_uids,
    )
    from dynkube.manifests import ApplyRun, ApplySet, DiffReport, Outcome, Report
    from dynkube.meta import (
        GVK,
        GVR,
        MISSING,
        REMOVE,
        Added,
        Bookmark,
        Deleted,
        FieldSelector,
        InformerEvent,
        JSONPath,
        LabelSelector,
        Modified,
        PatchType,
        TableColumn,
        Unstructured,
        UnstructuredList,
        UnstructuredTable,
        Updated,
        to_pandas,
        to_polars,
    )
    from dynkube.rest import Limits

__all__ = [
    "ABSENT",
    "DEGRADED",
    "GVK",
    "GVR",
    "LIVE",
    "MISSING",
    "REMOVE",
    "STOPPED",
    "SYNCING",
    "UNKNOWN",
    "APIResource",
    "Added",
    "Applied",
    "ApplyRun",
    "ApplySet",
    "Bookmark",
    "Change",
    "Client",
    "Deleted",
    "Diff",
    "DiffReport",
    "DynkubeError",
    "FieldChange",
    "FieldPath",
    "FieldSelector",
    "FieldSet",
    "Filter",
    "Informer",
    "InformerEvent",
    "InformerSettings",
    "InsecureTLSWarning",
    "JSONPath",
    "JSONPathFilter",
    "LabelFilter",
    "LabelSelector",
    "Limits",
    "Manager",
    "Modified",
    "NamespaceFilter",
    "Outcome",
    "OwnerTree",
    "Owners",
    "PatchType",
    "Permission",
    "Phase",
    "PredicateFilter",
    "RESTMapper",
    "Registration",
    "Report",
    "ResourceAvailability",
    "ResourceClient",
    "State",
    "TableColumn",
    "Unstructured",
    "UnstructuredList",
    "UnstructuredTable",
    "Updated",
    "UserInfo",
    "compare",
    "connect",
    "drop_managed_fields",
    "errors",
    "extract",
    "fields_of",
    "owner_tree",
    "owner_uids",
    "owners",
    "sync",
    "to_pandas",
    "to_polars",
]

_HOMES: Final[dict[str, tuple[str, ...]]] = {
    "_client": ("Client",),
    "_connect": ("connect",),
    "_ipython": ("load_ipython_extension", "unload_ipython_extension"),  # IPython's names, which it looks for here
    "client": ("Applied", "Change", "Permission", "ResourceClient", "UserInfo"),
    "config": ("InsecureTLSWarning",),
    "discovery": ("APIResource", "RESTMapper", "ResourceAvailability"),
    "errors": ("DynkubeError",),
    "fields": (
        "Diff",
        "FieldChange",
        "FieldPath",
        "FieldSet",
        "Manager",
        "Owners",
        "compare",
        "extract",
        "fields_of",
        "owners",
    ),
    "informers": (
        "ABSENT",
        "DEGRADED",
        "LIVE",
        "STOPPED",
        "SYNCING",
        "UNKNOWN",
        "Filter",
        "Informer",
        "InformerSettings",
        "JSONPathFilter",
        "LabelFilter",
        "NamespaceFilter",
        "OwnerTree",
        "Phase",
        "PredicateFilter",
        "Registration",
        "State",
        "drop_managed_fields",
        "owner_tree",
        "owner_uids",
    ),
    "manifests": ("ApplyRun", "ApplySet", "DiffReport", "Outcome", "Report"),
    "meta": (
        "GVK",
        "GVR",
        "MISSING",
        "REMOVE",
        "Added",
        "Bookmark",
        "Deleted",
        "FieldSelector",
        "InformerEvent",
        "JSONPath",
        "LabelSelector",
        "Modified",
        "PatchType",
        "TableColumn",
        "Unstructured",
        "UnstructuredList",
        "UnstructuredTable",
        "Updated",
        "to_pandas",
        "to_polars",
    ),
    "rest": ("Limits",),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name in {"errors", "sync"}:
        return import_module(f"dynkube.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("dynkube")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'dynkube' has no attribute {name!r}")
    value: object = getattr(import_module(f"dynkube.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
