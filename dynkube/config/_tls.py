"""TLS settings: CAs, server name verification, client certificates."""

from __future__ import annotations

import os
import ssl
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx2

from dynkube.config._certificates import expiries
from dynkube.errors import ConfigError, CredentialError, InvalidInput
from dynkube.meta._arguments import a_type


class InsecureTLSWarning(UserWarning):
    """A third party can read or modify the traffic.

    The server's certificate is not verified, or TLS is not used. Issued once for each client; names the server, and the
    file and context with the setting.
    """


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client certificate and its private key, both PEM.

    The leaf certificate is first, followed by intermediate ones. The repr shows neither certificate nor key.

    Raises:
        InvalidInput: one of them is not bytes.
    """

    certificate_pem: bytes = field(repr=False)
    key_pem: bytes = field(repr=False)

    def __post_init__(self) -> None:
        _check_bytes("certificate_pem", self.certificate_pem)
        _check_bytes("key_pem", self.key_pem)

    def expires_at(self) -> datetime:
        """Return the notAfter of the leaf certificate.

        Raises:
            CredentialError: ``certificate_pem`` has no certificate.
        """
        try:
            return expiries(self.certificate_pem)[0]
        except ValueError as error:
            raise CredentialError(f"the client certificate {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class TLSSettings:
    """How to verify the server, and which client certificate to present.

    Attributes:
        verify: verify chain and host name. If False, each client issues an :class:`InsecureTLSWarning`.
        ca_file: PEM file of the CAs to trust instead of the system's; read again for every context.
        ca_data: the CAs as PEM bytes; takes precedence over ``ca_file``, as in a kubeconfig.
        server_name: the name for SNI and verification, if it is not the host of the URL.
        certificate: default client certificate, used if the credential has none.
        context: a ready-made context, used unchanged; of the other attributes only ``server_name`` applies then.

    Raises:
        InvalidInput: ``ca_data`` is not bytes.
    """

    verify: bool = True
    ca_file: str | None = None
    ca_data: bytes | None = field(default=None, repr=False)
    server_name: str | None = None
    certificate: ClientCertificate | None = None
    context: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        if self.ca_data is not None:
            _check_bytes("ca_data", self.ca_data)

    def ssl_context(
        self, certificate: ClientCertificate | None = None, *, now: datetime | None = None
    ) -> ssl.SSLContext:
        """Create a client context.

        Blocks to read small files; creates a new context on every call.

        Args:
            certificate: the value of :attr:`Credential.certificate`; ``None`` means :attr:`certificate`.
            now: the time that expiry is compared with; ``None`` means the system's clock.

        Returns:
            A context for connections to this server. With a custom CA it is as lenient as Go: it accepts an
            intermediate as trust anchor, and CAs without key identifiers.

        Raises:
            ConfigError: the CA is unreadable, not PEM, or expired; or both a client certificate and ``context`` are
                given.
            CredentialError: certificate and key do not match, or the key is encrypted.
        """
        certificate = certificate or self.certificate
        if self.context is not None:
            if certificate is not None:
                raise ConfigError(
                    "a client certificate and an SSLContext are mutually exclusive: "
                    "call load_cert_chain() on the context, or let dynkube create the context"
                )
            return self.context
        context = self._server_side(now or datetime.now(UTC))
        if certificate is not None:
            _load_client_certificate(context, certificate)
        return context

    def check(self, now: datetime) -> None:
        """Validate the CA as :meth:`ssl_context` does, without creating a context.

        Raises:
            ConfigError: the CA is unreadable, not PEM, or expired.
        """
        if self.verify and self.context is None:
            self._authorities(now)

    def authorities(self) -> bytes | None:
        """Return the PEM of the CAs to trust, or ``None`` for the system's.

        Blocks to read a small file.

        Raises:
            ConfigError: ``ca_file`` cannot be read.
        """
        if self.ca_data is not None or self.ca_file is None:
            return self.ca_data
        try:
            return Path(self.ca_file).read_bytes()
        except OSError as error:
            raise ConfigError(f"the certificate authority {self.ca_file} cannot be read: {error.strerror}") from error

    def _server_side(self, now: datetime) -> ssl.SSLContext:
        if not self.verify:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return context
        authorities = self._authorities(now)
        if authorities is None:
            return httpx2.create_ssl_context()  # the operating system's store, SSL_CERT_FILE and SSL_CERT_DIR
        context = ssl.create_default_context(cadata=authorities)
        # Python 3.13 made RFC 5280 strictness the default, which cluster CAs without key identifiers (EKS's among them)
        # fail: kubernetes-client/python#2394. Chain and host name are still verified.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        # Go trusts every certificate in the pool; OpenSSL before 3.13's default requires a self-signed root.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return context

    def _authorities(self, now: datetime) -> str | None:
        pem = self.authorities()
        if pem is None:
            return None
        where = (
            "certificate-authority-data" if self.ca_data is not None else f"the certificate authority {self.ca_file}"
        )
        try:
            latest = max(expiries(pem))
            text = pem.decode("ascii", "ignore")  # comments between the certificates may be in any encoding
        except ValueError as error:
            raise ConfigError(f"{where} {error}: it must contain the cluster's CA as PEM") from error
        if latest <= now:
            raise ConfigError(
                f"{where} expired at {latest.isoformat()} (it is {now.isoformat(timespec='seconds')} now): "
                "obtain the cluster's current CA, e.g. by regenerating the kubeconfig"
            )
        return text


def check_pair(certificate: ClientCertificate) -> None:
    """Check that certificate and key belong together. Blocks for some milliseconds.

    Raises:
        CredentialError: they do not match, are not PEM, or the key is encrypted.
    """
    _load_client_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), certificate)


def _load_client_certificate(context: ssl.SSLContext, certificate: ClientCertificate) -> None:
    """Load certificate and key.

    OpenSSL reads them from files only, which exist (mode 0600) during the call.
    """

    def refuse_passphrase() -> bytes:
        # Without a callback OpenSSL prompts on the terminal, and a program without one hangs.
        raise CredentialError(
            "the private key of the client certificate is encrypted: decrypt it (openssl pkey -in KEY -out KEY.plain)"
        )

    try:
        with tempfile.TemporaryDirectory(prefix="dynkube-") as directory:  # mkdtemp: 0700
            chain, key = Path(directory, "chain.pem"), Path(directory, "key.pem")
            for path, data in ((chain, certificate.certificate_pem), (key, certificate.key_pem)):
                path.touch(mode=0o600)
                path.write_bytes(data)
            context.load_cert_chain(os.fspath(chain), os.fspath(key), password=refuse_passphrase)
    except ssl.SSLError as error:
        raise CredentialError(
            f"client certificate and private key do not match or are not PEM ({error.reason or error}): "
            "check client-certificate(-data) and client-key(-data)"
        ) from error
    except OSError as error:  # a container with a read-only file system, for example
        raise CredentialError(
            "the client certificate cannot be written to temporary files, from which OpenSSL reads it "
            f"({error.strerror or error}): set TMPDIR to a directory that is writable, such as an emptyDir volume"
        ) from error


def _check_bytes(name: str, given: object) -> None:
    if not isinstance(given, bytes):
        raise InvalidInput(f"{name} is {a_type(given)}: pass PEM as bytes, as Path(...).read_bytes() returns it")
