"""How a configuration becomes connection pools."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import httpx2
import trio

from dynkube.config import ClientCertificate, ClientConfig
from dynkube.errors import ConfigError
from dynkube.rest._failures import Peer
from dynkube.rest._messages import Limits
from dynkube.rest._pools import Pools
from dynkube.rest._proxy import proxy_from_environment

MakePools = Callable[[ClientCertificate | None], Awaitable[Pools]]

_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


def proxy_of(config: ClientConfig) -> str | None:
    """The proxy to go through: the configuration's, else the environment's."""
    return config.proxy_url or proxy_from_environment(config.server, os.environ)


def peer_of(config: ClientConfig, proxy_url: str | None) -> Peer:
    """Whom messages name as the other side."""
    return Peer(_address(config.server), _address(proxy_url) if proxy_url else "", config.source)


def injected(transport: httpx2.AsyncBaseTransport) -> MakePools:
    """Pools over one transport from outside, which then serves every certificate."""

    async def make(certificate: ClientCertificate | None) -> Pools:
        await trio.lowlevel.checkpoint()
        return Pools(transport, transport)

    return make


def pools_over_sockets(config: ClientConfig, limits: Limits, *, proxy_url: str | None, http2: bool) -> MakePools:
    """Pools of real connections, made anew for each client certificate.

    Raises:
        ConfigError: ``http2`` or a SOCKS proxy without the package it needs.
    """
    if http2 and importlib.util.find_spec("h2") is None:
        raise ConfigError("http2=True needs the package h2: pip install 'dynkube[http2]', or leave http2 off")
    if (proxy_url or "").startswith("socks") and importlib.util.find_spec("socksio") is None:
        raise ConfigError("a SOCKS proxy needs the package socksio: pip install 'httpx2[socks]', or use an HTTP proxy")
    encrypted = config.server.startswith("https:")

    async def make(certificate: ClientCertificate | None) -> Pools:
        # httpcore2 comes with two event loops' worth of imports; a client with an injected transport needs none of it.
        from dynkube.rest._transport import PoolTransport

        context = await trio.to_thread.run_sync(config.tls.ssl_context, certificate) if encrypted else None

        def transport(max_connections: int | None) -> PoolTransport:
            return PoolTransport(
                ssl_context=context,
                proxy_url=proxy_url,
                max_connections=max_connections,
                keepalive=limits.keepalive,
                http2=http2,
                max_head=limits.max_header_bytes,
            )

        return Pools(transport(limits.max_connections), transport(None))

    return make


def _address(url: str) -> str:
    """``host:port`` of a URL: without the user and password it may hold."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{parts.port or _PORTS.get(parts.scheme, '')}"
