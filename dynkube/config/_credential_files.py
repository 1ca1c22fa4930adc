"""Credentials in rotated files: service account tokens, client certificates."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import trio

from dynkube._logs import get_logger
from dynkube.config._credentials import Credential, bearer, check_expiry, utc_now
from dynkube.config._tls import ClientCertificate, check_pair
from dynkube.errors import CredentialError

logger = get_logger("dynkube.config")

_PERIOD = timedelta(minutes=1)


def absolute_path(path: str | os.PathLike[str]) -> str:
    """Return the absolute path, ``~`` expanded.

    Symbolic links are not resolved: the kubelet updates a projected volume by replacing one, and a resolved path would
    refer to the old files.
    """
    return str(Path(path).expanduser().absolute())


class _Rereading:
    """Base class that reads a credential from files again every minute.

    The period is client-go's. If a read fails, the previous credential is kept, with a warning in the log: files may be
    read during a rotation, and the old credential is usually valid for a while. The files are small and local, so they
    are read on the event loop: a worker thread per minute would cost more than the read.
    """

    def __init__(self, *, where: str, now: Callable[[], datetime]) -> None:
        self.where = where
        self._now = now
        self._credential: Credential | None = None
        self._read_at: datetime | None = None
        self._failing = False

    async def current(self) -> Credential:
        """Return the credential last read, at most a minute old.

        Raises:
            CredentialError: the files could never be read.
        """
        await trio.lowlevel.checkpoint()
        now = self._now()
        # The lower bound matters if the clock was set back: the files must not be trusted for longer than a minute.
        if self._read_at is None or not timedelta() <= now - self._read_at < _PERIOD:
            return self._reread(now)
        return self._credential or self._reread(now)

    async def refresh(self, rejected: Credential) -> Credential:
        """Read the files now, unless they were read since ``rejected`` was returned.

        Raises:
            CredentialError: the files could never be read.
        """
        await trio.lowlevel.checkpoint()
        if self._credential is not None and self._credential is not rejected:
            return self._credential
        return self._reread(self._now())

    def check(self) -> None:
        """Read the files now, so that a wrong path raises an error early.

        Called when the configuration is loaded, as the first request would be too late. This is blocking file I/O.

        Raises:
            CredentialError: the files cannot be read.
        """
        self._reread(self._now())

    def _reread(self, now: datetime) -> Credential:
        try:
            credential = self._read()
        except CredentialError as error:
            if self._credential is None:
                raise
            # Log a warning once, not every minute.
            level = logging.DEBUG if self._failing else logging.WARNING
            logger.log(level, "%s; continuing with the previous one", error)
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
            pass  # the exception contains the data, so it must not become the context of the error raised below
        raise CredentialError(f"{self.where}: {path} is not UTF-8 text")


class TokenFile(_Rereading):
    """A bearer token in a file. A trailing newline is ignored.

    ``fallback`` is the token to use until the file can be read: a kubeconfig may have both, and the file takes
    precedence.
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
    """A client certificate and its key in two PEM files, read again every minute.

    Files that do not match are not used, as they are being replaced.
    """

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
        """Return the certificate last read, at most a minute old.

        Raises:
            CredentialError: the files could never be read, or the certificate in them has expired.
        """
        credential = await super().current()
        now = self._now()
        if self._expires_at is not None and self._expires_at <= now:
            credential = self._reread(now)
            self._check_expiry(now)
        return credential

    def check(self) -> None:
        """Read the files now. This is blocking file I/O.

        Raises:
            CredentialError: the files cannot be read, or the certificate in them has expired.
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
        if self._credential is not None and certificate == self._credential.certificate:
            return self._credential
        try:
            expires_at = certificate.expires_at()
            check_pair(certificate)  # a rotation replaces one file after the other
        except CredentialError as error:
            raise CredentialError(f"{self.where}: {self.certificate_path}: {error}") from error
        self._expires_at = expires_at
        return Credential(certificate=certificate)

    def __repr__(self) -> str:
        return f"CertificateFiles({self.certificate_path!r}, {self.key_path!r})"
