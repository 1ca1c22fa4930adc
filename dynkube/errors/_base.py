"""The root of the tree, and every exception that is not an answer of a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dynkube._server_text import sanitized

_MOST: Final = 64 << 10
"""Characters of a whole message: where a server's text is put into one, that is cut further (``sanitized``)."""


class DynkubeError(Exception):
    """Base of everything dynkube raises on purpose."""

    def __str__(self) -> str:
        # What servers and files say is quoted in messages, and tracebacks print these as they are.
        return sanitized(super().__str__(), _MOST, lines=True)


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


class EndlessList(ProtocolError):
    """A list that does not end: a continue token came again, or there were too many pages, bytes or seconds.

    The message names what was too much, and the setting of :class:`~dynkube.Limits` that bounds it.
    """


# ── a control plane for tests ─────────────────────────────────────────────────────────────────


class ControlPlaneError(DynkubeError):
    """A real control plane for tests (``dynkube.testing.ControlPlane``) lacks a program, or one fails.

    The message names the program, what it said last, and the file with all it has said.
    """


# ── used after its end ────────────────────────────────────────────────────────────────────────


class ClosedError(DynkubeError):
    """A client, informer or stream was used after it was closed, or before it was entered."""
