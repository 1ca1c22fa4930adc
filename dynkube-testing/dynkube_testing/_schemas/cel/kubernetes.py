"""Kubernetes' functions: addresses, URLs, quantities, semantic versions and named formats."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial, total_ordering

from dynkube_testing._calls.gotext import quoted
from dynkube_testing._kinds import naming
from dynkube_testing._schemas.cel.errors import EvaluationError, no_overload
from dynkube_testing._schemas.cel.literals import INT64
from dynkube_testing._schemas.cel.standard import Function
from dynkube_testing._schemas.cel.values import NONE, Address, Network, Optional, Quantity, Value
from dynkube_testing._schemas.formats import FORMATS
from dynkube_testing._schemas.go_urls import URL, BadURL, is_request_uri, parse_request_uri
from dynkube_testing._schemas.quantities import parse

_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def _holds(function: Callable[..., object]) -> Function:
    """Return a function that tells whether ``function`` accepts its arguments."""

    def holds(*arguments: Value) -> bool:
        try:
            function(*arguments)
        except EvaluationError:
            return False
        return True

    return holds


# ── addresses ─────────────────────────────────────────────────────────────────────────────────


def _address(text: str) -> Address:
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        problem = f"conversion from string: ParseAddr({quoted(text)}): {_address_problem(text)}"
        raise EvaluationError(f"IP Address {quoted(text)} parse error during {problem}") from None
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.scope_id:
            raise EvaluationError(f"IP address {quoted(text)} with zone value is not allowed")
        if ip.ipv4_mapped:
            raise EvaluationError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return Address(ip)


def _address_problem(text: str) -> str:
    """Return Go's message for a text that is not an IP address; those about IPv6 are not distinguished."""
    if "." not in text or ":" in text.partition(".")[0]:
        return "unable to parse IP"
    fields = text.split(".")
    for index, part in enumerate(fields):
        if wrong := re.search("[^0-9]", part):
            rest = ".".join([part[wrong.start() :], *fields[index + 1 :]])
            return f"unexpected character (at {quoted(rest)})"
        if not part:
            at = text if not index else ".".join(["", *fields[index:]])
            return f"IPv4 field must have at least one digit (at {quoted(at)})"
        if len(part) > 1 and part[0] == "0":
            return "IPv4 field has octet with leading zero"
        if int(part) > 255:
            return "IPv4 field has value >255"
        if index == 4:
            return "IPv4 address too long"
    return "IPv4 address too short"


