"""Informers: live local caches of collections, with change handlers (layer 6).

:class:`Informer` documents the guarantees, ``_shared_informer.py`` the task that owns a cache,
``_reflector/reflector.py`` how it lists and watches, ``_availability/tracker.py`` how it learns whether the resource is
served, ``_views/mailbox.py`` why the events of an object always come in a valid order.
"""

from dynkube.informers._cache.index import IndexFunc
from dynkube.informers._cache.transform import Transform, drop_managed_fields
from dynkube.informers._dependents import owner_uids
from dynkube.informers._filters.filters import Filter, JSONPathFilter, LabelFilter, Predicate, PredicateFilter
from dynkube.informers._filters.namespace_filter import NamespaceFilter
from dynkube.informers._informer import Informer
from dynkube.informers._join import (
    ClusterObject,
    Join,
    OnClusterAdd,
    OnClusterDelete,
    OnClusterUpdate,
    join,
)
from dynkube.informers._join_registration import JoinRegistration
from dynkube.informers._namespace_set import Namespaces, NamespaceSet
from dynkube.informers._owner_tree import OwnerTree, owner_tree
from dynkube.informers._reads import Selector
from dynkube.informers._settings import Consistency, InformerSettings
from dynkube.informers._states import ABSENT, DEGRADED, LIVE, STOPPED, SYNCING, UNKNOWN, Phase, State
from dynkube.informers._statistics import InformerStatistics, InformerStatus, InformerStatuses, NamespaceStatus
from dynkube.informers._views.event_stream import EventStream
from dynkube.informers._views.handlers import (
    HandlerStatistics,
    OnAdd,
    OnDelete,
    OnError,
    OnUpdate,
    Registration,
)

__all__ = [
    "ABSENT",
    "DEGRADED",
    "LIVE",
    "STOPPED",
    "SYNCING",
    "UNKNOWN",
    "ClusterObject",
    "Consistency",
    "EventStream",
    "Filter",
    "HandlerStatistics",
    "IndexFunc",
    "Informer",
    "InformerSettings",
    "InformerStatistics",
    "InformerStatus",
    "InformerStatuses",
    "JSONPathFilter",
    "Join",
    "JoinRegistration",
    "LabelFilter",
    "NamespaceFilter",
    "NamespaceSet",
    "NamespaceStatus",
    "Namespaces",
    "OnAdd",
    "OnClusterAdd",
    "OnClusterDelete",
    "OnClusterUpdate",
    "OnDelete",
    "OnError",
    "OnUpdate",
    "OwnerTree",
    "Phase",
    "Predicate",
    "PredicateFilter",
    "Registration",
    "Selector",
    "State",
    "Transform",
    "drop_managed_fields",
    "join",
    "owner_tree",
    "owner_uids",
]
