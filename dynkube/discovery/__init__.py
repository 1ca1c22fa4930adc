"""Layer 4: API discovery, and mapping of names to resources.

:class:`DiscoveryClient` reads discovery documents, :class:`APIDiscovery` is a snapshot of them, :class:`RESTMapper`
resolves names in a snapshot without I/O, :class:`DeferredRESTMapper` keeps a mapper up to date. Start reading in
``_resources.py``.
"""

from dynkube.discovery._availability import ResourceAvailability
from dynkube.discovery._client import DiscoveryClient
from dynkube.discovery._deferred import DeferredRESTMapper, MapperStatistics
from dynkube.discovery._listing import APIResources
from dynkube.discovery._lookup import ResourceLike
from dynkube.discovery._mapper import RESTMapper
from dynkube.discovery._resources import APIDiscovery, APIResource, ServerVersion

__all__ = [
    "APIDiscovery",
    "APIResource",
    "APIResources",
    "DeferredRESTMapper",
    "DiscoveryClient",
    "MapperStatistics",
    "RESTMapper",
    "ResourceAvailability",
    "ResourceLike",
    "ServerVersion",
]
