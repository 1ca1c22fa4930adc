"""Protection of a server without authentication from requests by web pages.

Any web page in a browser on the same machine can send requests to a server on loopback. It can use forms and scripts;
these requests have a foreign ``Origin``, or ``Sec-Fetch-Site: cross-site``. Or it can use DNS rebinding, which makes
the name of the page's own host resolve to 127.0.0.1; these requests have that name as their ``Host``.
``kubectl proxy`` has the same problem and the same solution: https://github.com/kubernetes/kubectl ``--accept-hosts``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from urllib.parse import urlsplit

from dynkube.errors import InvalidInput
from dynkube_testing._calls.refuse import plain
from dynkube_testing._schemas.patterns import BadPattern, Pattern, compile_pattern
from dynkube_testing._wire.http import HTTPRequest

_WITH_BODY = {"POST", "PUT", "PATCH"}
_DEFAULT_PORTS = {"http": 80, "https": 443}


class BrowserGuard:
    """Rejects requests whose headers show that a foreign web page may have sent them.

    Args:
        host: The address on which the server listens. It is accepted as the host of requests. If the server listens on
            all interfaces, any IP address is accepted: DNS rebinding needs a host name.
        accept_hosts: Regular expressions in RE2 syntax for further hosts. Each must match the whole host name without
            the port, ignoring case.

    Raises:
        InvalidInput: One of ``accept_hosts`` is not a valid regular expression.
    """

    def __init__(self, host: str, accept_hosts: Sequence[str] = ()) -> None:
        if isinstance(accept_hosts, str):
            raise InvalidInput(f"accept_hosts is {accept_hosts!r}: pass a list of regular expressions")
        self._host = _without_brackets(host).lower()
        self._any_address = (own := _address(self._host)) is not None and own.is_unspecified
        self._accepted = [_whole(pattern) for pattern in accept_hosts]

    def check(self, request: HTTPRequest) -> None:
        """Check the headers of a request.

        Raises:
            Forbidden: The ``Host`` is not accepted, or the request comes from a web page of another origin.
            UnsupportedMediaType: It is a browser's POST, PUT or PATCH without a Content-Type.
        """
        given = request.headers.get("host", "")
        if not self._accepts(_split(f"//{given}")[0]):
            raise _forbidden(
                f"the Host header is {given!r}, which is neither loopback nor allowed by this server; without "
                "authentication all other hosts are refused, as web pages could use DNS rebinding: start it with "
                "--accept-hosts (accept_hosts=[...]) and that name, or with a token"
            )
        origin = request.headers.get("origin")
        if origin is not None and not _same_origin(origin, given):
            raise _forbidden(
                f"the Origin header is {origin!r}: without authentication this server refuses web pages of origins "
                f"other than {given!r}; start it with a token"
            )
        if request.headers.get("sec-fetch-site", "").strip().lower() == "cross-site":
            raise _forbidden(
                "the Sec-Fetch-Site header is 'cross-site': without authentication this server refuses requests "
                "from web pages of other sites; start it with a token"
            )
        # Browsers before 2019 send neither of these headers. Other clients may omit the Content-Type, as kubernetes 37.
        browser = "mozilla" in request.headers.get("user-agent", "").lower()
        if browser and request.method in _WITH_BODY and not request.content_type:
            message = f"a {request.method} requires a Content-Type header, such as application/json: "
            raise plain(415, "UnsupportedMediaType", message + "without one any web page could make a browser send it")

    def _accepts(self, host: str) -> bool:
        if not host:
            return False
        if host in {"localhost", self._host} or any(pattern.found_in(host) for pattern in self._accepted):
            return True
        address = _address(host)
        return address is not None and (address.is_loopback or self._any_address)


def _forbidden(why: str) -> Exception:
    return plain(403, "Forbidden", f"forbidden: {why}")


def _whole(pattern: str) -> Pattern:
    try:
        compile_pattern(pattern)
        return compile_pattern(f"^(?i:{pattern})$")
    except BadPattern as error:
        raise InvalidInput(f"accept_hosts has {pattern!r}: {error}") from None


def _same_origin(origin: str, host: str) -> bool:
    scheme = origin.partition("://")[0].lower()
    named, port = _split(origin)
    own, own_port = _split(f"//{host}")
    default = _DEFAULT_PORTS.get(scheme)
    return bool(named) and named == own and (port or default) == (own_port or default)


def _split(url: str) -> tuple[str, int | None]:
    """Return the host of a URL, in lower case without a trailing dot, and the port.

    The host is ``""`` if the URL is malformed; the port is ``None`` if the URL has none.
    """
    try:
        parts = urlsplit(url)
        return (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:
        return "", None


def _without_brackets(host: str) -> str:
    return host.removeprefix("[").removesuffix("]")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
