"""The ``oidc`` auth provider, without refreshing tokens.

Refreshing an id-token invalidates the refresh token. The new refresh token would have to be written to the user's
kubeconfig, because otherwise kubectl would be logged out. So the id-token is used until it expires, and then an error
gives the fix: use the exec plugin ``kubelogin``, which has replaced this provider.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime

import trio

from dynkube.config._credentials import Credential, bearer, utc_now
from dynkube.errors import CredentialError


class OIDCToken:
    """A fixed id-token with the expiry from its claims. The repr does not show it.

    Raises:
        CredentialError: the token cannot be sent in a header.
    """

    def __init__(self, id_token: str, *, where: str, now: Callable[[], datetime] = utc_now) -> None:
        self._credential = bearer(id_token, where=where)
        self._expires_at = _expiry(id_token)
        self._where = where
        self._now = now

    async def current(self) -> Credential:
        """Return the token.

        Raises:
            CredentialError: it has expired.
        """
        await trio.lowlevel.checkpoint()
        if self._expires_at is not None and self._expires_at <= self._now():
            raise CredentialError(
                f"{self._where} expired at {self._expires_at.isoformat()}: run any kubectl command with this context, "
                "which refreshes it, and load the kubeconfig again; or replace the auth-provider with the exec plugin "
                "kubelogin (https://github.com/int128/kubelogin)"
            )
        return self._credential

    async def refresh(self, rejected: Credential) -> Credential:
        """Return ``rejected``, as there is no other credential."""
        await trio.lowlevel.checkpoint()
        return rejected

    def __repr__(self) -> str:
        return f"OIDCToken(<hidden>, expires {self._expires_at.isoformat() if self._expires_at else 'unknown'})"


def _expiry(token: str) -> datetime | None:
    """Return the ``exp`` claim of a JWT (RFC 7519).

    Returns ``None`` without one: the server decides then.
    """
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return datetime.fromtimestamp(claims["exp"], tz=UTC)
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, OSError):
        return None
