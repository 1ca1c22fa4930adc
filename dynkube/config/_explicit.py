"""A configuration from arguments only.

No kubeconfig is searched for, and no environment variable is read.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from datetime import datetime

from dynkube.config._config import ClientConfig, Impersonation
from dynkube.config._credential_files import CertificateFiles, TokenFile, absolute_path
from dynkube.config._credentials import (
    Anonymous,
    BasicAuth,
    BearerToken,
    Combined,
    Credentials,
    StaticCertificate,
    utc_now,
)
from dynkube.config._tls import ClientCertificate, TLSSettings
from dynkube.errors import InvalidInput
from dynkube.meta._arguments import a_type

CertificateSource = ClientCertificate | tuple[str | os.PathLike[str], str | os.PathLike[str]]


def explicit_config(
    url: str,
    *,
    token: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
    basic_auth: tuple[str, str] | None = None,
    certificate: CertificateSource | None = None,
    verify: bool | str | os.PathLike[str] | ssl.SSLContext = True,
    server_name: str | None = None,
    namespace: str = "default",
    proxy_url: str | None = None,
    impersonate: Impersonation | None = None,
    now: Callable[[], datetime] = utc_now,
) -> ClientConfig:
    """Return the configuration for a server with a known address.

    Synchronous; reads only the files passed to it.

    Args:
        url: base URL of the API server, ``https://HOST:PORT``; a path prefix is kept.
        token: a bearer token.
        token_file: a file with a bearer token, read again every minute.
        basic_auth: user name and password.
        certificate: a client certificate, or the paths of certificate and key, which are read again every minute.
        verify: True: trust the system's CAs; a path: trust the CAs in that PEM file; an SSLContext: use that context
            unchanged; False: no verification, with a warning.
        server_name: name to verify the server's certificate against, if it is not the URL's host.
        namespace: default namespace for operations on single objects.
        proxy_url: proxy for every request; ``None`` uses the environment variables.
        impersonate: the user to impersonate.
        now: the clock that expiry is compared with.

    Raises:
        ConfigError: ``url`` or ``proxy_url`` is not a valid URL, or the CA file is unreadable, not PEM or expired.
        CredentialError: the token is invalid, or a token or certificate file is unreadable or expired.
        InvalidInput: arguments exclude each other or have the wrong type.
    """
    given = [
        name
        for name, value in (("token", token), ("token_file", token_file), ("basic_auth", basic_auth))
        if value is not None
    ]
    if len(given) > 1:
        raise InvalidInput(f"{' and '.join(given)} are mutually exclusive: pass one of them")
    if certificate is not None and isinstance(verify, ssl.SSLContext):
        raise InvalidInput(
            "certificate= and verify=SSLContext are mutually exclusive: call load_cert_chain() on the context, "
            "or pass the path of the CA as verify="
        )
    if not isinstance(url, str):
        raise InvalidInput(f"url is {a_type(url)}: pass a string like 'https://HOST:PORT'")
    if not isinstance(token, str | None):
        raise InvalidInput(f"token is {a_type(token)}: pass the bearer token as a string")
    tls = _tls(verify, server_name)
    tls.check(now())
    return ClientConfig(
        server=url,
        namespace=namespace or "default",
        credentials=_credentials(token, token_file, basic_auth, certificate, now),
        tls=tls,
        proxy_url=proxy_url,
        impersonate=impersonate,
        source="url=",
    )


def _tls(verify: bool | str | os.PathLike[str] | ssl.SSLContext, server_name: str | None) -> TLSSettings:
    if isinstance(verify, bool):
        return TLSSettings(verify=verify, server_name=server_name)
    if isinstance(verify, ssl.SSLContext):
        return TLSSettings(context=verify, server_name=server_name)
    if not isinstance(verify, str | os.PathLike):
        raise InvalidInput(f"verify is {a_type(verify)}: pass True, False, the path of a PEM file or an ssl.SSLContext")
    return TLSSettings(ca_file=absolute_path(verify), server_name=server_name)


def _credentials(
    token: str | None,
    token_file: str | os.PathLike[str] | None,
    basic_auth: tuple[str, str] | None,
    certificate: CertificateSource | None,
    now: Callable[[], datetime],
) -> Credentials:
    sources: list[Credentials] = []
    if token is not None:
        sources.append(BearerToken(token, where="token="))
    if token_file is not None:
        token_source = TokenFile(token_file, where="token_file=", now=now)
        token_source.check()
        sources.append(token_source)
    if basic_auth is not None:
        sources.append(BasicAuth(*basic_auth, where="basic_auth="))
    if isinstance(certificate, ClientCertificate):
        sources.append(StaticCertificate(certificate, where="certificate=", now=now))
    elif certificate is not None:
        files = CertificateFiles(*certificate, where="certificate=", now=now)
        files.check()
        sources.append(files)
    if len(sources) > 1:
        return Combined(*sources)
    return sources[0] if sources else Anonymous()
