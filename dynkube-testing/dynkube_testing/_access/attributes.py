"""Authorization attributes of a request, and the 403 response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dynkube.errors import APIError, Status
from dynkube_testing._calls.users import User


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """Attributes of a request for authorization.

    Attributes:
        user: The authenticated (or impersonated) user.
        verb: The Kubernetes verb; for non-resource paths the HTTP method in lower case.
        group: API group of the resource.
        resource: Plural name; ``""`` for non-resource paths.
        subresource: ``"log"``, ``"status"`` ...
        name: Object name; for lists and watches the one in ``fieldSelector=metadata.name=...``.
        namespace: ``""`` for cluster-scoped resources and for all namespaces.
        path: Path of a non-resource request.
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
        """Resource with subresource as in RBAC rules: ``pods``, ``pods/log``."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a request is allowed, and the reason if known."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """A PolicyRule of ``rbac.authorization.k8s.io``."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


class Authorizer(Protocol):
    """Decides whether requests are allowed."""

    def decide(self, attributes: Attributes) -> Decision:
        """Decide whether a request with these attributes is allowed."""
        ...

    def rules_for(self, user: User, namespace: str) -> tuple[list[PolicyRule], str]:
        """Return the rules that apply to ``user`` in ``namespace``, and an error message.

        The message says why the rules may be incomplete; it is ``""`` if they are complete.
        """
        ...


class AllowAll:
    """Allows every request (``--authorization-mode=AlwaysAllow``)."""

    def decide(self, attributes: Attributes) -> Decision:
        """Allow the request."""
        return Decision(True, "this server runs without RBAC and allows everything")

    def rules_for(self, user: User, namespace: str) -> tuple[list[PolicyRule], str]:
        """Return rules that allow everything."""
        return [PolicyRule(("*",), ("*",), ("*",)), PolicyRule(("*",), urls=("*",))], ""


def connection_denied(attributes: Attributes) -> APIError:
    """Return the 403 for a GET that connects to a container, without the permission to create; it has no reason."""
    message = f'{attributes.resource} "{attributes.name}" is forbidden: '
    return APIError.from_status(
        Status(code=403, reason="Forbidden", message=message, name=attributes.name, kind=attributes.resource)
    )


def denied(attributes: Attributes, reason: str = "") -> APIError:
    """Return the 403 for a denied request, with kube-apiserver's message.

    ``reason`` is the reason of the authorizer's decision, if any.
    """
    who = f'User "{attributes.user.name}" cannot {attributes.verb}'
    if not attributes.resource:
        what = f'{who} path "{attributes.path}"'
    else:
        place = f'in the namespace "{attributes.namespace}"' if attributes.namespace else "at the cluster scope"
        what = f'{who} resource "{attributes.full_resource}" in API group "{attributes.group}" {place}'
    # Parts of the message come from the request, so they are escaped in case a dashboard shows it as HTML.
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
