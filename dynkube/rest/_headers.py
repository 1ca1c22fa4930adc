"""Request headers: user agent, credential, impersonation, content negotiation."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from dynkube.config import Credential, Impersonation
from dynkube.errors import CredentialError
from dynkube.rest._messages import Request

RawHeaders = list[tuple[bytes, bytes]]


def default_user_agent() -> str:
    """Return the ``User-Agent``, which identifies the client in audit logs.

    It is ``dynkube/VERSION (python/3.x; os)``.
    """
    try:
        version = importlib.metadata.version("dynkube")
    except importlib.metadata.PackageNotFoundError:  # run from a source tree that is not installed
        version = "unknown"
    return f"dynkube/{version} (python/{sys.version_info.major}.{sys.version_info.minor}; {platform.system().lower()})"


def compose(
    request: Request,
    credential: Credential,
    impersonate: Impersonation | None,
    *,
    user_agent: str,
    further: Mapping[str, str] = MappingProxyType({}),
    gzip: bool = False,
) -> RawHeaders:
    """Return all headers of a request.

    Precedence, from high to low: credential and impersonation, headers of the request, defaults, headers of observers.

    Args:
        request: the request.
        credential: the credential to send.
        impersonate: the user to impersonate.
        user_agent: the default ``User-Agent``.
        further: headers of observers (``traceparent``).
        gzip: whether the response may be compressed.

    Raises:
        CredentialError: a credential has characters that a header cannot carry. The message does not contain it.
    """
    own = {"user-agent": user_agent, "accept": request.accept, "accept-encoding": "gzip" if gzip else "identity"}
    if request.body is not None:
        own["content-type"] = request.content_type
    fields: dict[str, str] = {}
    for given in (further, own, request.headers):
        fields.update({name.lower(): value for name, value in given.items()})
    if impersonate is not None:
        fields = {name: value for name, value in fields.items() if not name.startswith("impersonate-")}
    for name, value in credential.headers.items():
        if not value.isprintable():
            raise CredentialError(f"the credential's {name} has characters that are not allowed in an HTTP header")
        fields[name.lower()] = value.strip()
    raw = _encode(fields.items())
    if impersonate is not None:
        raw += _encode(impersonate.headers())
    return raw


def joined(pairs: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Return headers with lower-case names.

    Values of a repeated name are joined by a comma, as HTTP allows.
    """
    headers: dict[str, str] = {}
    for name, value in pairs:
        key = name.lower()
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


def _encode(pairs: Iterable[tuple[str, str]]) -> RawHeaders:
    return [(name.encode("ascii"), value.encode("utf-8")) for name, value in pairs]
