"""Whether an answer is the object that was asked for: a server, or a proxy before it, may have mixed up its answers."""

from __future__ import annotations

from dynkube._server_text import word
from dynkube.discovery import APIResource
from dynkube.errors import ProtocolError
from dynkube.meta import Unstructured


class UnexpectedKind(ProtocolError):
    """The answer is of another kind than the resource has, as far as discovery was read."""


def check_identity(obj: Unstructured, resource: APIResource, name: str, namespace: str | None, *, request: str) -> None:
    """Compare an answer with what was asked for.

    Args:
        obj: the answer.
        resource: what was asked for, as discovery has it.
        name: of the object.
        namespace: of the object; ``None`` where it has none.
        request: for the message.

    Raises:
        UnexpectedKind: it is of another kind.
        ProtocolError: its name is another, or it says that it is in another namespace.
    """
    if obj.kind != resource.kind:
        raise UnexpectedKind(_message(request, "kind", obj.kind, resource.kind))
    if obj.name != name:
        raise ProtocolError(_message(request, "metadata.name", obj.name, name))
    if obj.namespace and obj.namespace != namespace:  # one that leaves it out is of no other namespace
        raise ProtocolError(_message(request, "metadata.namespace", obj.namespace, namespace or ""))


def _message(request: str, field: str, came: str, wanted: str) -> str:
    return (
        f"{request}: answered with another object: its {field} is {word(came)!r}, {word(wanted)!r} was asked for; "
        "something between dynkube and the API server mixes up its answers (client.api.raw() takes any answer)"
    )
