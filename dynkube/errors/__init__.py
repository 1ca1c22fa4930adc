"""Every exception dynkube raises, in one hierarchy.

::

    DynkubeError
    ├── InvalidInput            an argument is invalid, independent of cluster state (also a ValueError)
    │   ├── InvalidSelector         a label or field selector does not parse
    │   ├── InvalidJSONPath         a JSONPath does not parse
    │   ├── InvalidObject           an object lacks apiVersion, kind or name, or is not JSON
    │   └── WrongScope              namespace given for a cluster-scoped resource, or missing for a namespaced one
    ├── ConfigError             cluster address or credentials cannot be determined
    │   └── CredentialError         an exec plugin, token file or client certificate yields no usable credential
    ├── MappingError            a name was not mapped to a resource
    │   ├── NoMatch                 discovery was complete, and the server does not serve it
    │   ├── AmbiguousMatch          several resources match equally well
    │   └── DiscoveryFailed         discovery failed, or failed for the group in question
    ├── TransportError          no usable HTTP response
    │   ├── ConnectFailed           the connection could not be established
    │   ├── ConnectionLost          the connection ended before the response was complete
    │   │   └── CommandLost             the connection to a command in a pod ended before the command
    │   ├── DeadlineExceeded        the server was reached and did not respond in time
    │   └── ProtocolError           the response does not follow the Kubernetes API
    │       ├── UnreadableEvent         a watch line is complete, but not a valid event
    │       └── EndlessList             a list has too many pages, or repeats a continue token
    ├── APIError                the server returned a Status
    │   ├── BadRequest 400, Unauthorized 401, Forbidden 403, NotFound 404, MethodNotAllowed 405,
    │   │   NotAcceptable 406, AlreadyExists 409, Conflict 409 (─ ApplyConflict), Gone 410,
    │   │   RequestEntityTooLarge 413, UnsupportedMediaType 415, Invalid 422, TooManyRequests 429
    │   └── ServerError 5xx         InternalError 500, ServiceUnavailable 503, ServerTimeout 504
    ├── PodError                what was requested of a pod's container did not succeed
    │   ├── CommandNotStarted       the command is not in the image, or the container does not run
    │   ├── CommandFailed           the command ended with an exit code other than 0
    │   ├── OutputTooLong           the command wrote more than was allowed for
    │   ├── PortUnavailable         nothing listens on the port
    │   └── CopyFailed              files were not copied completely (─ UnsafeArchive)
    ├── LogUnavailable          a container has no log that could be read now
    ├── ControlPlaneError       a control plane for tests does not start, or one of its programs fails
    └── ClosedError             used after it was closed

Catch a base class to handle a whole group: ``except NotFound`` for one error response, ``except APIError`` for any
of them, ``except TransportError`` for network failures.
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
    LogUnavailable,
    MappingError,
    NoMatch,
    PreconditionFailed,
    ProtocolError,
    TransportError,
    UnreadableEvent,
    WrongScope,
)
from dynkube.errors._conflicts import UNREAD, FieldConflict
from dynkube.errors._pods import (
    CommandFailed,
    CommandLost,
    CommandNotStarted,
    CopyFailed,
    OutputTooLong,
    PodError,
    PortUnavailable,
    UnsafeArchive,
)
from dynkube.errors._status import Status, StatusCause

__all__ = [
    "UNREAD",
    "APIError",
    "AlreadyExists",
    "AmbiguousMatch",
    "ApplyConflict",
    "BadRequest",
    "ClosedError",
    "CommandFailed",
    "CommandLost",
    "CommandNotStarted",
    "ConfigError",
    "Conflict",
    "ConnectFailed",
    "ConnectionLost",
    "ControlPlaneError",
    "CopyFailed",
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
    "LogUnavailable",
    "MappingError",
    "MethodNotAllowed",
    "NoMatch",
    "NotAcceptable",
    "NotFound",
    "OutputTooLong",
    "PodError",
    "PortUnavailable",
    "PreconditionFailed",
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
    "UnsafeArchive",
    "UnsupportedMediaType",
    "WrongScope",
]

# Tracebacks then show the path from which users import the exception.
for _name in __all__:
    if isinstance(_value := globals()[_name], type):
        _value.__module__ = __name__
