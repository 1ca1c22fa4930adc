"""Credential type, source protocol, static sources."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

import trio

from dynkube.config._tls import ClientCertificate
from dynkube.errors import CredentialError


def utc_now() -> datetime:
    """Return the current time, timezone-aware in UTC.

    The default of every ``now`` parameter here.
    """
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Credential:
    """The credential of a request: headers, and a TLS client certificate.

    The repr shows the names of the headers, but no values. Compare credentials by identity: see
    :meth:`Credentials.refresh`.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    certificate: ClientCertificate | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "headers", MappingProxyType(dict(self.headers)))

    def __repr__(self) -> str:
        names = ", ".join(self.headers) or "none"
        return f"<Credential headers: {names}; certificate: {'yes' if self.certificate else 'no'}>"


class Credentials(Protocol):
    """A source of credentials. One instance serves all tasks of one trio run.

    A source with a timeout of its own may declare it in an attribute ``credential_timeout`` (a
    :class:`CredentialTimeout`); the request's deadline is then extended. Without this attribute, the time spent waiting
    for a credential counts against the request's deadline.
    """

    async def current(self) -> Credential:
        """Return the credential to use now; the same object as long as it is valid.

        May read a small file or run a plugin, and so may block until the plugin's deadline. Cancelling the caller that
        runs the plugin kills it; another waiting caller runs it again.

        Raises:
            CredentialError: no credential is available; the message says where it should have come from.
        """
        ...

    async def refresh(self, rejected: Credential) -> Credential:
        """Return the credential to try after a 401 for ``rejected``.

        Concurrent callers share one refresh. If there is no newer credential, ``rejected`` itself is returned, so that
        the caller does not retry.

        Raises:
            CredentialError: no credential is available; the message says where it should have come from.
        """
        ...


class CredentialTimeout(NamedTuple):
    """The timeout that a credential source applies to itself.

    Attributes:
        seconds: the maximum time to obtain a credential.
        interactive: whether the user may be prompted at a terminal.
    """

    seconds: float
    interactive: bool


_NONE: Final = CredentialTimeout(0.0, False)


def credential_timeout_of(credentials: Credentials) -> CredentialTimeout:
    """Return the ``credential_timeout`` of a source.

    For a source without one, it is 0 s, so that the request's deadline is not extended.
    """
    credential_timeout = getattr(credentials, "credential_timeout", _NONE)
    return credential_timeout if isinstance(credential_timeout, CredentialTimeout) else _NONE


class _Fixed:
    """Base class of sources that always return the same credential."""

    __slots__ = ("_credential",)

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    @property
    def credential(self) -> Credential:
        """The credential, even if it has expired."""
        return self._credential

    async def current(self) -> Credential:
        """Return the credential."""
        await trio.lowlevel.checkpoint()
        return self._credential

    async def refresh(self, rejected: Credential) -> Credential:
        """Return ``rejected``, as there is no other credential."""
        await trio.lowlevel.checkpoint()
        return rejected


