"""Users, and the user and group names that are built into every API server."""

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
    """An authenticated user.

    Attributes:
        name: The user name, as in subjects of role bindings, like ``"alice"``.
        groups: The user's groups. ``system:authenticated`` is added to users that authenticate by a token.
        uid: ID that is unique even if the name is reused; often ``""``.
        extra: Further attributes, set by the authentication.
    """

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def info(self) -> dict[str, object]:
        """The user as a UserInfo of ``authentication.k8s.io``, without empty fields."""
        shown: dict[str, object] = {
            "username": self.name,
            "uid": self.uid,
            "groups": list(self.groups),
            "extra": {key: list(values) for key, values in self.extra.items()},
        }
        return {key: value for key, value in shown.items() if value}

    def authenticated(self) -> User:
        """Return the user with ``system:authenticated`` added to the groups.

        For ``system:anonymous`` the group is ``system:unauthenticated``.
        """
        group = UNAUTHENTICATED if self.name == ANONYMOUS else AUTHENTICATED
        if group in self.groups or UNAUTHENTICATED in self.groups:
            return self
        return User(self.name, (*self.groups, group), self.uid, self.extra)


#: The user of requests without a token if no token is required.
ADMIN = User("system:admin", (MASTERS, AUTHENTICATED))
#: The user ``system:anonymous``, of requests without credentials.
ANONYMOUS_USER = User(ANONYMOUS, (UNAUTHENTICATED,))


def account_user(namespace: str, name: str) -> User:
    """Return the user of a service account."""
    return User(f"{_ACCOUNT_PREFIX}{namespace}:{name}", account_groups(namespace))


def account_groups(namespace: str) -> tuple[str, ...]:
    """Return the groups of every service account in a namespace."""
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")


def split_account(username: str) -> tuple[str, str] | None:
    """Return namespace and name of the service account with this user name.

    ``None`` if it is not the user name of a service account.
    """
    if not username.startswith(_ACCOUNT_PREFIX):
        return None
    match username.removeprefix(_ACCOUNT_PREFIX).split(":"):
        case [namespace, name] if namespace and name:
            return namespace, name
    return None
