"""The ``oidc`` auth provider, as far as it goes without writing into the user's kubeconfig.

Refreshing an id-token uses up the refresh token, and the new one would have to be written back or kubectl would be
logged out. So the id-token is used while it is good, and its end is an error that says what to do; the ``kubelogin``
exec plugin is what has replaced this provider.
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
    """A fixed id-token with the expiry it carries. The repr does not show it.

    Raises:
        CredentialError: the token cannot be sent in a header.
    """

    def __init__(self, id_token: str, *, where: str, now: Callable[[], datetime] = utc_now) -> None:
        self._credential = bearer(id_token, where=where)
        self._expires_at = _expiry(id_token)
        self._where = where
        self._now = now

    async def current(self) -> Credential:
        """The token.

        Raises:
            CredentialError: it has expired.
        """
        await trio.lowlevel.checkpoint()
        if self._expires_at is not None and self._expires_at <= self._now():
            raise CredentialError(
                f"{self._where} expired at {self._expires_at.isoformat()}: run any kubectl command with this context, "
                "which refreshes it, and load the kubeconfig again; or replace the auth-provider by the exec plugin "
                "kubelogin (https://github.com/int128/kubelogin)"
            )
        return self._credential

    async def refresh(self, rejected: Credential) -> Credential:
        """Nothing newer can be had: ``rejected`` comes back."""
        await trio.lowlevel.checkpoint()
        return rejected

    def __repr__(self) -> str:
        return f"OIDCToken(<hidden>, expires {self._expires_at.isoformat() if self._expires_at else 'unknown'})"


def _expiry(token: str) -> datetime | None:
    """The ``exp`` claim of a JWT (RFC 7519); ``None`` if it is none or has none: then the server decides."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return datetime.fromtimestamp(claims["exp"], tz=UTC)
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, OSError):
        return None
