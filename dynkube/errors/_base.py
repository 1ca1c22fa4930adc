"""The base class, and all exceptions other than error responses of a server."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Final, TypeVar

from dynkube._server_text import sanitized

_MOST: Final = 64 << 10
"""Maximum characters of a whole message.

Server text inside a message is cut further by ``sanitized``.
"""


class DynkubeError(Exception):
    """Base class of all exceptions that dynkube raises deliberately."""

    def __str__(self) -> str:
        # Messages quote text from servers and files, and tracebacks print them unescaped.
        return sanitized(super().__str__(), _MOST, lines=True)


E = TypeVar("E", bound=DynkubeError)


def another(error: E) -> E:
    """Return a new exception that equals one that is kept, to be raised in one of several tasks.

    Raising the same object twice adds the frames of both to its traceback, and either task may change its context.
    """
    new = copy.copy(error)
    new.__cause__ = error.__cause__  # neither this nor the traceback is copied
    return new


# ── invalid arguments ─────────────────────────────────────────────────────────────────────────


class InvalidInput(DynkubeError, ValueError):
    """An argument is invalid, independent of cluster state.

    The message names it and the fix.
    """


class InvalidSelector(InvalidInput):
    """A label or field selector does not parse."""


class InvalidJSONPath(InvalidInput):
    """A JSONPath does not parse.

    ``position`` is the offset of the offending character.
    """

    def __init__(self, message: str, *, text: str = "", position: int | None = None) -> None:
        if position is not None:
            message = f"{message}\n  {text}\n  {' ' * position}^"
        super().__init__(message)
        self.text = text
        self.position = position


class InvalidObject(InvalidInput):
    """An object is not JSON, or lacks a field that every Kubernetes object has."""


class WrongScope(InvalidInput):
    """A namespace for a cluster-scoped resource, or none for a namespaced one."""


# ── the state of an object ────────────────────────────────────────────────────────────────────


class PreconditionFailed(DynkubeError):
    """An object is not in the state that the call requires, so nothing was written.

    Found by reading the object: for example ``scale(current=2)`` of one with three replicas.
    """


# ── configuration ─────────────────────────────────────────────────────────────────────────────


class ConfigError(DynkubeError):
    """Cluster address or credentials cannot be determined.

    They are taken from arguments, a kubeconfig or the in-cluster files.
    """


class CredentialError(ConfigError):
    """An exec plugin, token file or client certificate has no usable credential."""


# ── names to resources ────────────────────────────────────────────────────────────────────────


class MappingError(DynkubeError):
    """A resource name or kind was not mapped to exactly one served resource."""


class NoMatch(MappingError):
    """The server does not serve the resource.

    Definite: discovery of its group was complete.
    """


class AmbiguousMatch(MappingError):
    """Several resources match equally well; ``candidates`` has their full names."""

    def __init__(self, message: str, *, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.candidates = candidates


class DiscoveryFailed(MappingError):
    """Discovery failed, at least for the group in question.

    It is unknown whether the resource is served. ``failures`` maps a group-version (``"metrics.k8s.io/v1beta1"``) to
    the exception of its request.
    """

    def __init__(self, message: str, *, failures: Mapping[str, Exception] | None = None) -> None:
        super().__init__(message)
        self.failures: Mapping[str, Exception] = dict(failures or {})


# ── transport ────────────────────────────────────────────────────────────────────────────────


class TransportError(DynkubeError):
    """The request did not end in a usable HTTP response."""


class ConnectFailed(TransportError):
    """The connection could not be established: DNS, routing, connection refused, TLS.

    The request was not carried out.
    """


class ConnectionLost(TransportError):
    """The connection was closed, reset or abandoned before the response was complete.

    A write may have been carried out; a read can be retried.
    """


class DeadlineExceeded(TransportError):
    """No complete response arrived within the deadline. The message says what was being waited for.

    A write may have been carried out.
    """


class ProtocolError(TransportError):
    """The response does not follow the Kubernetes API.

    Examples are HTML, a redirect, a document of another kind, a line that is not JSON.
    """


class UnreadableEvent(ProtocolError):
    """A watch line arrived completely and is not a valid event.

    Watching again from the same resourceVersion most likely returns the same line. A separate class from a stream that
    was cut, where a retry is expected to succeed.
    """


class EndlessList(ProtocolError):
    """A list exceeded a limit.

    A continue token was repeated, or there were too many pages, bytes or seconds. The message names what was exceeded,
    and the setting of :class:`~dynkube.Limits` that bounds it.
    """


# ── pods ──────────────────────────────────────────────────────────────────────────────────────


class LogUnavailable(DynkubeError):
    """A container has no log that could be read now: it has not started, or there was no run before the current one.

    The message says what the container waits for. ``Pod.logs(follow=True)`` waits, too.
    """


# ── a control plane for tests ─────────────────────────────────────────────────────────────────


class ControlPlaneError(DynkubeError):
    """A program of a control plane for tests is missing, or it failed.

    See ``dynkube_testing.ControlPlane``. The message names the program, its last output, and the file with all of its
    output.
    """


# ── closed ────────────────────────────────────────────────────────────────────────────────────


class ClosedError(DynkubeError):
    """A client, informer or stream was used while it was not open.

    It was closed already, or not entered yet.
    """
