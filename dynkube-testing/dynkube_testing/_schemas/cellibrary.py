"""The CEL compiler: Google's library for Python, with Kubernetes' functions.

The package ``cel-expr-python`` is optional (``dynkube-testing[cel]``). It provides the language, optional values,
and the functions for strings, math and encoders. This module adds the functions for addresses, URLs, quantities and
regular expressions, and some of the list functions. Not supported are ``indexOf`` of lists, named formats, semantic
versions, comprehensions with two variables, and timestamps and durations in objects (which stay strings).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from importlib import import_module
from itertools import islice, pairwise
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from dynkube_testing._schemas.formats import FORMATS
from dynkube_testing._schemas.patterns import BadPattern, compile_pattern
from dynkube_testing._schemas.quantities import parse

_MODULE = "cel_expr_python.cel"
_EXTENSIONS = {
    "ext_bindings": "ExtBindings",
    "ext_encoders": "ExtEncoders",
    "ext_math": "ExtMath",
    "ext_optional": "ExtOptional",
    "ext_strings": "ExtStrings",
}


class CannotEvaluate(Exception):
    """The expression does not compile, or no CEL library is installed."""


@dataclass(frozen=True, slots=True)
class EvaluationError:
    """The result of an expression that fails for the given variables.

    Attributes:
        text: The error message of CEL's implementation in Go.
        overload: Whether a function or operator does not support the types of its arguments.
    """

    text: str
    overload: bool = False


Evaluate = Callable[[Mapping[str, object]], object]


class Language(Protocol):
    """A compiler of CEL expressions."""

    def compile(self, expression: str) -> Evaluate:
        """Return a function from variables to a value or an :class:`EvaluationError`.

        Raises:
            CannotEvaluate: The expression does not compile.
        """
        ...


class CEL:
    """The compiler of the installed CEL library.

    Raises:
        CannotEvaluate: No CEL library is installed.
    """

    def __init__(self) -> None:
        try:
            cel = import_module(_MODULE)
            parts = [import_module(f"cel_expr_python.ext.{name}") for name in _EXTENSIONS]
        except ImportError:
            raise CannotEvaluate("no CEL library is installed: pip install 'dynkube-testing[cel]'") from None
        extensions = [getattr(part, name)() for part, name in zip(parts, _EXTENSIONS.values(), strict=True)]
        dyn = cel.Type.DYN
        self._error_type = cel.Type.ERROR
        self._env = cel.NewEnv(
            variables={"self": dyn, "oldSelf": dyn, "__old": dyn, "__has_old": cel.Type.BOOL},
            extensions=extensions,
            functions=_functions(cel),
        )

    def compile(self, expression: str) -> Evaluate:
        """Return a function from variables to a value or an :class:`EvaluationError`.

        Raises:
            CannotEvaluate: The expression does not compile.
        """
        try:
            compiled = self._env.compile(expression)
        except RuntimeError as error:
            raise CannotEvaluate(" ".join(str(error).split())) from None

        def evaluate(variables: Mapping[str, object]) -> object:
            value = compiled.eval(data=variables)
            plain = value.plain_value()
            return _error(str(plain)) if value.type() == self._error_type else plain

        return evaluate

    def problem(self, expression: str, wanted: str) -> str:
        """Return the compile error that a real server would report for an expression.

        Args:
            expression: The expression.
            wanted: The required type of its result: ``"bool"`` or ``"string"``.

        Returns:
            The error message; ``"type"`` if the result has another type than ``wanted``. ``""`` if the expression
            compiles, or if it may only fail because this library lacks a function of the real server.
        """
        try:
            compiled = self._env.compile(expression)
        except RuntimeError as error:
            text = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
            undeclared = "undeclared reference" in text and not _SERVER_ONLY.search(expression)
            return text if "Syntax error" in text or undeclared else ""
        return "type" if str(compiled.return_type()) not in {"DYN", wanted.upper()} else ""


# Names that the real server declares but this library may not.
_SERVER_ONLY = re.compile(
    r"\b(?:semver|isSemver|major|minor|patch|isLessThan|isGreaterThan|compareTo|format|named|validate|dns\w+|qualified\w+"
    r"|labelValue|uri|uuid|byte|date|datetime|transform\w+|exists?One|cidr|ip|jsonpatch|authorizer|sets|url|quantity"
    r"|lastIndexOf|indexOf|min|max|sum|isSorted|base64|strings|math|bind|fold|first|last)\b"
)

_GO_WORDS = (
    (re.compile(r"Key not found in map : (.*)$"), r"no such key: \1"),
    (re.compile(r"Index error: index=(-?\d+) size=\d+"), r"index out of bounds: \1"),
    (re.compile(r"divide by zero"), "division by zero"),
    (re.compile(r"modulus by zero"), "modulus by zero"),
)


def _error(text: str) -> EvaluationError:
    for pattern, words in _GO_WORDS:
        if match := pattern.search(text):
            return EvaluationError(match.expand(words).replace('"', ""))
    overload = "No matching overloads" in text or "SELECT to non-message" in text
    return EvaluationError("no such overload" if overload else text.partition(": ")[2] or text, overload=overload)


# ── functions of Kubernetes ──────────────────────────────────────────────────────────────────────


def _functions(cel: Any) -> list[Any]:
    """Return the functions of ``_LIBRARY`` as declarations for the CEL library."""
    kinds = {
        "s": cel.Type.STRING,
        "b": cel.Type.BOOL,
        "i": cel.Type.INT,
        "d": cel.Type.DOUBLE,
        "m": cel.Type.MAP,
        "l": cel.Type.LIST,
        "*": cel.Type.DYN,
    }
    declared = []
    for name, overloads in _LIBRARY.items():
        listed = []
        for signature, function in overloads:
            arguments, result = signature.lstrip(".").split(">")
            listed.append(
                cel.Overload(
                    f"{name}_{arguments}",
                    return_type=kinds[result],
                    parameters=[kinds[argument] for argument in arguments],
                    is_member=signature.startswith("."),
                    impl=function,
                )
            )
        declared.append(cel.FunctionDecl(name, listed))
    return declared


def _address(text: str) -> dict[str, str]:
    return {"ip": str(_parsed_address(text))}


def _parsed_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address) and (address.ipv4_mapped or address.scope_id):
        raise ValueError(f"IP Address {text!r} parse error during conversion from string")
    return address


def _holds(function: Callable[..., object], *arguments: object) -> bool:
    try:
        function(*arguments)
    except (ValueError, InvalidOperation):
        return False
    return True


def _is_cidr(text: str) -> bool:
    return FORMATS["cidr"](text) and _holds(_parsed_address, text.partition("/")[0])


def _network(cidr: Mapping[str, str]) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(cidr["cidr"], strict=False)


def _url(text: str) -> dict[str, str]:
    if not FORMATS["uri"](text):
        raise ValueError(f"URL parse error during conversion from string: parse {text!r}: invalid URI for request")
    return {"url": text}


def _url_part(name: str) -> Callable[[Mapping[str, str]], str]:
    def part(url: Mapping[str, str]) -> str:
        parts = urlsplit(url["url"])
        host = parts.netloc.rpartition("@")[2]
        values = {"scheme": parts.scheme, "host": host, "path": parts.path, "port": str(parts.port or "")}
        return values[name] if name != "hostname" else parts.hostname or ""

    return part


def _number(text: str) -> Decimal:
    number = parse(text)
    if number is None:
        raise ValueError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    return number


def _quantity(value: Decimal) -> dict[str, str]:
    return {"quantity": format(value.normalize(), "f")}


def _amount(quantity: Mapping[str, str]) -> Decimal:
    return Decimal(quantity["quantity"])


def _compare(one: Mapping[str, str], other: Mapping[str, str]) -> int:
    return (_amount(one) > _amount(other)) - (_amount(one) < _amount(other))


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    try:
        compiled = compile_pattern(pattern)
    except BadPattern as problem:
        raise ValueError(f"Illegal regex: {problem}") from None
    return list(islice(compiled.matches(text), most if most >= 0 else None))


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern)), "")


def _is_sorted(values: Sequence[Any]) -> bool:
    return all(before <= after for before, after in pairwise(values))


def _same_members(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return all(item in other for item in one) and all(item in one for item in other)


# By function name: signatures and implementations. In a signature, "." marks a method, letters are types (see
# ``_functions``), and the type after ">" is that of the result.
_LIBRARY: Mapping[str, Sequence[tuple[str, Callable[..., object]]]] = {
    "isIP": [("s>b", lambda text: _holds(_parsed_address, text))],
    "ip": [("s>m", _address)],
    "family": [(".m>i", lambda ip: 4 if "." in ip["ip"] else 6)],
    "isLoopback": [(".m>b", lambda ip: _parsed_address(ip["ip"]).is_loopback)],
    "isUnspecified": [(".m>b", lambda ip: _parsed_address(ip["ip"]).is_unspecified)],
    "isCIDR": [("s>b", _is_cidr)],
    "cidr": [("s>m", lambda text: {"cidr": text})],
    "containsIP": [
        (".ms>b", lambda cidr, text: _parsed_address(text) in _network(cidr)),
        (".mm>b", lambda cidr, ip: _parsed_address(ip["ip"]) in _network(cidr)),
    ],
    "prefixLength": [(".m>i", lambda cidr: _network(cidr).prefixlen)],
    "isURL": [("s>b", FORMATS["uri"])],
    "url": [("s>m", _url)],
    "getScheme": [(".m>s", _url_part("scheme"))],
    "getHost": [(".m>s", _url_part("host"))],
    "getHostname": [(".m>s", _url_part("hostname"))],
    "getPort": [(".m>s", _url_part("port"))],
    "getEscapedPath": [(".m>s", _url_part("path"))],
    "getQuery": [(".m>m", lambda url: parse_qs(urlsplit(url["url"]).query, keep_blank_values=True))],
    "isQuantity": [("s>b", lambda text: _holds(_number, text))],
    "quantity": [("s>m", lambda text: _quantity(_number(text)))],
    "compareTo": [(".mm>i", _compare)],
    "isGreaterThan": [(".mm>b", lambda one, other: _compare(one, other) > 0)],
    "isLessThan": [(".mm>b", lambda one, other: _compare(one, other) < 0)],
    "isInteger": [(".m>b", lambda quantity: _amount(quantity) == int(_amount(quantity)))],
    "asInteger": [(".m>i", lambda quantity: int(_amount(quantity)))],
    "asApproximateFloat": [(".m>d", lambda quantity: float(_amount(quantity)))],
    "sign": [(".m>i", lambda quantity: (_amount(quantity) > 0) - (_amount(quantity) < 0))],
    "add": [
        (".mm>m", lambda one, other: _quantity(_amount(one) + _amount(other))),
        (".mi>m", lambda one, other: _quantity(_amount(one) + other)),
    ],
    "sub": [
        (".mm>m", lambda one, other: _quantity(_amount(one) - _amount(other))),
        (".mi>m", lambda one, other: _quantity(_amount(one) - other)),
    ],
    "find": [(".ss>s", _find)],
    "findAll": [(".ss>l", _find_all), (".ssi>l", _find_all)],
    "isSorted": [(".l>b", _is_sorted)],
    "sum": [(".l>*", sum)],
    "min": [(".l>*", min)],
    "max": [(".l>*", max)],
    "sets.contains": [("ll>b", lambda one, other: all(item in one for item in other))],
    "sets.equivalent": [("ll>b", _same_members)],
    "sets.intersects": [("ll>b", lambda one, other: any(item in other for item in one))],
}
