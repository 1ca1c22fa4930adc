"""Access control of an engine: authentication, authorization, reviews and tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC

from dynkube_testing._access.aggregation import Aggregation
from dynkube_testing._access.attributes import AllowAll, Attributes, Authorizer, connection_denied, denied
from dynkube_testing._access.authentication import Authenticator
from dynkube_testing._access.escalation import BindingRules, RoleRules
from dynkube_testing._access.grants import Grants
from dynkube_testing._access.impersonation import WantedUser, impersonate
from dynkube_testing._access.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP, RBAC, ROLE_BINDINGS, ROLES
from dynkube_testing._access.reviews import Reviews
from dynkube_testing._access.tokens import AccountTokens
from dynkube_testing._calls.api import Call, JSONObject, Result
from dynkube_testing._calls.users import ADMIN, User
from dynkube_testing._engine import Engine
from dynkube_testing._store.documents import PlainDocument

_CONNECTING = frozenset({"attach", "exec", "portforward"})


class Access:
    """The access control of one engine.

    Args:
        engine: The engine to protect. It is set up to serve reviews and service account tokens. With RBAC the bootstrap
            roles are created in it, and writes of roles and bindings are checked for privilege escalation.
        users: Users by bearer token.
        token: The administrator's bearer token, or ``None``.
        rbac: Whether to authorize by the stored roles; otherwise every request is allowed.
    """

    def __init__(self, engine: Engine, *, users: Mapping[str, User], token: str | None, rbac: bool) -> None:
        self._engine = engine
        self._users = dict(users)
        self._accounts = AccountTokens(engine.storage, engine.registry, engine.options.now, engine.options.random)
        self.rbac = rbac
        self.grants = Grants(engine)
        self.authorizer: Authorizer = _install_rules(engine, rbac=rbac)

        def timestamp() -> str:
            return engine.options.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

        reviews = Reviews(self.authenticator(token), self.authorizer, timestamp)
        for storage_group in reviews.storage_groups:
            engine.answer(storage_group, "", _created(reviews.answer))
        engine.set_create_permit(self._permit_create)
        engine.set_authorizer(self._answer)
        engine.answer("serviceaccounts", "token", _created(self._accounts.request))

    def authenticator(self, token: str | None = None) -> Authenticator:
        """Return an authenticator that accepts ``token`` and the tokens of the users.

        ``token`` authenticates as the administrator, unless it is a user's token. Without any tokens, every request is
        authenticated as the administrator.
        """
        tokens = self._users if token is None else {token: ADMIN, **self._users}
        return Authenticator(
            tokens=tokens, accounts=self._accounts, default=None if tokens else ADMIN, anonymous=self.rbac
        )

    def complete(self) -> None:
        """Create the bootstrap roles that are missing in a restored state."""
        if self.rbac:
            self._engine.bootstrap(GROUP)

    def acting_user(self, request: Attributes, headers: Mapping[str, tuple[str, ...]]) -> User:
        """Return the user for authorization: the sender or the impersonated user.

        Raises:
            BadRequest: The impersonation headers do not name a user.
            Forbidden: The sender has no permission to impersonate that user.
        """
        wanted = WantedUser.read(headers)
        return request.user if wanted is None else impersonate(wanted, request, self.authorizer)

    def authorize(self, request: Attributes) -> None:
        """Check that the user of ``request`` has permission for it.

        A GET that connects to a container requires the verb ``create``, too, as it is not a read (Kubernetes 1.35).

        Raises:
            Forbidden: The user has no permission.
        """
        decision = self.authorizer.decide(request)
        if not decision.allowed:
            raise denied(request, decision.reason)
        pods = (request.group, request.resource) == ("", "pods")
        if request.verb == "get" and pods and request.subresource in _CONNECTING:
            creating = replace(request, verb="create")
            if not self.authorizer.decide(creating).allowed:
                raise connection_denied(request)

    def _answer(self, user: User, question: Mapping[str, str]) -> tuple[bool, str]:
        """Answer what a policy asks about the permissions of a user."""
        fields = {
            key: question.get(key, "") for key in ("group", "resource", "subresource", "namespace", "name", "path")
        }
        decision = self.authorizer.decide(Attributes(user=user, verb=question["verb"], **fields))
        return decision.allowed, decision.reason

    def _permit_create(self, call: Call) -> None:
        gvr = call.kind.gvr
        self.authorize(
            Attributes(
                user=call.user,
                verb="create",
                group=gvr.group,
                resource=gvr.resource,
                name=call.name,
                namespace=call.namespace,
            )
        )


def _install_rules(engine: Engine, *, rbac: bool) -> Authorizer:
    evaluated = RBAC(engine.storage, engine.registry) if rbac else None
    for gvr in (ROLES, CLUSTER_ROLES):
        engine.govern(f"{gvr.resource}.{gvr.group}", RoleRules(evaluated))
    for gvr in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
        engine.govern(f"{gvr.resource}.{gvr.group}", BindingRules(evaluated))
    if evaluated is None:
        return AllowAll()
    Aggregation(engine)
    engine.bootstrap(GROUP)
    return evaluated


def _created(answer: Callable[[Call], JSONObject]) -> Callable[[Call], Result]:
    def answers(call: Call) -> Result:
        return Result(document=PlainDocument(answer(call)), status=201)

    return answers
