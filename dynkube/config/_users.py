"""The ``user`` section of a kubeconfig: its credentials, as in client-go."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from dynkube.config._config import Impersonation
from dynkube.config._credential_files import CertificateFiles, TokenFile
from dynkube.config._credentials import (
    Anonymous,
    BasicAuth,
    BearerToken,
    Combined,
    Credentials,
    StaticCertificate,
    check_expiry,
)
from dynkube.config._entries import KubeconfigEntry
from dynkube.config._exec import ExecCommand, ExecPlugin
from dynkube.config._oidc import OIDCToken
from dynkube.config._tls import ClientCertificate
from dynkube.errors import ConfigError, CredentialError

_API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_MODES = ("Never", "IfAvailable", "Always")


def read_credentials(
    user: KubeconfigEntry,
    *,
    cluster: Callable[[], Mapping[str, object]],
    exec_timeout: float | None,
    now: Callable[[], datetime],
) -> Credentials:
    """Return the credentials of a user.

    As in client-go, a plugin runs only if there is no token, password or client certificate. A client certificate is
    combined with a token or password.

    Args:
        user: the entry.
        cluster: returns ``spec.cluster`` for a plugin with ``provideClusterInfo``.
        exec_timeout: seconds a plugin may run; ``None`` means the default.
        now: the clock that expiry is compared with.

    Raises:
        ConfigError: fields are malformed, contradict each other or are not supported.
        CredentialError: a file cannot be read, or a certificate has expired.
    """
    certificate = _certificate(user, now)
    token, password = _token(user, now), _basic_auth(user)
    if token is not None and password is not None:
        raise user.error("token", "and username/password are mutually exclusive: remove one of them")
    plugin = _plugin(user, cluster, exec_timeout, now)  # checked also if it is not used
    authorization = token or password or (plugin if certificate is None else None) or _auth_provider(user, now)
    if authorization is not None and certificate is not None:
        return Combined(authorization, certificate)
    return authorization or certificate or Anonymous()


def read_impersonation(user: KubeconfigEntry) -> Impersonation | None:
    """Return the user to impersonate.

    Reads ``as``, ``as-uid``, ``as-groups`` and ``as-user-extra``.

    Raises:
        ConfigError: one of the other fields is set without ``as``.
    """
    name, uid, groups = user.text("as"), user.text("as-uid"), user.texts("as-groups")
    extra = user.entry("as-user-extra")
    values = {key: extra.texts(key) for key in extra.values} if extra is not None else {}
    if not name:
        for field, value in (("as-uid", uid), ("as-groups", groups), ("as-user-extra", values)):
            if value:
                raise user.error(field, "requires 'as': set it to the user to impersonate")
        return None
    try:
        return Impersonation(user=name, uid=uid, groups=groups, extra=values)
    except ConfigError as error:
        raise ConfigError(f"{user.where()}: {error}") from error


def _token(user: KubeconfigEntry, now: Callable[[], datetime]) -> Credentials | None:
    token, path = user.text("token"), user.path("tokenFile")
    if path is not None:  # with both token and tokenFile, the file takes precedence once it can be read
        source = TokenFile(path, fallback=token or None, where=user.where("tokenFile"), now=now)
        source.check()
        return source
    return BearerToken(token, where=user.where("token")) if token else None


def _basic_auth(user: KubeconfigEntry) -> BasicAuth | None:
    username, password = user.text("username"), user.text("password")
    if not username and password:
        raise user.error("password", "requires username: set it to the user, or remove the password")
    if not username:
        return None
    return BasicAuth(username, password, where=user.where("username"))


def _certificate(user: KubeconfigEntry, now: Callable[[], datetime]) -> Credentials | None:
    certificate, key = user.data("client-certificate-data"), user.data("client-key-data")
    # Data takes precedence over a path, as for the CA.
    certificate_path = user.path("client-certificate") if certificate is None else None
    key_path = user.path("client-key") if key is None else None
    has_certificate = certificate is not None or certificate_path is not None
    has_key = key is not None or key_path is not None
    if not has_certificate and not has_key:
        return None
    if not has_key:
        raise user.error("client-key", "or client-key-data is missing: a client certificate requires its private key")
    if not has_certificate:
        raise user.error(
            "client-certificate", "or client-certificate-data is missing: a key requires its client certificate"
        )
    if certificate_path is not None and key_path is not None:
        files = CertificateFiles(certificate_path, key_path, where=user.where("client-certificate"), now=now)
        files.check()
        return files
    pair = ClientCertificate(
        certificate if certificate is not None else _read(user, "client-certificate", certificate_path),
        key if key is not None else _read(user, "client-key", key_path),
    )
    where = user.where("client-certificate-data" if certificate is not None else "client-certificate")
    try:
        check_expiry(pair.expires_at(), now(), where="the client certificate")
    except CredentialError as error:
        raise CredentialError(f"{where}: {error}") from error
    return StaticCertificate(pair, where=f"{where}: the client certificate", now=now)


def _read(user: KubeconfigEntry, field: str, path: str | None) -> bytes:
    assert path is not None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CredentialError(f"{user.where(field)}: {path} cannot be read: {error.strerror}") from error


def _plugin(
    user: KubeconfigEntry,
    cluster: Callable[[], Mapping[str, object]],
    timeout: float | None,
    now: Callable[[], datetime],
) -> ExecPlugin | None:
    section = user.entry("exec")
    if section is None:
        return None
    if user.entry("auth-provider") is not None:
        raise user.error("auth-provider", "and exec are mutually exclusive: remove one of them")
    command, version, mode = section.text("command"), section.text("apiVersion"), section.text("interactiveMode")
    if not command:
        raise section.error("command", "is missing: set it to the program to run")
    if version not in _API_VERSIONS:
        raise section.error("apiVersion", f"must be {' or '.join(_API_VERSIONS)}: regenerate the kubeconfig")
    if not mode and version == _API_VERSIONS[0]:
        raise section.error("interactiveMode", f"is missing, which v1 requires: set it to one of {', '.join(_MODES)}")
    if mode and mode not in _MODES:
        raise section.error("interactiveMode", f"must be one of {', '.join(_MODES)}")
    if os.sep in command or "/" in command:  # a path, relative to the file; a bare name is looked up on PATH
        command = section.path("command") or command
    plugin = ExecCommand(
        command=command,
        args=section.texts("args"),
        env=_environment(section),
        api_version=version,
        interactive_mode=mode or "IfAvailable",
        install_hint=section.text("installHint"),
        cluster=cluster() if section.flag("provideClusterInfo") else None,
        where=section.where(),
    )
    return ExecPlugin(plugin, timeout=timeout, now=now)


def _environment(section: KubeconfigEntry) -> dict[str, str]:
    environment = {}
    for variable in section.entries("env"):
        if not variable.text("name"):
            raise variable.error("name", "is missing: set it to the name of an environment variable")
        # As in client-go the pair is one text: the name "A=B" sets A.
        name, _, value = f"{variable.text('name')}={variable.text('value')}".partition("=")
        environment[name] = value
    return environment


def _auth_provider(user: KubeconfigEntry, now: Callable[[], datetime]) -> Credentials | None:
    provider = user.entry("auth-provider")
    if provider is None:
        return None
    name, config = provider.text("name"), provider.entry("config")
    token = config.text("id-token") if config is not None else ""
    if name == "oidc" and token:
        return OIDCToken(token, where=f"{provider.where()}.config.id-token", now=now)
    instead = {
        "gcp": "install gke-gcloud-auth-plugin and run 'gcloud container clusters get-credentials CLUSTER'",
        "azure": "install kubelogin (https://github.com/Azure/kubelogin) and run 'kubelogin convert-kubeconfig'",
        "oidc": "log in to obtain an id-token, or use the exec plugin kubelogin instead",
    }.get(name, "use an exec plugin instead")
    raise provider.error(
        "name", f"{name!r} provides no credential (kubectl removed all providers except oidc): {instead}"
    )
