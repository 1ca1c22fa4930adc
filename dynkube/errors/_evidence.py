"""What a negative answer proves: a pure function of the request and its error response.

A 404, a 403 or a 401 is sent by the object's registry, but also by an API server that is starting, a proxy, or an RBAC
cache that has not been loaded. :func:`evidence_of` says which of them an answer can be; code that would report
something as deleted, absent, done or forbidden acts on that, never on the status code:

====================  ==================================================  ===========================================
evidence              the answer                                          who sends it
====================  ==================================================  ===========================================
OBJECT_ABSENT         404, a Status with reason NotFound that names the   the registry, after it has read etcd
                      requested object
NAMESPACE_ABSENT      404, the same for the requested namespace           admission of writes, after a live read
RESOURCE_UNKNOWN      404, a Status without a name, or Go's               an API server that does not serve the
                      ``404 page not found``                              resource, or has not installed it *yet*
NOT_AUTHORIZED        403, a Status with reason Forbidden for the         the authorizer, also before it has loaded
                      requested resource; 401, a Status                   roles, or while a binding is being replaced
NOTHING               all else: other pages, other Statuses, 5xx          proxies, load balancers, failures
====================  ==================================================  ===========================================

The first two are definite, as of the time of the request. RESOURCE_UNKNOWN and NOT_AUTHORIZED can be true for a moment
only: they count once they are *confirmed*, as :data:`CONFIRMATION` says. Sources: the Status of
``k8s.io/apimachinery/pkg/api/errors``, crdHandler in ``k8s.io/apiextensions-apiserver``, KEP-5647 for the need.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote

from dynkube.errors._api import APIError, Forbidden, NotFound, Unauthorized
from dynkube.errors._status import Status

_PAGE_NOT_FOUND: Final = "404 page not found"  # net/http.NotFound


class Evidence(enum.Enum):
    """What an error response proves; see the module."""

    NOTHING = "nothing"
    OBJECT_ABSENT = "the object does not exist"
    NAMESPACE_ABSENT = "the namespace does not exist"
    RESOURCE_UNKNOWN = "the resource is not served at this moment"
    NOT_AUTHORIZED = "the user is not authorized at this moment"


@dataclass(frozen=True, slots=True)
class _Confirmation:
    """How long a negative answer that can be a moment's has to last before anything is taken back.

    Attributes:
        moment: seconds between the first and the last negative answer, if independent sources agree and the API server
            has reported that it is ready in between. A RoleBinding that is replaced, as its roleRef is immutable, is
            missing for a second (``kubectl replace --force``, Helm upgrades); a load balancer takes some seconds to
            drop a backend.
        rights: the same for the right to read objects that are shown: while one of several API servers starts, and
            denies, another one reports that it is ready.
        starting: the same without such a report. kube-apiserver 1.36.3 with etcd paused for 15 s answered 403 for up
            to 21 s, and discovery lacked resources for as long; its informers retry after 30 s at most.
        discovery: the same for a resource whose objects were read: polls of discovery, as a part of one interval. A
            replica that lags behind, or was upgraded later, keeps answering in turn with the others.
        answers: seconds between two answers of discovery without a resource of which no objects were read, if the API
            server has reported in between that it is ready: half a moment, as nothing is taken back.
        doubt: seconds after which a deletion of ours that a cache still does not show is read back: it may have been
            undone by a restored backup. Watch events arrive within seconds, bookmarks within a minute.
    """

    moment: float = 10.0
    rights: float = 30.0
    starting: float = 60.0
    discovery: float = 0.9
    answers: float = 5.0
    doubt: float = 30.0


CONFIRMATION: Final = _Confirmation()
"""The numbers, in one place."""


@dataclass(frozen=True, slots=True)
class NegativeAnswers:
    """Negative answers in a row: without any positive one since the first of them was requested.

    Attributes:
        first: when the first was requested.
        last: when the last was requested.
        message: the text of the last.
    """

    first: float
    last: float
    message: str

    @property
    def span(self) -> float:
        """Seconds between the first and the last."""
        return self.last - self.first


def extended(before: NegativeAnswers | None, asked: float, message: str) -> NegativeAnswers:
    """Return ``before`` with one more answer, in any order."""
    if before is None:
        return NegativeAnswers(asked, asked, message)
    newest = asked >= before.last
    first, last = min(asked, before.first), max(asked, before.last)
    return NegativeAnswers(first, last, message if newest else before.message)


def later_than(answers: NegativeAnswers | None, time: float) -> NegativeAnswers | None:
    """Return the part of ``answers`` that was requested after ``time``, when there was a positive answer."""
    if answers is None or answers.first > time:
        return answers
    return replace(answers, first=answers.last) if answers.last > time else None


def evidence_of(error: BaseException) -> Evidence:
    """Return what ``error`` proves about what was requested.

    Args:
        error: any exception; only error responses prove anything.
    """
    if not isinstance(error, APIError):
        return Evidence.NOTHING
    status, requested = error.status, _Requested.of(error.request)
    if isinstance(error, NotFound):
        return _of_not_found(status, requested)
    if isinstance(error, Forbidden) and status.reason == "Forbidden":
        # Admission refuses writes with 403, too; the authorizer names what was requested, and nothing else. The name of
        # a list or watch is that of its field selector, metadata.name=..., which is not part of the request line.
        listed = not requested.name and error.request.startswith("GET ")
        named = status.kind in {"", requested.resource} and (listed or status.name in {"", requested.name})
        return Evidence.NOT_AUTHORIZED if named and not status.causes else Evidence.NOTHING
    if isinstance(error, Unauthorized) and status.reason == "Unauthorized":
        return Evidence.NOT_AUTHORIZED
    return Evidence.NOTHING


def proves_deletion(error: BaseException) -> bool:
    """Return whether ``error`` proves that the requested object does not exist, itself or as its namespace is gone."""
    return evidence_of(error) in {Evidence.OBJECT_ABSENT, Evidence.NAMESPACE_ABSENT}


def _of_not_found(status: Status, requested: _Requested) -> Evidence:
    if status.reason != "NotFound":
        plain = not status.reason and status.message.strip() == _PAGE_NOT_FOUND
        return Evidence.RESOURCE_UNKNOWN if plain else Evidence.NOTHING
    if not status.name:
        return Evidence.RESOURCE_UNKNOWN
    if status.kind == "namespaces" and requested.resource != "namespaces":
        same = status.name == requested.namespace
        return Evidence.NAMESPACE_ABSENT if same else Evidence.NOTHING
    if not requested.name:  # the request line is not known, or it is an object that is created
        return Evidence.OBJECT_ABSENT if not requested.resource else Evidence.NOTHING
    if status.name != requested.name or not _is_of(status.kind, requested):
        return Evidence.NOTHING
    # For a subresource that a CRD does not have, crdHandler responds as if the object did not exist.
    custom = "." in requested.group and not requested.group.endswith(".k8s.io")
    return Evidence.NOTHING if requested.subresource and custom else Evidence.OBJECT_ABSENT


def _is_of(kind: str, requested: _Requested) -> bool:
    """Return whether ``details.kind`` can mean the resource: its name, as in most Statuses, or that of a kind."""
    resource = kind.partition("/")[0]  # "deployments/scale"
    return resource in {"", requested.resource} or resource[:1].isupper()


@dataclass(frozen=True, slots=True)
class _Requested:
    """What a request line addresses; all ``""`` for one that addresses no resource."""

    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @classmethod
    def of(cls, request: str) -> _Requested:
        """Parse ``"GET /apis/apps/v1/namespaces/shop/deployments/web"``, as RequestInfoFactory of the API server."""
        _, _, line = request.partition(" ")
        parts = [unquote(part) for part in line.partition(" ")[0].split("/")[1:]]
        if parts[:1] == ["apis"] and len(parts) > 3:
            group, parts = parts[1], parts[3:]
        elif parts[:1] == ["api"] and len(parts) > 2:
            group, parts = "", parts[2:]
        else:
            return cls()
        namespace = ""
        if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in {"status", "finalize"}:
            namespace, parts = parts[1], parts[2:]
        resource, name, subresource = (*parts[:3], "", "")[:3]
        return cls(group, resource, namespace, name, subresource)
