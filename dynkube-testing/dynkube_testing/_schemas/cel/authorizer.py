"""The variable ``authorizer`` of admission policies: what a user may do, and Kubernetes' functions for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Protocol

from dynkube_testing._calls.users import User, account_user
from dynkube_testing._schemas.cel.celtypes import Type
from dynkube_testing._schemas.cel.standard import Function


class Authorize(Protocol):
    """Decides whether a user may do something."""

    def __call__(self, user: User, question: Mapping[str, str], /) -> tuple[bool, str]:
        """Return whether it is allowed, and why.

        ``question`` has ``verb`` and ``path``, or ``verb``, ``group``, ``resource``, ``subresource``, ``namespace`` and
        ``name``.
        """
        ...


def _named(name: str) -> Type:
    return Type("struct", f"kubernetes.authorization.{name}")


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer of an authorizer."""

    cel_type: ClassVar[Type] = _named("Decision")
    allowed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked so far.

    Attributes:
        authorize: Answers the question.
        user: The user in question.
        about: The question, without its verb.
    """

    authorize: Authorize
    user: User
    about: Mapping[str, str] = field(default_factory=dict)

    def check(self, verb: str) -> Decision:
        return Decision(*self.authorize(self.user, {**self.about, "verb": verb}))


@dataclass(frozen=True, slots=True)
class Authorizer(_Question):
    """The beginning of a question."""

    cel_type: ClassVar[Type] = _named("Authorizer")


@dataclass(frozen=True, slots=True)
class PathCheck(_Question):
    """A question about a path."""

    cel_type: ClassVar[Type] = _named("PathCheck")


@dataclass(frozen=True, slots=True)
class GroupCheck(_Question):
    """A question about an API group, without a resource."""

    cel_type: ClassVar[Type] = _named("GroupCheck")


@dataclass(frozen=True, slots=True)
class ResourceCheck(_Question):
    """A question about a resource."""

    cel_type: ClassVar[Type] = _named("ResourceCheck")


AUTHORIZER: Final = Authorizer.cel_type
RESOURCE_CHECK: Final = ResourceCheck.cel_type


def _begin(made: type[_Question], name: str) -> Function:
    return lambda asked, value: made(asked.authorize, asked.user, {**asked.about, name: value})


def _more(name: str) -> Function:
    return lambda asked, value: replace(asked, about={**asked.about, name: value})


def _account(asked: Authorizer, namespace: str, name: str) -> Authorizer:
    return Authorizer(asked.authorize, account_user(namespace, name))


OVERLOADS: Mapping[str, Function] = {
    "authorizer_path": _begin(PathCheck, "path"),
    "authorizer_group": _begin(GroupCheck, "group"),
    "authorizer_serviceaccount": _account,
    "groupcheck_resource": _begin(ResourceCheck, "resource"),
    "resourcecheck_subresource": _more("subresource"),
    "resourcecheck_namespace": _more("namespace"),
    "resourcecheck_name": _more("name"),
    "authorizer_fieldselector": _more("fieldSelector"),
    "authorizer_labelselector": _more("labelSelector"),
    "pathcheck_check": _Question.check,
    "resourcecheck_check": _Question.check,
    "decision_errored": lambda decision: False,
    "decision_error": lambda decision: "",
    "decision_allowed": lambda decision: decision.allowed,
    "decision_reason": lambda decision: decision.reason,
}
