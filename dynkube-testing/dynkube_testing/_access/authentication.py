"""Authentication by bearer token."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dynkube.errors import InvalidInput
from dynkube_testing._access.tokens import ISSUER, AccountTokens, InvalidToken, Verified
from dynkube_testing._calls import refuse
from dynkube_testing._calls.users import ANONYMOUS_USER, User, account_user, split_account


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticator:
    """Authenticates requests.

    Attributes:
        tokens: Users by bearer token.
        accounts: Verifies service account tokens.
        default: The user of requests without a token or with an unknown token. Without one (``None``), an unknown token
            gets 401, and a request without a token is decided by ``anonymous``.
        anonymous: Whether a request without a token and without a default user is made as ``system:anonymous``. If
            false, only requests to public paths are, and all others get 401.
    """

    tokens: Mapping[str, User] = field(default_factory=dict, repr=False)
    accounts: AccountTokens
    default: User | None = None
    anonymous: bool = False

    def identify(self, authorization: str | None, *, public: bool) -> User:
        """Return the user authenticated by an ``Authorization`` header.

        Args:
            authorization: The header's value, or ``None``.
            public: Whether the path is accessible without authentication.

        Raises:
            Unauthorized: A token is required, and it is invalid or missing.
        """
        scheme, _, token = (authorization or "").strip().partition(" ")
        if scheme.lower() == "bearer" and token.strip():
            try:
                return self.verify(token.strip()).user
            except InvalidToken:
                if self.default is None:
                    raise refuse.unauthorized() from None
        if self.default is not None:
            return self.default
        if not (self.anonymous or public):
            raise refuse.unauthorized()
        return ANONYMOUS_USER

    def verify(self, token: str, audiences: Sequence[str] = ()) -> Verified:
        """Verify ``token``, and return its user and audiences.

        ``audiences`` are those of which the token must have at least one; default: this server.

        Raises:
            InvalidToken: The token is invalid.
        """
        # All known tokens are compared, so that the response time reveals nothing about them.
        known = [user for text, user in self.tokens.items() if hmac.compare_digest(text.encode(), token.encode())]
        if not known:
            return self.accounts.verify(token, audiences)
        shared = tuple(audience for audience in audiences or (ISSUER,) if audience == ISSUER)
        if not shared:
            raise InvalidToken("invalid bearer token")
        return Verified(known[0].authenticated(), shared)

    def acting_as(self, user: User) -> Authenticator:
        """Return an authenticator whose requests without a token are made as ``user``."""
        return replace(self, default=user.authenticated())


def as_user(user: User | str) -> User:
    """Return the User for a user name or a User.

    The groups of a given User are converted to a tuple.

    Raises:
        InvalidInput: ``user`` is neither a name nor a User, or its groups are a string.
    """
    if isinstance(user, str) and user:
        account = split_account(user)
        return account_user(*account) if account else User(user)
    if not isinstance(user, User) or not user.name:
        raise InvalidInput(f"user is {user!r}: pass a name, or User(name, groups=[...])")
    if isinstance(user.groups, str):
        raise InvalidInput(f"the groups of user {user.name!r} are {user.groups!r}: pass a list of names")
    return replace(user, groups=tuple(user.groups))


def check_users(users: Mapping[str, User]) -> dict[str, User]:
    """Validate a mapping of bearer tokens to users, and return it as a dict.

    Raises:
        InvalidInput: A token is not a string that can be sent in a header, or a value is not a User.
    """
    for token in users:
        if not token or not token.isascii() or any(character.isspace() for character in token):
            raise InvalidInput(f"users has the token {token!r}; tokens must be ASCII without spaces")
    return {token: as_user(user) for token, user in users.items()}
