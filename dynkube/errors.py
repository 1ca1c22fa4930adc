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
    │       └── UnreadableEvent         a line of a watch came whole, and is no event
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

import math
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = [
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


class DynkubeError(Exception):
    """Base of everything dynkube raises on purpose."""


# ── what the caller passed ────────────────────────────────────────────────────────────────────


class InvalidInput(DynkubeError, ValueError):
    """An argument that cannot be right, whatever the cluster says. The message names it and the fix."""


class InvalidSelector(InvalidInput):
    """A label or field selector that does not parse."""


class InvalidJSONPath(InvalidInput):
    """A JSONPath that does not parse; ``position`` is the offset of the offending character."""

    def __init__(self, message: str, *, text: str = "", position: int | None = None) -> None:
        if position is not None:
            message = f"{message}\n  {text}\n  {' ' * position}^"
        super().__init__(message)
        self.text = text
        self.position = position


class InvalidObject(InvalidInput):
    """An object that is not JSON, or lacks a field that every Kubernetes object has."""


class WrongScope(InvalidInput):
    """A namespace given for a cluster-scoped resource, or missing for a namespaced one."""


# ── which cluster, as whom ────────────────────────────────────────────────────────────────────


class ConfigError(DynkubeError):
    """The kubeconfig, the in-cluster files or the explicit arguments do not say where to go."""


class CredentialError(ConfigError):
    """An exec plugin, token file or client certificate does not give a usable credential."""


# ── names to resources ────────────────────────────────────────────────────────────────────────


class MappingError(DynkubeError):
    """A resource name or kind was not mapped to exactly one served resource."""


class NoMatch(MappingError):
    """The server was asked and does not serve it. Definite: discovery for its group was complete."""


class AmbiguousMatch(MappingError):
    """Several resources fit equally well; ``candidates`` are their full names."""

    def __init__(self, message: str, *, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.candidates = candidates


class DiscoveryFailed(MappingError):
    """Nobody could tell: discovery did not answer, or not for the group in question.

    ``failures`` maps a group-version (``"metrics.k8s.io/v1beta1"``) to what went wrong with it.
    """

    def __init__(self, message: str, *, failures: Mapping[str, Exception] | None = None) -> None:
        super().__init__(message)
        self.failures: Mapping[str, Exception] = dict(failures or {})


# ── no usable answer ──────────────────────────────────────────────────────────────────────────


class TransportError(DynkubeError):
    """The request did not end in a usable HTTP answer."""


class ConnectFailed(TransportError):
    """The server was not reached: name, route, refusal, TLS."""


class ConnectionLost(TransportError):
    """The connection ended, was reset or was given up before the answer was complete.

    A request that changes something may have been carried out; a read can be asked again.
    """


class DeadlineExceeded(TransportError):
    """The server was reached and did not answer within the deadline."""


class ProtocolError(TransportError):
    """The answer is not the Kubernetes API: HTML, a redirect, a document of another kind, a line that is not JSON."""


class UnreadableEvent(ProtocolError):
    """A watch line came whole and is no event: asking again from there most likely gives it again.

    Told apart from a stream that was cut, which the next attempt is expected to heal.
    """


# ── the server answered with a Status ─────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class StatusCause:
    """One entry of ``Status.details.causes``: which field, what kind of trouble, in words."""

    field: str = ""
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """A ``v1.Status`` as plain data.

    ``retry_after`` is ``details.retryAfterSeconds`` (or what the Retry-After header said), in seconds.
    ``continue_token`` is ``metadata.continue``: with a 410 on a page, the token to go on with at a newer moment.
    """

    code: int
    reason: str = ""
    message: str = ""
    kind: str = ""
    group: str = ""
    name: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after: float | None = None
    continue_token: str = ""

    @classmethod
    def from_mapping(cls, body: Mapping[str, object], *, code: int | None = None) -> Status:
        """Read a decoded ``kind: Status`` body; ``code`` is the HTTP status where the body has none.

        Tolerant on purpose: a field of the wrong type counts as absent, since the body comes from
        whatever answered (proxies and aggregated servers included).
        """
        details = body.get("details")
        if not isinstance(details, Mapping):
            details = {}
        metadata = body.get("metadata")
        causes = details.get("causes")
        seconds = details.get("retryAfterSeconds")
        body_code = body.get("code")
        return cls(
            code=body_code if isinstance(body_code, int) and body_code else code or 500,
            reason=_text(body, "reason"),
            message=_text(body, "message"),
            kind=_text(details, "kind"),
            group=_text(details, "group"),
            name=_text(details, "name"),
            uid=_text(details, "uid"),
            causes=tuple(
                StatusCause(_text(cause, "field"), _text(cause, "reason"), _text(cause, "message"))
                for cause in (causes if isinstance(causes, list) else [])
                if isinstance(cause, Mapping)
            ),
            continue_token=_text(metadata, "continue") if isinstance(metadata, Mapping) else "",
            retry_after=_seconds(seconds),
        )


def _seconds(value: object) -> float | None:
    if not isinstance(value, int | float) or not value > 0:
        return None
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits, which JSON may hold
        return math.inf


def _text(mapping: Mapping[str, object], key: str) -> str:
    value = mapping.get(key)
    return value if isinstance(value, str) else ""


class APIError(DynkubeError):
    """The server answered, and the answer is no.

    ``status`` is the answer as data; ``code``, ``reason``, ``causes`` are shortcuts into it.
    ``request`` says what was asked (``"GET /api/v1/pods"``), where it is known.
    """

    def __init__(self, status: Status, *, request: str = "") -> None:
        self.status = status
        self.request = request
        super().__init__(self._describe())

    @property
    def code(self) -> int:
        """The HTTP status code."""
        return self.status.code

    @property
    def reason(self) -> str:
        """The machine-readable reason, e.g. ``"NotFound"``; may be empty."""
        return self.status.reason

    @property
    def causes(self) -> tuple[StatusCause, ...]:
        """Which fields are at fault, where the server says so."""
        return self.status.causes

    @property
    def retry_after(self) -> float | None:
        """Seconds the server asked to wait, or ``None``."""
        return self.status.retry_after

    @staticmethod
    def from_status(status: Status, *, request: str = "") -> APIError:
        """The most specific exception for ``status``: by reason first, then by code."""
        cls = _BY_REASON.get(status.reason) or _BY_CODE.get(status.code)
        if cls is Conflict and any(cause.reason == "FieldManagerConflict" for cause in status.causes):
            cls = ApplyConflict
        if cls is None:
            cls = ServerError if status.code >= 500 else APIError
        return cls(status, request=request)

    def _describe(self) -> str:
        what = self.status.message or self.status.reason or "no message"
        causes = "; ".join(f"{c.field}: {c.message}" if c.field else c.message for c in self.causes if c.message)
        if causes and causes not in what:
            what = f"{what} ({causes})"
        where = f" [{self.request}]" if self.request else ""
        return f"{self.code} {self.reason or type(self).__name__}: {what}{where}"


class BadRequest(APIError):
    """400: the server could not make sense of the request."""


class Unauthorized(APIError):
    """401: the server does not know who asks, also after the credential was refreshed."""


class Forbidden(APIError):
    """403: the server knows who asks, and RBAC or an admission plugin says no."""


class NotFound(APIError):
    """404: no such object, or no such resource."""


class MethodNotAllowed(APIError):
    """405: the resource does not support the verb."""


class NotAcceptable(APIError):
    """406: the server cannot answer in the form that was asked for."""


class AlreadyExists(APIError):
    """409 on create: an object of that name is there. Not a :class:`Conflict`: retrying will not help."""


class Conflict(APIError):
    """409: the object changed since it was read, or a precondition does not hold. Read again, then retry."""


class ApplyConflict(Conflict):
    """409 on server-side apply: other managers own fields with other values; ``causes`` says which."""


class Gone(APIError):
    """410: the resourceVersion or continue token is too old. List again."""


class RequestEntityTooLarge(APIError):
    """413: the object is over the server's size limit."""


class UnsupportedMediaType(APIError):
    """415: the body's content type, or the patch type, is not supported there."""


class Invalid(APIError):
    """422: validation failed; ``causes`` names each field."""


class TooManyRequests(APIError):
    """429: the server sheds load, or an eviction is not allowed now. ``retry_after`` says how long to wait."""


class ServerError(APIError):
    """5xx: the server failed."""


class InternalError(ServerError):
    """500: the server failed, often in a webhook or an aggregated API behind it."""


class ServiceUnavailable(ServerError):
    """503: the server, or an aggregated API behind it, does not serve now."""


class ServerTimeout(ServerError):
    """504: the server gave up waiting, e.g. for its cache to reach the resourceVersion asked for."""


# ── a control plane for tests ─────────────────────────────────────────────────────────────────


class ControlPlaneError(DynkubeError):
    """A real control plane for tests (``dynkube.testing.ControlPlane``) lacks a program, or one fails.

    The message names the program, what it said last, and the file with all it has said.
    """


# ── used after its end ────────────────────────────────────────────────────────────────────────


class ClosedError(DynkubeError):
    """A client, informer or stream was used after it was closed, or before it was entered."""


_BY_CODE: dict[int, type[APIError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: NotAcceptable,
    409: Conflict,
    410: Gone,
    413: RequestEntityTooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    503: ServiceUnavailable,
    504: ServerTimeout,
}

# metav1.StatusReason; the reason decides where a code has two meanings (409) or a proxy changed it.
_BY_REASON: dict[str, type[APIError]] = {
    "BadRequest": BadRequest,
    "Unauthorized": Unauthorized,
    "Forbidden": Forbidden,
    "NotFound": NotFound,
    "MethodNotAllowed": MethodNotAllowed,
    "NotAcceptable": NotAcceptable,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Gone": Gone,
    "Expired": Gone,
    "RequestEntityTooLarge": RequestEntityTooLarge,
    "UnsupportedMediaType": UnsupportedMediaType,
    "Invalid": Invalid,
    "TooManyRequests": TooManyRequests,
    "InternalError": InternalError,
    "ServiceUnavailable": ServiceUnavailable,
    "ServerTimeout": ServerTimeout,
    "Timeout": ServerTimeout,
}
