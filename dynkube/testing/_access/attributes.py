"""A request as authorization sees it, and the 403 that says what was not allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dynkube.errors import APIError, Status
from dynkube.testing._calls.users import User


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """What somebody wants to do.

    Attributes:
        user: Who.
        verb: A Kubernetes verb; for paths that are no resources the HTTP method in lower case.
        group: API group of the resource.
        resource: Plural name; ``""`` for paths that are no resources.
        subresource: ``"log"``, ``"status"`` ...
        name: Of the object; for lists and watches, what ``fieldSelector=metadata.name=...`` names.
        namespace: ``""`` for cluster-scoped resources and for all namespaces.
        path: Of a request that is about no resource.
    """

    user: User
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        """``pods``, ``pods/log``: how rules name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether something is allowed, and what is known about why."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One rule of a role, as ``rbac.authorization.k8s.io`` has them."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


class Authorizer(Protocol):
    """Decides who may do what."""

    def decide(self, attributes: Attributes) -> Decision:
        """Whether ``attributes`` are allowed."""
        ...

    def rules_for(self, user: User, namespace: str) -> tuple[list[PolicyRule], str]:
        """All that ``user`` may do in ``namespace``, and why that may not be all of it (``""`` where it is)."""
        ...


class AllowAll:
    """Everybody may do everything: an API server with ``--authorization-mode=AlwaysAllow``."""

    def decide(self, attributes: Attributes) -> Decision:
        """Yes."""
        return Decision(True, "this server runs without RBAC and allows everything")

    def rules_for(self, user: User, namespace: str) -> tuple[list[PolicyRule], str]:
        """Everything."""
        return [PolicyRule(("*",), ("*",), ("*",)), PolicyRule(("*",), urls=("*",))], ""


def denied(attributes: Attributes, reason: str = "") -> APIError:
    """403, worded as kube-apiserver words it; ``reason`` is the hint that RBAC adds, if any."""
    who = f'User "{attributes.user.name}" cannot {attributes.verb}'
    if not attributes.resource:
        what = f'{who} path "{attributes.path}"'
    else:
        place = f'in the namespace "{attributes.namespace}"' if attributes.namespace else "at the cluster scope"
        what = f'{who} resource "{attributes.full_resource}" in API group "{attributes.group}" {place}'
    # The message may end in an HTML page of somebody's proxy or dashboard, and parts of it come from the request.
    what = what.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    detail = f"{what}: {reason}" if reason else what
    qualified = f"{attributes.resource}.{attributes.group}" if attributes.group else attributes.resource
    subject = " ".join(part for part in (qualified, f'"{attributes.name}"' if attributes.name else "", "is") if part)
    return APIError.from_status(
        Status(
            code=403,
            reason="Forbidden",
            message=f"{subject if attributes.resource else ''} forbidden: {detail}".lstrip(),
            name=attributes.name,
            group=attributes.group,
            kind=attributes.resource,
        )
    )
