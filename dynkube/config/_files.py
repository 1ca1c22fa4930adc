"""Credentials kept in files that somebody else replaces: projected service account tokens, rotated certificates."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import trio

from dynkube._logs import get_logger
from dynkube.config._credentials import Credential, bearer, check_expiry, utc_now
from dynkube.config._tls import ClientCertificate
from dynkube.errors import CredentialError

logger = get_logger("dynkube.config")

_PERIOD = timedelta(minutes=1)


def absolute_path(path: str | os.PathLike[str]) -> str:
    """The path from the root, ``~`` expanded.

    Symbolic links stay: the kubelet replaces a projected volume by turning one, and a resolved path would go on
    naming what it replaced.
    """
    return str(Path(path).expanduser().absolute())


class _Rereading:
    """Base: reads a credential from files, and again every minute (client-go's period).

    A read that fails keeps the credential one has, with a warning in the log: files are replaced while one looks, and
    the old credential is mostly good for a while. The files are small and local, so they are read in place: a worker
    thread per minute would cost more than the read.
    """

    def __init__(self, *, where: str, now: Callable[[], datetime]) -> None:
        self.where = where
        self._now = now
        self._credential: Credential | None = None
        self._read_at: datetime | None = None
        self._failing = False

    async def current(self) -> Credential:
        """The credential last read, at most a minute old.

        Raises:
            CredentialError: the files could not be read, and never could.
        """
        await trio.lowlevel.checkpoint()
        now = self._now()
        # A clock that was put back must not stretch the minute.
        if self._read_at is None or not timedelta() <= now - self._read_at < _PERIOD:
            return self._reread(now)
        return self._credential or self._reread(now)

    async def refresh(self, rejected: Credential) -> Credential:
        """Read the files now, unless that happened since ``rejected`` was given out.

        Raises:
            CredentialError: as :meth:`current`.
        """
        await trio.lowlevel.checkpoint()
        if self._credential is not None and self._credential is not rejected:
            return self._credential
        return self._reread(self._now())

    def check(self) -> None:
        """Read the files now, so that a wrong path is noticed where it was written. Blocks for them.

        Raises:
            CredentialError: as :meth:`current`.
        """
        self._reread(self._now())

    def _reread(self, now: datetime) -> Credential:
        try:
            credential = self._read()
        except CredentialError as error:
            if self._credential is None:
                raise
            # Once, and not every minute for as long as it lasts.
            level = logging.DEBUG if self._failing else logging.WARNING
            logger.log(level, "%s; going on with the one read before", error)
            self._failing = True
        else:
            self._failing = False
            if credential != self._credential:
                self._credential = credential
        self._read_at = now
        return self._credential

    def _read(self) -> Credential:
        raise NotImplementedError

    def _text(self, path: str) -> str:
        try:
            return Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise CredentialError(f"{self.where}: {path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError:
            pass  # it carries what was read, and would be the context of ours
        raise CredentialError(f"{self.where}: {path} is no text")


class TokenFile(_Rereading):
    """A bearer token in a file. The newline at its end does not count.

    ``fallback`` is the token to use until the file can be read: a kubeconfig may have both, and the file wins.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        fallback: str | None = None,
        where: str = "tokenFile",
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(where=where, now=now)
        self.path: str = absolute_path(path)
        if fallback:
            self._credential = bearer(fallback, where=where)

    def _read(self) -> Credential:
        return bearer(self._text(self.path), where=f"{self.where}: {self.path}")

    def __repr__(self) -> str:
        return f"TokenFile({self.path!r})"


class CertificateFiles(_Rereading):
    """A client certificate and its key in two PEM files. One that has expired, also in the file, raises."""

    def __init__(
        self,
        certificate: str | os.PathLike[str],
        key: str | os.PathLike[str],
        *,
        where: str = "client-certificate",
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(where=where, now=now)
        self.certificate_path: str = absolute_path(certificate)
        self.key_path: str = absolute_path(key)
        self._expires_at: datetime | None = None

    async def current(self) -> Credential:
        """The certificate last read, at most a minute old.

        Raises:
            CredentialError: the files could not be read, and never could, or what they hold has expired.
        """
        credential = await super().current()
        now = self._now()
        if self._expires_at is not None and self._expires_at <= now:
            credential = self._reread(now)
            self._check_expiry(now)
        return credential

    def check(self) -> None:
        """Read the files now.

        Raises:
            CredentialError: as :meth:`current`.
        """
        super().check()
        self._check_expiry(self._now())

    def _check_expiry(self, now: datetime) -> None:
        if self._expires_at is not None:
            check_expiry(self._expires_at, now, where=f"{self.where}: {self.certificate_path}")

    def _read(self) -> Credential:
        certificate = ClientCertificate(
            self._text(self.certificate_path).encode(),
            self._text(self.key_path).encode(),
        )
        try:
            self._expires_at = certificate.expires_at()
        except CredentialError as error:
            raise CredentialError(f"{self.where}: {self.certificate_path}: {error}") from error
        return Credential(certificate=certificate)

    def __repr__(self) -> str:
        return f"CertificateFiles({self.certificate_path!r}, {self.key_path!r})"
