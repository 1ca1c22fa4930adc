"""Proxy settings from the environment, as kubectl reads them."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit


def proxy_from_environment(server: str, environ: Mapping[str, str]) -> str | None:
    """Return the proxy for ``server``, or ``None`` for a direct connection.

    Reads ``HTTPS_PROXY`` or ``HTTP_PROXY``, and ``NO_PROXY``, with the rules of Go's ``http.ProxyFromEnvironment``,
    which kubectl and client-go use: loopback is never proxied; ``NO_PROXY`` lists domains (which include their
    subdomains), ``.domain`` (subdomains only), IP addresses, networks in CIDR notation and ``*``; an entry may have a
    port.

    Args:
        server: base URL.
        environ: ``os.environ``.
    """
    parts = urlsplit(server)
    name = "https_proxy" if parts.scheme == "https" else "http_proxy"
    proxy = (environ.get(name.upper()) or environ.get(name) or "").strip()
    host = (parts.hostname or "").rstrip(".")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if not proxy or _is_loopback(host):
        return None
    entries = (environ.get("NO_PROXY") or environ.get("no_proxy") or "").lower().split(",")
    if any(_matches(entry.strip(), host, port) for entry in entries):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _matches(entry: str, host: str, port: int) -> bool:
    if entry in {"", "*"}:
        return entry == "*"
    address = _address(host)
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    if _address(entry) is None:  # a bare IPv6 address has colons, but no port
        head, colon, tail = entry.rpartition(":")
        if colon and tail.isdigit():
            if int(tail) != port:
                return False
            entry = head
    if (listed := _address(entry.strip("[]"))) is not None:
        return listed == address
    entry = entry.removeprefix("*")
    return host.endswith(entry) if entry.startswith(".") else host == entry or host.endswith(f".{entry}")


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