class Anonymous(_Fixed):
    """No credential."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Credential())

    def __repr__(self) -> str:
        return "Anonymous()"


class BearerToken(_Fixed):
    """A fixed bearer token.

    Surrounding white space is dropped. The repr does not show the token.

    Raises:
        CredentialError: the token is empty, or has characters that a header cannot carry.
    """

    __slots__ = ()

    def __init__(self, token: str, *, where: str = "token") -> None:
        super().__init__(bearer(token, where=where))

    def __repr__(self) -> str:
        return "BearerToken(<hidden>)"


class BasicAuth(_Fixed):
    """User name and password (RFC 7617, as UTF-8).

    API servers dropped basic authentication in 1.19; proxies in front of them still accept it.

    Raises:
        CredentialError: the user name has a colon, which the scheme does not allow.
    """

    __slots__ = ("username",)

    def __init__(self, username: str, password: str, *, where: str = "username") -> None:
        if ":" in username:
            raise CredentialError(f"{where} contains a colon, which basic authentication does not allow")
        pair = base64.b64encode(f"{username}:{password}".encode()).decode("ascii")
        super().__init__(Credential({"Authorization": f"Basic {pair}"}))
        self.username: str = username

    def __repr__(self) -> str:
        return f"BasicAuth({self.username!r}, <hidden>)"


class StaticCertificate(_Fixed):
    """A fixed client certificate.

    Once it has expired, :meth:`current` raises CredentialError.
    """

    __slots__ = ("_expires_at", "_now", "where")

    def __init__(
        self,
        certificate: ClientCertificate,
        *,
        where: str = "client certificate",
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(Credential(certificate=certificate))
        self.where: str = where
        self._expires_at = certificate.expires_at()
        self._now = now

    async def current(self) -> Credential:
        """Return the certificate.

        Raises:
            CredentialError: it has expired.
        """
        await trio.lowlevel.checkpoint()
        check_expiry(self._expires_at, self._now(), where=self.where)
        return self._credential

    def __repr__(self) -> str:
        return f"StaticCertificate(<hidden>, expires {self._expires_at.isoformat()})"


class Combined:
    """Two sources combined, for example a token and a client certificate.

    If both provide the same header, or both a certificate, the first source takes precedence.
    """

    __slots__ = ("_combined", "_first", "_parts", "_second")

    def __init__(self, first: Credentials, second: Credentials) -> None:
        self._first = first
        self._second = second
        self._parts: tuple[Credential, Credential] | None = None
        self._combined = Credential()

    @property
    def credential_timeout(self) -> CredentialTimeout:
        """The sum of both timeouts."""
        first, second = credential_timeout_of(self._first), credential_timeout_of(self._second)
        return CredentialTimeout(first.seconds + second.seconds, first.interactive or second.interactive)

    @property
    def sources(self) -> tuple[Credentials, Credentials]:
        """Both sources."""
        return self._first, self._second

    async def current(self) -> Credential:
        """Return the combined credential; the same object until one of the two changes.

        Raises:
            CredentialError: one of the sources has no credential.
        """
        return self._combine(await self._first.current(), await self._second.current())

    async def refresh(self, rejected: Credential) -> Credential:
        """Refresh both, unless they were refreshed since ``rejected`` was returned.

        Raises:
            CredentialError: one of the sources has none.
        """
        if self._parts is None or rejected is not self._combined:
            return await self.current()
        first, second = self._parts
        return self._combine(await self._first.refresh(first), await self._second.refresh(second))

    def _combine(self, first: Credential, second: Credential) -> Credential:
        if self._parts is None or first is not self._parts[0] or second is not self._parts[1]:
            self._parts = (first, second)
            self._combined = Credential({**second.headers, **first.headers}, first.certificate or second.certificate)
        return self._combined

    def __repr__(self) -> str:
        return f"Combined({self._first!r}, {self._second!r})"


def bearer(token: str, *, where: str) -> Credential:
    """Return a bearer token as a credential.

    Surrounding white space (the newline of a file) is dropped.

    Raises:
        CredentialError: the token is empty, or a header cannot carry it. The message does not contain the token.
    """
    token = token.strip()
    if not token:
        raise CredentialError(f"{where} is empty")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise CredentialError(
            f"{where} is not a valid bearer token: it contains whitespace or other characters "
            "that are not allowed in an HTTP header"
        )
    return Credential({"Authorization": f"Bearer {token}"})


def check_expiry(expires_at: datetime, now: datetime, *, where: str) -> None:
    """Raise CredentialError if a certificate is no longer valid."""
    if expires_at <= now:
        raise CredentialError(
            f"{where} expired at {expires_at.isoformat()} (it is {now.isoformat(timespec='seconds')} now): "
            "obtain a new one, e.g. by regenerating the kubeconfig"
        )
