"""YAML 1.1 scalars as go-yaml reads them, and so kubectl and API servers.

No dates, no sexagesimal numbers.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

Scalar: TypeAlias = "str | int | float | bool | None"

YAML_TAG: Final = "tag:yaml.org,2002:"
STR: Final = f"{YAML_TAG}str"
MERGE: Final = f"{YAML_TAG}merge"

_BOOL = re.compile(r"(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)\Z")
_TRUE = {"y", "yes", "true", "on"}
_INT = re.compile(r"[-+]?(?:0b_*[01][01_]*|0o?_*[0-7][0-7_]*|0|[1-9][0-9_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")

# Numbers of YAML that JSON does not have.
_NOT_FINITE = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")

_PATTERNS: Final = (
    (f"{YAML_TAG}bool", _BOOL, "yYnNtTfFoO"),
    (f"{YAML_TAG}int", _INT, "-+0123456789"),
    (f"{YAML_TAG}float", _FLOAT, "-+0123456789."),
    (f"{YAML_TAG}float", _NOT_FINITE, "-+."),
    (f"{YAML_TAG}null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""]),
    (MERGE, re.compile(r"<<\Z"), "<"),
)


class NotFinite(ValueError):
    """A number that JSON does not have; the message is that of kubectl."""


def _by_first_character() -> dict[str, tuple[tuple[str, re.Pattern[str]], ...]]:
    found: dict[str, tuple[tuple[str, re.Pattern[str]], ...]] = {}
    for tag, pattern, firsts in _PATTERNS:
        for first in firsts:
            found[first] = (*found.get(first, ()), (tag, pattern))
    return found


RESOLVERS: Final[Mapping[str, tuple[tuple[str, re.Pattern[str]], ...]]] = MappingProxyType(_by_first_character())
"""Tags and patterns by the first character of an unquoted scalar.

``""`` for the empty scalar.
"""


def plain_tag(text: str) -> str:
    """Return the tag of an unquoted scalar without an explicit tag."""
    for tag, pattern in RESOLVERS.get(text[:1], ()):
        if pattern.match(text):
            return tag
    return STR


def scalar_value(tag: str, text: str) -> Scalar:
    """Return the value of a scalar.

    Raises:
        KeyError: not a scalar tag.
        NotFinite: the number is infinite or NaN.
        ValueError: the text is not valid for the tag.
    """
    return text if tag == STR else _READERS[tag](text)


def _bool(text: str) -> bool:
    if not _BOOL.match(text):
        raise ValueError("not a boolean")
    return text.lower() in _TRUE


def _int(text: str) -> int:
    text = text.replace("_", "")
    digits = text.lstrip("+-")
    sign = -1 if text.startswith("-") else 1
    for prefix, base in (("0b", 2), ("0x", 16), ("0o", 8)):
        if digits.startswith(prefix):
            return sign * int(digits[2:], base)
    return sign * int(digits, 8 if digits.startswith("0") and digits != "0" else 10)


def _float(text: str) -> float | int | str:
    if _NOT_FINITE.match(text):
        name = "NaN" if text.lower() == ".nan" else "-Inf" if text.startswith("-") else "+Inf"
        raise NotFinite(f"json: unsupported value: {name}")
    # JSON has one kind of number and Kubernetes writes whole ones without a fraction: 1e3 is 1000.
    number = float(text)
    if not math.isfinite(number):  # 1e999, often an abbreviated commit hash: a string, as there is no such number
        return text
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _binary(text: str) -> str:
    # JSON has no bytes: go-yaml decodes them to a string.
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except binascii.Error:
        raise ValueError("not base64") from None


def _null(text: str) -> None:
    return None


_READERS: Final[Mapping[str, Callable[[str], Scalar]]] = MappingProxyType(
    {
        f"{YAML_TAG}bool": _bool,
        f"{YAML_TAG}int": _int,
        f"{YAML_TAG}float": _float,
        f"{YAML_TAG}null": _null,
        f"{YAML_TAG}binary": _binary,
        # An explicitly tagged date stays a string, as JSON has no dates; << is a merge as a key only.
        f"{YAML_TAG}timestamp": str,
        MERGE: str,
    }
)


def json_key(value: object) -> str | None:
    """Return a key as a JSON string, as kubectl does; ``None`` if it is invalid.

    ``y: 1`` has the key ``"true"``.
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
    return None


def reads_as_text(text: str) -> bool:
    """Whether this unquoted scalar is a string rather than a number, a bool or null."""
    tag = plain_tag(text)
    if tag in (STR, MERGE):
        return True
    return tag.endswith(":float") and not _NOT_FINITE.match(text) and math.isinf(float(text))
