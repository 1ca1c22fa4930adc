"""Who asks: what a credential is, where it comes from, and the sources that never change."""

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
    """The system's clock, aware and in UTC: what every ``now`` parameter of this package defaults to."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Credential:
    """What one request shows: header fields, and a client certificate for the connection it goes over.

    The repr names the fields and shows no value. Two credentials are the same to a caller if they are the same
    object: see :meth:`Credentials.refresh`.
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

    One that bounds its own waits may say so in an attribute ``patience`` (see :class:`Patience`): a request then
    does not cut it short. Without it, the time it takes is the request's.
    """

    async def current(self) -> Credential:
        """The credential to use now; the same object as long as it is good.

        May read a small file or run a plugin, and may so block until the plugin's deadline. Cancelling the one
        caller who runs the plugin kills it; another who waits runs it again.

        Raises:
            CredentialError: there is none to be had; the message says where it should have come from.
        """
        ...

    async def refresh(self, rejected: Credential) -> Credential:
        """The credential to try after the server answered 401 to ``rejected``.

        Callers who come at the same time share one refresh. Where nothing newer can be had, ``rejected`` itself is
        returned, and asking again with it is pointless.

        Raises:
            CredentialError: as :meth:`current`.
        """
        ...


class Patience(NamedTuple):
    """How long a source of credentials may take by itself: it bounds its own waits, as a request does.

    Attributes:
        seconds: the bound.
        interactive: somebody at a terminal may have to answer meanwhile.
    """

    seconds: float
    interactive: bool


_NONE: Final = Patience(0.0, False)


def patience_of(credentials: Credentials) -> Patience:
    """What ``credentials`` says in an attribute ``patience``; where it has none, it gets what a request has left."""
    patience = getattr(credentials, "patience", _NONE)
    return patience if isinstance(patience, Patience) else _NONE


class _Fixed:
    """Base of the sources that always give the same credential."""

    __slots__ = ("_credential",)

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    @property
    def credential(self) -> Credential:
        """The one credential, whether it has expired or not."""
        return self._credential

    async def current(self) -> Credential:
        """The one credential."""
        await trio.lowlevel.checkpoint()
        return self._credential

    async def refresh(self, rejected: Credential) -> Credential:
        """Nothing newer can be had: ``rejected`` comes back."""
        await trio.lowlevel.checkpoint()
        return rejected


class Anonymous(_Fixed):
    """No credential at all."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Credential())

    def __repr__(self) -> str:
        return "Anonymous()"


class BearerToken(_Fixed):
    """A token that never changes. White space around it is dropped; the repr does not show it.

    Raises:
        CredentialError: the token is empty, or has characters that a header cannot carry.
    """

    __slots__ = ()

    def __init__(self, token: str, *, where: str = "token") -> None:
        super().__init__(bearer(token, where=where))

    def __repr__(self) -> str:
        return "BearerToken(<hidden>)"


class BasicAuth(_Fixed):
    """User name and password (RFC 7617, as UTF-8). API servers dropped it in 1.19; proxies in front still take it.

    Raises:
        CredentialError: the user name has a colon, which the scheme cannot carry.
    """

    __slots__ = ("username",)

    def __init__(self, username: str, password: str, *, where: str = "username") -> None:
        if ":" in username:
            raise CredentialError(f"{where} has a colon, which basic authentication cannot carry")
        pair = base64.b64encode(f"{username}:{password}".encode()).decode("ascii")
        super().__init__(Credential({"Authorization": f"Basic {pair}"}))
        self.username: str = username

    def __repr__(self) -> str:
        return f"BasicAuth({self.username!r}, <hidden>)"


class StaticCertificate(_Fixed):
    """A client certificate that never changes; once it has expired, asking for it raises CredentialError."""

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
        """The certificate.

        Raises:
            CredentialError: it has expired.
        """
        await trio.lowlevel.checkpoint()
        check_expiry(self._expires_at, self._now(), where=self.where)
        return self._credential

    def __repr__(self) -> str:
        return f"StaticCertificate(<hidden>, expires {self._expires_at.isoformat()})"


class Combined:
    """Two sources as one: a token, sent over a connection with a client certificate.

    Where both give the same thing, the first wins.
    """

    __slots__ = ("_combined", "_first", "_parts", "_second")

    def __init__(self, first: Credentials, second: Credentials) -> None:
        self._first = first
        self._second = second
        self._parts: tuple[Credential, Credential] | None = None
        self._combined = Credential()

    @property
    def patience(self) -> Patience:
        """What the two take together."""
        first, second = patience_of(self._first), patience_of(self._second)
        return Patience(first.seconds + second.seconds, first.interactive or second.interactive)

    @property
    def sources(self) -> tuple[Credentials, Credentials]:
        """Both."""
        return self._first, self._second

    async def current(self) -> Credential:
        """What both give now; the same object until one of them changes."""
        return self._combine(await self._first.current(), await self._second.current())

    async def refresh(self, rejected: Credential) -> Credential:
        """Refresh both, unless somebody did since ``rejected`` was given out."""
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
    """A bearer token as a credential; white space around it (the newline of a file) is dropped.

    Raises:
        CredentialError: nothing is left of it, or a header cannot carry it. The message does not show it.
    """
    token = token.strip()
    if not token:
        raise CredentialError(f"{where} is empty")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise CredentialError(
            f"{where} has white space or other characters inside that an HTTP header cannot carry: "
            "it is not one bearer token"
        )
    return Credential({"Authorization": f"Bearer {token}"})


def check_expiry(expires_at: datetime, now: datetime, *, where: str) -> None:
    """Raise CredentialError if a certificate is no longer valid."""
    if expires_at <= now:
        raise CredentialError(
            f"{where} expired at {expires_at.isoformat()} (it is {now.isoformat(timespec='seconds')} now): "
            "get a new one, e.g. by having the kubeconfig written again"
        )
