"""URLs as Go's package ``net/url`` parses them."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

from dynkube_testing._calls.gotext import quoted

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_ASCII_ESCAPE = re.compile(r"%(?!25)[0-7][0-9A-Fa-f]")
_NOT_IN_HOST = re.compile(r"""[^A-Za-z0-9._~!$&'()*+,;=:<>"\[\]%\u0080-\U0010ffff-]""")
_USER = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")
_PORT = re.compile(r"(:[0-9]*)?")
_PATH = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@/\[\]%-]*")


class BadURL(ValueError):
    """The text is not a URL; the message is Go's."""


@dataclass(frozen=True, slots=True)
class URL:
    """A URL.

    Attributes:
        text: The URL as given.
        scheme: The scheme, in lower case.
        host: The host with its port.
        path: The path as given, with escapes.
        query: The part after ``?``.
    """

    text: str
    scheme: str = ""
    host: str = ""
    path: str = ""
    query: str = ""

    @property
    def hostname(self) -> str:
        return self._split_host()[0]

    @property
    def port(self) -> str:
        return self._split_host()[1]

    def _split_host(self) -> tuple[str, str]:
        name, separator, port = self.host.rpartition(":")
        if not separator or not port.isdigit():
            name, port = (self.host.removesuffix(":") if not port else self.host), ""
        return (name[1:-1] if name.startswith("[") and name.endswith("]") else name), port

    @property
    def escaped_path(self) -> str:
        return self.path if _PATH.fullmatch(self.path) else quote(unquote_to_bytes(self.path), safe="/$&+,:;=@")

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The values of the query, by name; malformed ones are left out."""
        found: dict[str, list[str]] = {}
        for pair in self.query.split("&"):
            if pair and ";" not in pair and not _BAD_ESCAPE.search(pair):
                name, _, value = (part.replace("+", " ") for part in pair.partition("="))
                found.setdefault(_unescaped(name), []).append(_unescaped(value))
        return found


def _unescaped(text: str) -> str:
    return unquote_to_bytes(text).decode("utf-8", "replace")


def parse_request_uri(text: str) -> URL:
    """Return an absolute URL or path, as it may be in the first line of a request.

    Raises:
        BadURL: It is none.
    """
    try:
        _parse(text, text, via_request=True)
        # A fragment is only split off without ``via_request``.
        return _parse(text.partition("#")[0], text, via_request=False)
    except BadURL as problem:
        raise BadURL(f"parse {quoted(text)}: {problem}") from None


def is_request_uri(text: str) -> bool:
    """Return whether ``text`` is an absolute URL or path."""
    try:
        _parse(text, text, via_request=True)
    except BadURL:
        return False
    return True


def _parse(text: str, original: str, *, via_request: bool) -> URL:
    if _CONTROL.search(text):
        raise BadURL("net/url: invalid control character in URL")
    if not text and via_request:
        raise BadURL("empty url")
    if text == "*":
        return URL(original, path="*")
    if text.startswith(":"):
        raise BadURL("missing protocol scheme")
    found = _SCHEME.fullmatch(text)
    scheme, rest = (found[1].lower(), found[2]) if found else ("", text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return URL(original, scheme, query=query)
        if via_request:
            raise BadURL("invalid URI for request")
    host = ""
    if rest.startswith("//") and (scheme or (not via_request and not rest.startswith("///"))):
        authority, slash, rest = rest[2:].partition("/")
        host, rest = _host_of(scheme, authority), slash + rest
    _reject_bad_escape(rest)
    return URL(original, scheme, host, rest, query)


def _reject_bad_escape(text: str) -> None:
    if found := _BAD_ESCAPE.search(text):
        raise BadURL(f"invalid URL escape {quoted(found[0])}")


def _host_of(scheme: str, authority: str) -> str:
    user, separator, host = authority.rpartition("@")
    host = _host(scheme, host)
    if separator:
        if not _USER.fullmatch(user):
            raise BadURL("net/url: invalid userinfo")
        _reject_bad_escape(user)
    return host


def _host(scheme: str, host: str) -> str:
    begin = host.rfind("[")
    if begin > 0:
        raise BadURL("invalid IP-literal")
    if begin == 0:
        end = host.rfind("]")
        if end < 0:
            raise BadURL("missing ']' in host")
        _check_port(host[end + 1 :])
        name, zone, rest = host[1:end].partition("%25")
        address = _host_name(name)
        _check_literal(address)
        return f"[{address}{'%' if zone else ''}{_unescaped(rest)}]{host[end + 1 :]}"
    if ":" in host:
        strict = scheme in {"http", "https"}
        _check_port(host[host.index(":") if strict else host.rindex(":") :])
    return _host_name(host)


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise BadURL(f"invalid port {quoted(port)} after host")


def _check_literal(address: str) -> None:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        raise BadURL(f"invalid host: ParseAddr({quoted(address)}): unable to parse IP") from None
    if parsed.version == 4:
        raise BadURL("invalid IP-literal")


def _host_name(host: str) -> str:
    _reject_bad_escape(host)
    if found := _ASCII_ESCAPE.search(host):
        raise BadURL(f"invalid URL escape {quoted(found[0])}")
    if found := _NOT_IN_HOST.search(host):
        raise BadURL(f"invalid character {quoted(found[0])} in host name")
    return _unescaped(host)
