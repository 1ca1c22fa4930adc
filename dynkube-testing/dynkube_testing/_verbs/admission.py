"""Admission: the point in a write at which plugins change or reject the object.

The verbs call an :class:`Admission` for each write, as kube-apiserver calls its chain of plugins. The implementation is
a layer above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from dynkube.errors import APIError
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.storage import WriteStorage

Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


def _unchanged(obj: JSONObject) -> JSONObject:
    return obj


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """A write, as admission plugins see it.

    Attributes:
        call: The request. Plugins may append to its warnings.
        operation: The operation. An update that creates the object is a ``CREATE``.
        storage: The objects that plugins look up.
        obj: The new object; ``None`` for a delete. Plugins that mutate may modify it if its kind is built-in.
        old: The stored object; ``None`` for a create.
        dry_run: Whether nothing is stored.
        subresource: The subresource, or ``""``.
        read_again: Function that reads an object after a webhook has changed it: without unknown fields, and with
            default values.
        unnamed: Whether the name of ``obj`` is generated. A real server generates it after the mutating plugins.
    """

    call: Call
    operation: Operation
    storage: WriteStorage
    obj: JSONObject | None
    old: JSONObject | None
    dry_run: bool
    subresource: str = ""
    read_again: Callable[[JSONObject], JSONObject] = _unchanged
    unnamed: bool = False

    @property
    def kind(self) -> Kind:
        """The kind as it was requested."""
        return self.call.kind

    @property
    def resource(self) -> str:
        """The resource and its group, such as ``deployments.apps``."""
        return self.call.kind.group_resource

    @property
    def new(self) -> JSONObject:
        """The new object of a create or update."""
        assert self.obj is not None, "a create or update"
        return self.obj

    @property
    def namespace(self) -> str:
        """The namespace of the request. That of a namespace is its own name, as in a real server."""
        return self.name if self.kind.storage_group == "namespaces" else self.call.namespace

    @property
    def name(self) -> str:
        """The name of the object; ``""`` if it is not generated yet, or deleted with others."""
        if self.unnamed:
            return ""
        metadata = (self.obj or {}).get("metadata") or {}
        return self.call.name or str(metadata.get("name", ""))

    def forbidden(self, why: str) -> APIError:
        """Return the 403 of a plugin that rejects the object."""
        base = ((self.obj or {}).get("metadata") or {}).get("generateName", "")
        return refuse.forbidden(self.kind, self.name or base or "Unknown", why)


class Admission(Protocol):
    """The admission plugins of a server."""

    def mutate(self, attributes: Attributes) -> JSONObject | None:
        """Let the mutating plugins change the object of a write.

        Built-in plugins modify it in place.

        Returns:
            An object that replaces it, because webhooks have changed it; ``None`` if there is none.

        Raises:
            APIError: A plugin rejects the write.
            AnswersNeeded: A webhook must be called.
        """
        ...

    def validate(self, attributes: Attributes) -> None:
        """Let the validating plugins check a write.

        Raises:
            APIError: A plugin rejects the write.
            AnswersNeeded: Webhooks must be called.
        """
        ...


class AdmitAll:
    """Admission without plugins."""

    def mutate(self, attributes: Attributes) -> JSONObject | None:
        """Change nothing."""
        return None

    def validate(self, attributes: Attributes) -> None:
        """Accept the write."""
