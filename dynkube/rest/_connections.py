"""Creation of connection pools from a client configuration."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import httpx2
import trio

from dynkube.config import ClientCertificate, ClientConfig
from dynkube.config._config import checked_proxy
from dynkube.errors import ConfigError
from dynkube.rest._failures import Peer
from dynkube.rest._messages import Limits
from dynkube.rest._pools import Pools
from dynkube.rest._proxy import proxy_from_environment

MakePools = Callable[[ClientCertificate | None], Awaitable[Pools]]

_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


def proxy_of(config: ClientConfig) -> str | None:
    """Return the proxy URL: from the configuration, or else from the environment.

    Raises:
        ConfigError: the environment has no valid URL.
    """
    if config.proxy_url:
        return config.proxy_url
    found = proxy_from_environment(config.server, os.environ)
    if found is None:
        return None
    variable = "HTTPS_PROXY" if config.server.startswith("https:") else "HTTP_PROXY"
    return checked_proxy(found, field_name=variable, source="")


def peer_of(config: ClientConfig, proxy_url: str | None) -> Peer:
    """Return the description of the server and the proxy for error messages."""
    return Peer(_address(config.server), _address(proxy_url) if proxy_url else "", config.source)


def injected(transport: httpx2.AsyncBaseTransport) -> MakePools:
    """Return a factory of pools that all use ``transport``, whatever the certificate."""

    async def make(certificate: ClientCertificate | None) -> Pools:
        await trio.lowlevel.checkpoint()
        return Pools(transport, transport)

    return make


def pools_over_sockets(config: ClientConfig, limits: Limits, *, proxy_url: str | None, http2: bool) -> MakePools:
    """Return a factory of pools over real connections.

    It is called once for each client certificate.

    Raises:
        ConfigError: the package needed for ``http2`` or a SOCKS proxy is not installed.
    """
    if http2 and importlib.util.find_spec("h2") is None:
        raise ConfigError("http2=True requires the package h2: pip install 'dynkube[http2]', or omit http2")
    if (proxy_url or "").startswith("socks") and importlib.util.find_spec("socksio") is None:
        raise ConfigError(
            "a SOCKS proxy requires the package socksio: pip install 'httpx2[socks]', or use an HTTP proxy"
        )
    # Takes 50 ms. Not at the first request, when it would block the event loop beside informers; and not at the top, as
    # a client with an injected transport does not need it.
    from dynkube.rest._transport import PoolTransport

    encrypted = config.server.startswith("https:")

    async def make(certificate: ClientCertificate | None) -> Pools:
        context = await trio.to_thread.run_sync(config.tls.ssl_context, certificate) if encrypted else None

        def transport(max_connections: int | None, *, http2: bool) -> PoolTransport:
            return PoolTransport(
                ssl_context=context,
                proxy_url=proxy_url,
                max_connections=max_connections,
                keepalive=limits.keepalive,
                http2=http2,
                max_head=limits.max_header_bytes,
            )

        long = transport(None, http2=http2)
        upgradable = transport(None, http2=False) if http2 else long
        return Pools(transport(limits.max_connections, http2=http2), long, upgradable)

    return make


def _address(url: str) -> str:
    """Return ``host:port`` of a URL, without user and password."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{parts.port or _PORTS.get(parts.scheme, '')}"
