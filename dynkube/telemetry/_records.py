"""The records passed to observers; created only if a hook is overridden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dynkube.meta import GVR, HashShard
from dynkube.meta._selectors.hash_shard import shard_text


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RequestInfo:
    """One attempt of one request, as it is about to be sent.

    The same object is passed to ``request_finished``. It is compared by identity and hashable, so it can be used as a
    key for data kept until then.

    Attributes:
        method: ``GET``, ``POST``, ...
        url: the URL with its query; contains no credential.
        template: the path with ``{namespace}`` and ``{name}`` instead of names: of low cardinality, for metrics.
        verb: the verb as in RBAC and audit logs: ``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``,
            ``delete``, ``deletecollection``; the method in lower case for non-resource paths.
        gvr: the resource; ``None`` for non-resource paths, such as discovery and ``/version``.
        subresource: ``"status"``, ``"scale"``, ...; ``""`` for the object itself.
        namespace: the namespace in the path; ``""`` if there is none.
        name: the name in the path; ``""`` if there is none.
        host: ``host:port`` of the API server, as in its URL.
        attempt: 1 for the first attempt, more for retries.
        body_bytes: size of the request body.
        throttled: seconds waited because of ``Limits.qps``; ``None`` without such a limit.
    """

    method: str
    url: str
    template: str
    verb: str
    gvr: GVR | None
    subresource: str
    namespace: str
    name: str
    host: str
    attempt: int
    body_bytes: int
    throttled: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """How an attempt ended.

    Attributes:
        code: the HTTP status; ``None`` if no response began.
        seconds: from sending until the response was read; for a watch, until it began.
        received: size of the response body in bytes; 0 for a watch that was opened.
        error: the exception, which may be ``trio.Cancelled``; ``None`` on success. A failed attempt may be followed by
            a retry, which is another attempt.
    """

    code: int | None
    seconds: float
    received: int
    error: BaseException | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """The collection that an informer watches: resource, namespace, selectors and shard.

    Attributes:
        gvr: the resource.
        namespace: the namespace; ``None`` for all namespaces.
        label_selector: the label selector; ``""`` for all objects.
        field_selector: the field selector; ``""`` for all objects.
        shard: the part of these objects; ``None`` for all.
        metadata_only: whether only the metadata of these objects is received.
        namespaces: the set of namespaces, as text; ``""`` if it is one namespace or all. The lists and watches of the
            set have the ``namespace`` instead.
    """

    gvr: GVR
    namespace: str | None = None
    label_selector: str = ""
    field_selector: str = ""
    shard: HashShard | None = None
    metadata_only: bool = False
    namespaces: str = ""

    def __str__(self) -> str:
        parts = [str(self.gvr)]
        if self.namespace is not None:
            parts.append(f"in namespace {self.namespace}")
        if self.namespaces:
            parts.append(f"in {self.namespaces}")
        if narrowed := ", ".join(filter(None, (self.label_selector, self.field_selector))):
            parts.append(f"with {narrowed}")
        if self.shard is not None:
            parts.append(f"({shard_text(self.shard)})")
        if self.metadata_only:
            parts.append("(metadata only)")
        return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectorOutcome:
    """How a list or a watch of an informer ended.

    Attributes:
        items: number of objects listed, or of events received, bookmarks included.
        seconds: duration of all pages of a list, or of the whole watch.
        resource_version: the last resourceVersion received.
        error: the exception; ``None`` for a complete list, or a watch that the server ended normally.
    """

    items: int
    seconds: float
    resource_version: str
    error: BaseException | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """An informer's new state.

    Attributes:
        phase: a value of :class:`~dynkube.Phase`: ``"LIVE"``, ``"ABSENT"``, ...
        reason: the reason as one CamelCase word.
        message: a human-readable explanation; may be empty.
        previous: the previous phase.
    """

    phase: str
    reason: str
    message: str
    previous: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerRun:
    """One call of a handler.

    Attributes:
        handler: the name of the handler.
        event: ``"Added"``, ``"Updated"`` or ``"Deleted"``.
        seconds: duration of the call, including time spent waiting in an async handler.
        error: the exception that the handler raised, or ``None``.
    """

    handler: str
    event: Literal["Added", "Updated", "Deleted"]
    seconds: float
    error: BaseException | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReconcileInfo:
    """One call of a controller's reconcile function, as it begins.

    The same object is passed to ``reconcile_finished``. It is compared by identity and hashable, so it can be used as a
    key for data kept until then.

    Attributes:
        controller: the name of the controller.
        resource: the reconciled resource, as it was given.
        namespace: of the object; ``""`` if it is cluster-scoped.
        name: of the object.
        attempt: 1, and one more for each failure since the key last succeeded.
        queued: seconds for which the key was ready and waited for a worker.
        cluster: of the object; ``""`` unless the controller runs on several.
    """

    controller: str
    resource: str
    namespace: str
    name: str
    attempt: int
    queued: float
    cluster: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileOutcome:
    """How a call of a reconcile function ended.

    Attributes:
        result: a value of :class:`dynkube.controllers.Outcome`: ``"success"``, ``"error"``, ...; ``"cancelled"`` if the
            controller was stopped.
        seconds: duration of the call.
        error: the exception; ``None`` on success.
    """

    result: str
    seconds: float
    error: BaseException | None
