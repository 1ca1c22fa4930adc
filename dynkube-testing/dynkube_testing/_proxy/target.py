"""The endpoint of a proxy's upstream, from the arguments of ``FaultProxy``."""

from __future__ import annotations

from typing import Protocol
from urllib.parse import urlsplit

from dynkube.errors import InvalidInput
from dynkube_testing._wire.endpoint import Endpoint


class Served(Protocol):
    """An object with an endpoint, such as a ``ControlPlane`` or a ``ServerThread``."""

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint of the server."""
        ...


def endpoint_of(
    upstream: Endpoint | Served | None, *, url: str | None, ca_pem: bytes | None, token: str | None
) -> Endpoint:
    """Return the endpoint that is given by ``upstream``, or by the other arguments.

    Raises:
        InvalidInput: Neither or both of ``upstream`` and other arguments are given, or the URL or ``ca_pem`` is
            invalid.
    """
    if upstream is None:
        if url is None:
            raise InvalidInput("pass the API server behind the proxy: FaultProxy(endpoint), or url=...")
        upstream = Endpoint(url=url, ca_pem=ca_pem, token=token)
    elif url is not None or ca_pem is not None or token is not None:
        raise InvalidInput("url=, ca_pem= and token= describe an upstream that is not given as an object; pass one")
    elif isinstance(upstream, str | bytes):
        raise InvalidInput(f"the upstream is {upstream!r}; pass an Endpoint, a ControlPlane or url={upstream!r}")
    endpoint = upstream if isinstance(upstream, Endpoint) else getattr(upstream, "endpoint", None)
    if not isinstance(endpoint, Endpoint):
        raise InvalidInput(f"the upstream is {upstream!r}; pass an Endpoint or an object with one (ControlPlane)")
    _check(endpoint)
    return endpoint


def _check(endpoint: Endpoint) -> None:
    try:
        parts = urlsplit(endpoint.url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    else:
        sound = sound and not (parts.query or parts.fragment or parts.username)
    if not sound:
        raise InvalidInput(f"url {endpoint.url!r} is not an API server's URL: pass one like https://127.0.0.1:6443")
    if endpoint.ca_pem is not None and not isinstance(endpoint.ca_pem, bytes):
        raise InvalidInput("ca_pem must be the bytes of a PEM file, like Path('ca.crt').read_bytes()")
