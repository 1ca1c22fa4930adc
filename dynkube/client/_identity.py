"""Check that a response is the requested object.

A server or proxy may mix up responses.
"""

from __future__ import annotations

from dynkube._server_text import word
from dynkube.discovery import APIResource
from dynkube.errors import ProtocolError
from dynkube.meta import Unstructured

_REQUESTER = "~"


class UnexpectedKind(ProtocolError):
    """The response has another kind than discovery reported, perhaps some time ago."""


def check_identity(obj: Unstructured, resource: APIResource, name: str, namespace: str | None, *, request: str) -> None:
    """Check that a response has the requested kind, name and namespace.

    Any name is right for ``~``, which OpenShift answers with the user who has sent the request (``users/~``).

    Args:
        obj: the response.
        resource: the resource, from discovery.
        name: requested name.
        namespace: requested namespace; ``None`` for cluster-scoped resources.
        request: description of the request, for the message.

    Raises:
        UnexpectedKind: the response has another kind.
        ProtocolError: the response has another name or namespace.
    """
    if obj.kind != resource.kind:
        raise UnexpectedKind(_message(request, "kind", obj.kind, resource.kind))
    if name not in (obj.name, _REQUESTER):
        raise ProtocolError(_message(request, "metadata.name", obj.name, name))
    if obj.namespace and obj.namespace != namespace:  # some servers omit it
        raise ProtocolError(_message(request, "metadata.namespace", obj.namespace, namespace or ""))


def _message(request: str, field: str, came: str, wanted: str) -> str:
    return (
        f"{request}: the response is another object: its {field} is {word(came)!r}, but {word(wanted)!r} was requested"
        "; something between dynkube and the API server mixes up responses (client.raw() accepts any response)"
    )
