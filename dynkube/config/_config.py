"""``ClientConfig``: address, TLS and credentials of a cluster."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, urlsplit

from dynkube.config._credentials import Anonymous, Credentials
from dynkube.config._tls import TLSSettings
from dynkube.errors import ConfigError

_PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
# RFC 9110 tokens except '%', which the server parses as the start of an escape.
_HEADER_NAME = string.ascii_letters + string.digits + "!#$&'*+-.^_`|~"


@dataclass(frozen=True, slots=True, kw_only=True)
class Impersonation:
    """User impersonation.

    The API server authorizes it by RBAC (verb ``impersonate``).

    Attributes:
        user: the user to act as.
        groups: groups of the user.
        uid: UID of the user.
        extra: keys and their values, as in ``UserInfo``.

    Raises:
        ConfigError: ``user`` is empty, or an attribute has the wrong type or line breaks.
    """

    user: str
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.user:
            raise ConfigError("impersonation requires a user: groups, uid and extra cannot be impersonated alone")
        if isinstance(self.groups, str) or any(isinstance(values, str) for values in self.extra.values()):
            raise ConfigError("impersonation: groups and the values of extra must be lists of strings, not a string")
        object.__setattr__(self, "groups", tuple(self.groups))
        object.__setattr__(self, "extra", {key: tuple(values) for key, values in self.extra.items()})
        for name, value in self.headers():
            if any(character in value for character in "\r\n\0"):
                raise ConfigError(f"impersonation: {name} must be a string without line breaks or NUL")

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Return the headers to send as pairs, one for each value."""
        pairs = [("Impersonate-User", self.user)]
        if self.uid:
            pairs.append(("Impersonate-Uid", self.uid))
        pairs += [("Impersonate-Group", group) for group in self.groups]
        for key, values in self.extra.items():
            pairs += [(f"Impersonate-Extra-{_escape_key(key)}", value) for value in values]
        return tuple(pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """Address, TLS settings and credentials of a cluster.

    Attributes:
        server: base URL of the API, optionally with a path prefix; a trailing slash is dropped.
        namespace: the context's namespace, the default for operations on single objects.
        credentials: the source of credentials.
        tls: CA, server name and client certificate.
        proxy_url: proxy for every request (http, https, socks5); ``None`` uses the environment variables.
        impersonate: the user to impersonate.
        source: where the configuration came from, for messages (``"kubeconfig /home/me/.kube/config, context
            'kind'"``).

    Raises:
        ConfigError: server or proxy_url is not a valid URL.
    """

    server: str
    namespace: str = "default"
    credentials: Credentials = field(default_factory=Anonymous)
    tls: TLSSettings = field(default_factory=TLSSettings)
    proxy_url: str | None = None
    impersonate: Impersonation | None = None
    source: str = ""

    def __post_init__(self) -> None:
        parts = _split_url(self.server, field_name="server", source=self.source)
        if parts.scheme not in {"http", "https"}:
            raise self._error(f"server {_shown(parts)!r} must start with https:// or http://")
        if parts.query or parts.fragment:
            raise self._error(f"server {_shown(parts)!r} must not have a query or fragment ('?', '#')")
        if parts.username is not None or parts.password is not None:
            raise self._error(
                f"server {_shown(parts)!r} must not contain a user or password: use a token or basic authentication"
            )
        object.__setattr__(self, "server", _normal(self.server, parts).rstrip("/"))
        if self.proxy_url is not None:
            proxy = checked_proxy(self.proxy_url, field_name="proxy-url", source=self.source)
            object.__setattr__(self, "proxy_url", proxy)

    def _error(self, message: str) -> ConfigError:
        return ConfigError(f"{self.source}: {message}" if self.source else message)

    def __repr__(self) -> str:
        shown = [f"server={self.server!r}", f"namespace={self.namespace!r}", f"credentials={self.credentials!r}"]
        shown.append(f"tls={self.tls!r}")
        if self.proxy_url is not None:
            shown.append(f"proxy_url={_shown(urlsplit(self.proxy_url))!r}")
        if self.impersonate is not None:
            shown.append(f"impersonate={self.impersonate!r}")
        shown.append(f"source={self.source!r}")
        return f"ClientConfig({', '.join(shown)})"


def checked_proxy(url: str, *, field_name: str, source: str) -> str:
    """Return the URL of a proxy, its scheme in lower case.

    Args:
        url: the URL.
        field_name: what has set it, for messages.
        source: where that is, for messages; ``""`` if ``field_name`` says it.

    Raises:
        ConfigError: not a valid URL, or of a scheme that is not supported.
    """
    parts = _split_url(url, field_name=field_name, source=source)
    if parts.scheme not in _PROXY_SCHEMES:
        prefix = f"{source}: " if source else ""
        raise ConfigError(f"{prefix}{field_name} {_shown(parts)!r} must start with one of {', '.join(_PROXY_SCHEMES)}")
    return _normal(url, parts)


def _normal(url: str, parts: SplitResult) -> str:
    """Return the URL without surrounding spaces, its scheme in lower case: what uses it looks for ``https:``."""
    return parts.scheme + url.strip()[len(parts.scheme) :]


def _escape_key(key: str) -> str:
    """Percent-encode an extra key for use in a header name, as the server expects."""
    return "".join(character if character in _HEADER_NAME else quote(character, safe="") for character in key)


def _split_url(url: str, *, field_name: str, source: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        usable = bool(parts.hostname) and parts.port != 0 and not re.search(r"[\s\x00-\x1f]", url.strip())
    except ValueError:  # an unclosed bracket, an invalid port
        parts, usable = SplitResult("", "", "", "", ""), False
    if not usable:
        prefix = f"{source}: " if source else ""
        shown = "as given" if "@" in url else repr(re.split("[?#]", url.strip())[0])  # hide a password or token
        missing = "" if "://" in url else ", it has no scheme"
        raise ConfigError(
            f"{prefix}{field_name} {shown} is not a valid URL{missing}: expected for example https://HOST:PORT"
        )
    return parts


def _shown(parts: SplitResult) -> str:
    """Return the URL with user and password hidden."""
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"<hidden>@{host}" if "@" in parts.netloc else host).geturl()
