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
    address = _address(host.partition("%")[0])
    if (network := _network(entry)) is not None:
        return address is not None and address in network
    name, number = _split_port(entry)
    if number not in {"", str(port)}:
        return False
    listed = _address(name)
    if address is not None or listed is not None:
        return address == listed
    domain = name.removeprefix("*") if name.startswith("*.") else name
    return domain != "" and (host.endswith(domain if domain.startswith(".") else f".{domain}") or host == domain)


def _split_port(entry: str) -> tuple[str, str]:
    """Return host and port of an entry, as Go's ``net.SplitHostPort``; an address of IPv6 with a port has brackets."""
    head, colon, port = entry.rpartition(":")
    if not colon:
        return entry, ""
    if head.startswith("[") and head.endswith("]"):
        return head[1:-1], port
    return (entry, "") if ":" in head else (head, port)


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _network(entry: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    head, slash, length = entry.partition("/")
    if not slash or not length.isdecimal():  # no netmask: 10.0.0.0/255.0.0.0
        return None
    try:
        network = ipaddress.ip_network(f"{head}/{length}", strict=False)
    except ValueError:
        return None
    first = network.network_address
    if isinstance(first, ipaddress.IPv6Address) and first.ipv4_mapped is not None:
        return ipaddress.IPv4Network((first.ipv4_mapped, network.prefixlen - 96))
    return network


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return an IP address, and for one of IPv4 that is mapped to IPv6 that of IPv4: to Go they are equal."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
