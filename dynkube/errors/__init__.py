"""Every exception dynkube raises, in one tree.

::

    DynkubeError
    ├── InvalidInput            the caller passed something that cannot be right (also a ValueError)
    │   ├── InvalidSelector         a label or field selector does not parse
    │   ├── InvalidJSONPath         a JSONPath does not parse
    │   ├── InvalidObject           an object lacks apiVersion, kind or name, or is not JSON
    │   └── WrongScope              a namespace for a cluster-scoped resource, or none where one is needed
    ├── ConfigError             no usable answer to "which cluster, as whom"
    │   └── CredentialError         a plugin, token file or certificate does not give a credential
    ├── MappingError            a name was not mapped to a resource
    │   ├── NoMatch                 the server was asked and does not serve it
    │   ├── AmbiguousMatch          several resources fit equally well
    │   └── DiscoveryFailed         nobody could tell: the server did not answer, or only in part
    ├── TransportError          no usable HTTP answer
    │   ├── ConnectFailed           the server was not reached
    │   ├── ConnectionLost          the connection ended before the answer did
    │   ├── DeadlineExceeded        it was reached and did not answer in time
    │   └── ProtocolError           it answered something that is not the Kubernetes API
    │       ├── UnreadableEvent         a line of a watch came whole, and is no event
    │       └── EndlessList             a list has too many pages, or the same ones again
    ├── APIError                the server answered with a Status
    │   ├── BadRequest 400, Unauthorized 401, Forbidden 403, NotFound 404, MethodNotAllowed 405,
    │   │   NotAcceptable 406, AlreadyExists 409, Conflict 409 (─ ApplyConflict), Gone 410,
    │   │   RequestEntityTooLarge 413, UnsupportedMediaType 415, Invalid 422, TooManyRequests 429
    │   └── ServerError 5xx         InternalError 500, ServiceUnavailable 503, ServerTimeout 504
    ├── ControlPlaneError       a real control plane for tests does not start, or does not do what was asked
    └── ClosedError             used after it was closed

Bases exist to be caught: ``except NotFound`` for one answer, ``except APIError`` for any answer,
``except TransportError`` when the network is to blame.
"""

from __future__ import annotations

from dynkube.errors._api import (
    AlreadyExists,
    APIError,
    ApplyConflict,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    RequestEntityTooLarge,
    ServerError,
    ServerTimeout,
    ServiceUnavailable,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
)
from dynkube.errors._base import (
    AmbiguousMatch,
    ClosedError,
    ConfigError,
    ConnectFailed,
    ConnectionLost,
    ControlPlaneError,
    CredentialError,
    DeadlineExceeded,
    DiscoveryFailed,
    DynkubeError,
    EndlessList,
    InvalidInput,
    InvalidJSONPath,
    InvalidObject,
    InvalidSelector,
    MappingError,
    NoMatch,
    ProtocolError,
    TransportError,
    UnreadableEvent,
    WrongScope,
)
from dynkube.errors._conflicts import UNREAD, FieldConflict
from dynkube.errors._status import Status, StatusCause

__all__ = [
    "UNREAD",
    "APIError",
    "AlreadyExists",
    "AmbiguousMatch",
    "ApplyConflict",
    "BadRequest",
    "ClosedError",
    "ConfigError",
    "Conflict",
    "ConnectFailed",
    "ConnectionLost",
    "ControlPlaneError",
    "CredentialError",
    "DeadlineExceeded",
    "DiscoveryFailed",
    "DynkubeError",
    "EndlessList",
    "FieldConflict",
    "Forbidden",
    "Gone",
    "InternalError",
    "Invalid",
    "InvalidInput",
    "InvalidJSONPath",
    "InvalidObject",
    "InvalidSelector",
    "MappingError",
    "MethodNotAllowed",
    "NoMatch",
    "NotAcceptable",
    "NotFound",
    "ProtocolError",
    "RequestEntityTooLarge",
    "ServerError",
    "ServerTimeout",
    "ServiceUnavailable",
    "Status",
    "StatusCause",
    "TooManyRequests",
    "TransportError",
    "Unauthorized",
    "UnreadableEvent",
    "UnsupportedMediaType",
    "WrongScope",
]

# A traceback names an exception as one imports it.
for _name in __all__:
    if isinstance(_value := globals()[_name], type):
        _value.__module__ = __name__
