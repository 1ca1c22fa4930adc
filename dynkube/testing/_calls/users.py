"""Who asks: a user as authentication finds it out, and the names that mean something to every API server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ANONYMOUS = "system:anonymous"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"

_ACCOUNT_PREFIX = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who sends requests.

    Attributes:
        name: The user name that roles are bound to, like ``"alice"``.
        groups: The groups it is in. ``system:authenticated`` need not be given: who brings a token is in it.
        uid: An identity that outlives the name; often ``""``.
        extra: What else authentication found out.
    """

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def info(self) -> dict[str, object]:
        """As ``authentication.k8s.io`` shows a user; what is empty is left out."""
        shown: dict[str, object] = {
            "username": self.name,
            "uid": self.uid,
            "groups": list(self.groups),
            "extra": {key: list(values) for key, values in self.extra.items()},
        }
        return {key: value for key, value in shown.items() if value}

    def authenticated(self) -> User:
        """The same user in the group of all who brought credentials (of those who brought none: of them)."""
        group = UNAUTHENTICATED if self.name == ANONYMOUS else AUTHENTICATED
        if group in self.groups or UNAUTHENTICATED in self.groups:
            return self
        return User(self.name, (*self.groups, group), self.uid, self.extra)


#: Whom the server takes for the caller where nobody has to say who they are.
ADMIN = User("system:admin", (MASTERS, AUTHENTICATED))
#: Who brings no credentials where some are asked for.
NOBODY = User(ANONYMOUS, (UNAUTHENTICATED,))


def account_user(namespace: str, name: str) -> User:
    """A service account as a user."""
    return User(f"{_ACCOUNT_PREFIX}{namespace}:{name}", account_groups(namespace))


def account_groups(namespace: str) -> tuple[str, ...]:
    """The groups that every service account of a namespace is in."""
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")


def split_account(username: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that ``username`` means; ``None`` where it means none."""
    if not username.startswith(_ACCOUNT_PREFIX):
        return None
    match username.removeprefix(_ACCOUNT_PREFIX).split(":"):
        case [namespace, name] if namespace and name:
            return namespace, name
    return None