def _network(text: str) -> Network:
    wrong = "network address parse error during conversion from string: "
    address, separator, bits = text.rpartition("/")
    why = f"netip.ParsePrefix({quoted(text)}): "
    if not separator:
        raise EvaluationError(f"{wrong}{wrong}{why}no '/'")
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        raise EvaluationError(f"{wrong}{wrong}{why}ParseAddr({quoted(address)}): unable to parse IP") from None
    if isinstance(ip, ipaddress.IPv6Address) and ip.scope_id:
        raise EvaluationError(f"{wrong}{wrong}{why}IPv6 zones cannot be present in a prefix")
    if not re.fullmatch("0|[1-9][0-9]{0,2}", bits):
        raise EvaluationError(f"{wrong}{wrong}{why}bad bits after slash: {quoted(bits)}")
    if int(bits) > ip.max_prefixlen:
        raise EvaluationError(f"{wrong}{wrong}{why}prefix length out of range")
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
        raise EvaluationError(f"{wrong}IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return Network(ip, int(bits))


def _bits(ip: ipaddress.IPv4Address | ipaddress.IPv6Address, prefix: int) -> int:
    return int(ip) >> (ip.max_prefixlen - prefix)


def _argument(text: str) -> Address:
    try:
        return _address(text)
    except EvaluationError:
        raise no_overload() from None  # kube-apiserver does not report the error of the argument


def _contains_ip(network: Network, other: Value) -> bool:
    ip = (_argument(other) if isinstance(other, str) else other).ip
    return ip.version == network.ip.version and _bits(ip, network.prefix) == _bits(network.ip, network.prefix)


def _contains_network(network: Network, other: Value) -> bool:
    inner = _network(other) if isinstance(other, str) else other
    return network.prefix <= inner.prefix and _contains_ip(network, Address(inner.ip))


def _masked(network: Network) -> Network:
    shift = network.ip.max_prefixlen - network.prefix
    return Network(type(network.ip)(int(network.ip) >> shift << shift), network.prefix)


def _is_global(address: Address) -> bool:
    ip = address.ip
    broadcast = isinstance(ip, ipaddress.IPv4Address) and int(ip) == 2**32 - 1
    return not (broadcast or ip.is_unspecified or ip.is_loopback or ip.is_multicast or ip.is_link_local)


def _is_link_local_multicast(address: Address) -> bool:
    ip = address.ip
    if isinstance(ip, ipaddress.IPv4Address):
        return int(ip) >> 8 == 0xE00000
    return int(ip) >> 112 & 0xFF0F == 0xFF02


# ── URLs and quantities ───────────────────────────────────────────────────────────────────────


def _url(text: str) -> URL:
    try:
        return parse_request_uri(text)
    except BadURL as problem:
        raise EvaluationError(f"URL parse error during conversion from string: {problem}") from None


def _quantity(text: str) -> Quantity:
    amount = parse(text)
    if amount is None:
        raise EvaluationError(_QUANTITY)
    return Quantity(amount)


def _is_integer(quantity: Quantity) -> bool:
    return quantity.amount == int(quantity.amount) and int(quantity.amount) in INT64


def _as_integer(quantity: Quantity) -> int:
    if not _is_integer(quantity):
        raise EvaluationError("cannot convert value to integer")
    return int(quantity.amount)


def _amount(value: Value) -> Decimal:
    return value.amount if isinstance(value, Quantity) else Decimal(value)


def _ordered(one: Value, other: Value) -> int:
    if isinstance(one, Quantity):
        one, other = one.amount, other.amount
    return int(one > other) - int(one < other)


# ── semantic versions ─────────────────────────────────────────────────────────────────────────

_DIGITS, _WORD = re.compile("[0-9]*"), re.compile("[0-9A-Za-z-]*")


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    """A semantic version; the build metadata does not count."""

    numbers: tuple[int, int, int]
    before: tuple[int | str, ...] = ()

    @property
    def _order(self) -> tuple[object, ...]:
        # A pre-release is before the release, and numbers are before words.
        parts = tuple((isinstance(part, str), part) for part in self.before)
        return (self.numbers, not self.before, parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._order == other._order

    def __lt__(self, other: Semver) -> bool:
        return self._order < other._order

    def __hash__(self) -> int:
        return hash(self._order)


def _semver_number(text: str, name: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in {name} number {quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{name.capitalize()} number must not contain leading zeroes {quoted(text)}")
    if not text or int(text) >= 2**64:
        problem = "value out of range" if text else "invalid syntax"
        raise EvaluationError(f"strconv.ParseUint: parsing {quoted(text)}: {problem}")
    return int(text)


def _prerelease(text: str) -> int | str:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {quoted(text)}")
        return int(text)
    if not _WORD.fullmatch(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {quoted(text)}")
    return text


def _semver(text: str, normalize: bool = False) -> Semver:
    if normalize:
        text = _normalized(text)
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    major, minor = _semver_number(parts[0], "major"), _semver_number(parts[1], "minor")
    rest, plus, build = parts[2].partition("+")
    patch, dash, before = rest.partition("-")
    numbers = (major, minor, _semver_number(patch, "patch"))
    version = Semver(numbers, tuple(map(_prerelease, before.split("."))) if dash else ())
    for part in build.split(".") if plus else ():
        if not part:
            raise EvaluationError("Build meta data is empty")
        if not _WORD.fullmatch(part):
            raise EvaluationError(f"Invalid character(s) found in build meta data {quoted(part)}")
    return version


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            short = part.lstrip("0")
            parts[index] = short if short[:1].isdigit() else f"0{short}"
    if len(parts) < 3 and re.search("[+-]", parts[-1]):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][:3])


# ── named formats ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A format of strings.

    Attributes:
        name: Its name.
        problems: Function that returns what is wrong with a string.
        pattern_size: The length of its pattern, for the cost of a validation.
    """

    name: str
    problems: Callable[[str], list[str]]
    pattern_size: int


def _one(problem: Callable[[str], str]) -> Callable[[str], list[str]]:
    return lambda text: [found] if (found := problem(text)) else []


def _prefix(problems: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Return the check of a prefix of a name, which may end with a dash."""
    return lambda text: problems(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)


def _by_format(name: str, problem: str) -> Callable[[str], list[str]]:
    return lambda text: [] if FORMATS[name](text) else [problem]


def _uri_problems(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except BadURL as problem:
        return [str(problem)]
    return []


_LABEL = _one(naming.label_problem)
_SUBDOMAIN, _OLD_LABEL = _one(naming.subdomain_problem), _one(naming.dns1035_problem)
_TIME_PATTERN = 71
_NAMED: Mapping[str, NamedFormat] = {
    each.name: each
    for each in (
        NamedFormat("dns1123Label", _LABEL, 30),
        NamedFormat("dns1123Subdomain", _SUBDOMAIN, 60),
        NamedFormat("dns1035Label", _OLD_LABEL, 30),
        NamedFormat("qualifiedName", naming.qualified_name_problems, 60),
        NamedFormat("dns1123LabelPrefix", _prefix(_LABEL), 30),
        NamedFormat("dns1123SubdomainPrefix", _prefix(_SUBDOMAIN), 60),
        NamedFormat("dns1035LabelPrefix", _prefix(_OLD_LABEL), 30),
        NamedFormat("labelValue", _one(naming.label_value_problem), 40),
        NamedFormat("uri", _uri_problems, 1103),
        NamedFormat("uuid", _by_format("uuid", "does not match the UUID format"), 70),
        NamedFormat("byte", _by_format("byte", "invalid base64"), 84),
        NamedFormat("date", _by_format("date", "invalid date"), _TIME_PATTERN),
        NamedFormat("datetime", _by_format("datetime", "invalid datetime"), _TIME_PATTERN),
    )
}


def _validate(named: NamedFormat, text: str) -> Optional:
    problems = named.problems(text)
    return Optional(problems) if problems else NONE


FUNCTIONS: Mapping[str, Function] = {
    "isIP": _holds(_address),
    "ip.isCanonical": lambda text: str(_address(text).ip) == text,
    "family": lambda address: address.ip.version,
    "isLoopback": lambda address: address.ip.is_loopback,
    "isUnspecified": lambda address: address.ip.is_unspecified,
    "isLinkLocalMulticast": _is_link_local_multicast,
    "isLinkLocalUnicast": lambda address: address.ip.is_link_local,
    "isGlobalUnicast": _is_global,
    "isCIDR": _holds(_network),
    "cidr": _network,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_network,
    "prefixLength": lambda network: network.prefix,
    "masked": _masked,
    "isURL": is_request_uri,
    "url": _url,
    "getScheme": lambda url: url.scheme,
    "getHost": lambda url: url.host,
    "getHostname": lambda url: url.hostname,
    "getPort": lambda url: url.port,
    "getEscapedPath": lambda url: url.escaped_path,
    "getQuery": lambda url: url.parameters,
    "isQuantity": _holds(_quantity),
    "quantity": _quantity,
    "isInteger": _is_integer,
    "asInteger": _as_integer,
    "asApproximateFloat": lambda quantity: float(quantity.amount),
    "sign": lambda quantity: (quantity.amount > 0) - (quantity.amount < 0),
    "add": lambda one, other: Quantity(one.amount + _amount(other)),
    "sub": lambda one, other: Quantity(one.amount - _amount(other)),
    "compareTo": _ordered,
    "isGreaterThan": lambda one, other: _ordered(one, other) > 0,
    "isLessThan": lambda one, other: _ordered(one, other) < 0,
    "semver": _semver,
    "isSemver": _holds(_semver),
    "major": lambda version: version.numbers[0],
    "minor": lambda version: version.numbers[1],
    "patch": lambda version: version.numbers[2],
    "validate": _validate,
    "jsonpatch.escapeKey": lambda key: key.replace("~", "~0").replace("/", "~1"),
    "format.named": lambda name: Optional(_NAMED[name]) if name in _NAMED else NONE,
    **{f"format.{name}": partial(_NAMED.__getitem__, name) for name in _NAMED},
}
OVERLOADS: Mapping[str, Function] = {
    "string_to_ip": _address,
    "cidr_ip": lambda network: Address(network.ip),
}
