"""Conversion of a configuration of the ``kubernetes`` package."""

from __future__ import annotations

import inspect
import ssl
import urllib.request
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol
from urllib.parse import urlsplit

import trio

from dynkube.config._config import ClientConfig
from dynkube.config._credential_files import CertificateFiles
from dynkube.config._credentials import BasicAuth, Combined, Credential, Credentials, bearer, utc_now
from dynkube.config._redact import redacted
from dynkube.config._tls import TLSSettings
from dynkube.errors import ConfigError, CredentialError, InvalidInput


class KubernetesConfiguration(Protocol):
    """The attributes of ``kubernetes.client.Configuration`` that are used here.

    A protocol, to avoid importing the package.
    """

    host: str
    verify_ssl: bool
    ssl_ca_cert: str | None
    ca_cert_data: str | bytes | None
    cert_file: str | None
    key_file: str | None
    tls_server_name: str | None
    proxy: str | None
    no_proxy: str | None
    username: str | None
    password: str | None

    @property
    def assert_hostname(self) -> bool | str | None:
        """The name to verify instead of the host; False disables this verification."""

    @property
    def refresh_api_key_hook(self) -> Callable[..., object] | None:
        """A function called with the configuration before its token is read."""

    def auth_settings(self) -> Mapping[str, object]:
        """Return the credentials, after calling the hook if there is one."""


def from_kubernetes_configuration(
    configuration: KubernetesConfiguration, *, namespace: str = "default", now: Callable[[], datetime] = utc_now
) -> ClientConfig:
    """Convert a ``kubernetes.client.Configuration``: same cluster, same user.

    Synchronous; does not import the package. The token still comes from the configuration's ``refresh_api_key_hook``,
    which is called (in a worker thread, one call at a time) whenever a request needs a token. If an exec plugin fails,
    the package only logs that, and requests are sent anonymously; :func:`load_config` raises an error instead.

    Args:
        configuration: as filled by ``load_kube_config(client_configuration=...)``.
        namespace: the default namespace, which a Configuration does not have.
        now: the clock that expiry is compared with.

    Raises:
        InvalidInput: the argument is not a Configuration.
        ConfigError: a setting has no counterpart here (``assert_hostname=False``, an asyncio hook).
        CredentialError: a client certificate file is unreadable or expired.
    """
    if not hasattr(configuration, "auth_settings") or not hasattr(configuration, "host"):
        raise InvalidInput(
            f"configuration= must be a kubernetes.client.Configuration, not {type(configuration).__name__}: "
            "for an ApiClient, pass its .configuration"
        )
    if inspect.iscoroutinefunction(configuration.refresh_api_key_hook):
        raise ConfigError("configuration= has an asyncio refresh hook, which is not supported: use load_config()")
    tls = _tls(configuration)
    tls.check(now())
    credentials: Credentials = ConfiguredToken(configuration)
    if configuration.cert_file:
        files = CertificateFiles(
            configuration.cert_file,
            configuration.key_file or configuration.cert_file,  # one file may have both, as in the library requests
            where="configuration.cert_file",
            now=now,
        )
        files.check()
        credentials = Combined(credentials, files)
    return ClientConfig(
        server=configuration.host,
        namespace=namespace,
        credentials=credentials,
        tls=tls,
        proxy_url=_proxy(configuration),
        source="configuration=",
    )


class ConfiguredToken:
    """Credentials from a Configuration's ``auth_settings()``.

    Its hook may block and is not thread-safe.
    """

    def __init__(self, configuration: KubernetesConfiguration) -> None:
        self._configuration = configuration
        self._lock = trio.Lock()
        self._held: Credential | None = None

    async def current(self) -> Credential:
        """Return the credential, after calling the hook.

        On cancellation the hook continues to run in its thread; its result is dropped.

        Raises:
            CredentialError: the hook raised.
        """
        async with self._lock:
            if self._configuration.refresh_api_key_hook is None:
                return self._hold(self._read())
            return self._hold(await trio.to_thread.run_sync(self._read, abandon_on_cancel=True))

    async def refresh(self, rejected: Credential) -> Credential:
        """Call the hook again; mostly returns ``rejected``, as hooks check only expiry.

        Raises:
            CredentialError: the hook raised.
        """
        held = await self.current()
        return rejected if held == rejected else held

    def _hold(self, credential: Credential) -> Credential:
        if self._held is None or credential != self._held:
            self._held = credential
        return self._held

    def _read(self) -> Credential:
        configuration = self._configuration
        try:
            setting = configuration.auth_settings().get("BearerToken")
        except Exception as error:  # third-party code, which may raise anything
            raise CredentialError(f"configuration.refresh_api_key_hook failed: {redacted(repr(error))}") from error
        value = str(setting.get("value") or "") if isinstance(setting, Mapping) else ""
        value = value.strip()  # the package keeps the newline of a token file
        scheme, _, rest = value.partition(" ")
        if not rest:
            return bearer(value, where="configuration.api_key") if value else self._basic()
        if scheme.lower() == "bearer":
            return bearer(rest, where="configuration.api_key")
        return Credential({"Authorization": value})

    def _basic(self) -> Credential:
        username, password = self._configuration.username, self._configuration.password
        if not username:
            return Credential()
        return BasicAuth(username, password or "", where="configuration.username").credential

    def __repr__(self) -> str:
        return "ConfiguredToken(<hidden>)"


def _tls(configuration: KubernetesConfiguration) -> TLSSettings:
    if configuration.assert_hostname is False and configuration.verify_ssl:
        raise ConfigError(
            "configuration.assert_hostname=False is not supported: set tls_server_name to the name in the certificate"
        )
    asserted = configuration.assert_hostname
    data = configuration.ca_cert_data
    if isinstance(data, bytes) and not data.lstrip().startswith(b"-----"):
        data = ssl.DER_cert_to_PEM_cert(data)
    return TLSSettings(
        verify=configuration.verify_ssl,
        ca_file=configuration.ssl_ca_cert,
        ca_data=data.encode() if isinstance(data, str) else data,
        server_name=configuration.tls_server_name or (asserted if isinstance(asserted, str) else None),
    )


def _proxy(configuration: KubernetesConfiguration) -> str | None:
    """Return the configured proxy.

    ``None`` if there is none, if ``no_proxy`` excludes the host, or if it is the proxy from the environment, which is
    read again later, with ``NO_PROXY``.
    """
    proxy = configuration.proxy
    if not proxy or proxy in urllib.request.getproxies().values():
        return None
    host = (urlsplit(configuration.host).hostname or "").lower()
    for exception in (configuration.no_proxy or "").lower().split(","):  # names and domains; no address ranges
        suffix = exception.strip().lstrip("*").lstrip(".")
        if exception.strip() == "*" or (suffix and f".{host}".endswith(f".{suffix}")):
            return None
    return proxy
