"""Who asks: bearer tokens to users."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dynkube.errors import InvalidInput
from dynkube.testing._access.tokens import ISSUER, AccountTokens, InvalidToken, Verified
from dynkube.testing._calls import refuse
from dynkube.testing._calls.users import NOBODY, User, account_user, split_account


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticator:
    """Finds out who sends a request.

    Attributes:
        tokens: Whom each bearer token stands for.
        accounts: Verifies tokens of service accounts.
        default: Who a caller without a token, or with one that nobody knows, is taken for; ``None`` where callers
            have to say who they are.
        anonymous: Whether a caller without a token may ask anything at all; what they get is for authorization to
            say. Otherwise only public paths answer them.
    """

    tokens: Mapping[str, User] = field(default_factory=dict, repr=False)
    accounts: AccountTokens
    default: User | None = None
    anonymous: bool = False

    def identify(self, authorization: str | None, *, public: bool) -> User:
        """The user behind an ``Authorization`` header.

        Args:
            authorization: The header; ``None`` where there is none.
            public: Whether anybody may ask for this path.

        Raises:
            Unauthorized: The token stands for nobody, or there has to be one.
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
        return NOBODY

    def verify(self, token: str, audiences: Sequence[str] = ()) -> Verified:
        """Whom ``token`` stands for.

        Raises:
            InvalidToken: Nobody.
        """
        # Every known token is compared, so that how long it takes tells nothing about them.
        known = [user for text, user in self.tokens.items() if hmac.compare_digest(text.encode(), token.encode())]
        if not known:
            return self.accounts.verify(token, audiences)
        shared = tuple(audience for audience in audiences or (ISSUER,) if audience == ISSUER)
        if not shared:
            raise InvalidToken("invalid bearer token")
        return Verified(known[0].authenticated(), shared)

    def acting_as(self, user: User) -> Authenticator:
        """One that takes callers without a token for ``user``."""
        return replace(self, default=user.authenticated())


def as_user(user: User | str) -> User:
    """A user given by name or as a whole.

    Raises:
        InvalidInput: It is neither.
    """
    if isinstance(user, str) and user:
        account = split_account(user)
        return account_user(*account) if account else User(user)
    if not isinstance(user, User) or not user.name:
        raise InvalidInput(f"user is {user!r}; give a name, or User(name, groups=[...])")
    if isinstance(user.groups, str):
        raise InvalidInput(f"the groups of user {user.name!r} are {user.groups!r}; give a list of names")
    return replace(user, groups=tuple(user.groups))


def check_users(users: Mapping[str, User]) -> dict[str, User]:
    """The users of a server by their tokens.

    Raises:
        InvalidInput: A token is no text that fits into a header, or something is no user.
    """
    for token in users:
        if not token or not token.isascii() or any(character.isspace() for character in token):
            raise InvalidInput(f"users has the token {token!r}; tokens are ASCII text without spaces")
    return {token: as_user(user) for token, user in users.items()}
