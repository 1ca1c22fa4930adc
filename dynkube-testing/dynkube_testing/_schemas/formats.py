"""Checks of strings by ``format``, for the formats that the real server checks.

All are checked as in the real server, except for email addresses, which are checked by similar rules: Go's parser
accepts some exotic forms that are rejected here, and vice versa.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.utils import parseaddr
from typing import Final

from dynkube_testing._schemas.go_urls import is_request_uri

_HEX = "[0-9a-f]"


def _full(pattern: str, flags: re.RegexFlag = re.ASCII) -> Callable[[str], bool]:
    compiled = re.compile(pattern, flags)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(third: str = f"{_HEX}{{4}}", fourth: str = f"{_HEX}{{4}}") -> Callable[[str], bool]:
    return _full(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{third}-?{fourth}-?{_HEX}{{12}}", re.ASCII | re.IGNORECASE)


def _is_date(text: str) -> bool:
    try:
        return bool(re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")


def _is_datetime(text: str) -> bool:
    day, separator, time = text.lower().partition("t")
    match = _TIME.fullmatch(time.partition("t")[0])
    return (
        bool(separator) and _is_date(day) and match is not None and match[1] <= "23" and max(match[2], match[3]) <= "59"
    )


def _is_ip(text: str, mark: str) -> bool:
    if mark == ".":
        # Leading zeros are accepted: the real server uses a copy of an old Go parser, which accepted them.
        text = re.sub(r"(?<![0-9a-fA-F:])0+(?=[0-9])", "", text)
    try:
        return mark in text and bool(ipaddress.ip_address(text))
    except ValueError:
        return False


def _is_cidr(text: str) -> bool:
    address, separator, length = text.partition("/")
    if not separator or not re.fullmatch("0|[1-9][0-9]{0,2}", length):
        return False
    return int(length) <= (128 if ":" in address else 32) and _is_ip(address, ":" if ":" in address else ".")


# The maximum number of characters of a display name with an address. The parser recurses for each bracket, so longer
# texts are not parsed. An address has at most 254 characters.
_MAX_EMAIL = 1000


def _is_email(text: str) -> bool:
    if len(text) > _MAX_EMAIL:
        return False
    try:
        _, address = parseaddr(text)
        parsed = Address(addr_spec=address)
    except (HeaderParseError, ValueError, IndexError, RecursionError):  # the first by Python 3.13
        return False
    return bool(parsed.username and parsed.domain) and address in text and text.strip() == text


_HOST_CHARACTER = r"[^\W_]"
_HOSTNAME = re.compile(
    rf"{_HOST_CHARACTER}(?:-?{_HOST_CHARACTER}{{0,62}})?"
    rf"|(?:{_HOST_CHARACTER}(?:(?:{_HOST_CHARACTER}|-){{0,61}}{_HOST_CHARACTER})?\.)+[^\W\d_]{{2,63}}"
)


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    return (
        len(text.encode()) <= 255
        and all(len(label.encode()) <= 63 for label in labels)
        and bool(_HOSTNAME.fullmatch(text))
    )


_GO_DURATION = re.compile(r"[-+]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+")
_WORDY_DURATION = re.compile(r"(?<![0-9])[0-9]++\s*+([A-Za-zµ]+)")  # reads each digit only once
_WORDY_UNITS = re.compile(
    r"(?:ns|us|ms|[smhdw]|µs|sec|hr|wk)|(?:nano|micro|milli|sec|min|hour|day|week).*", re.IGNORECASE
)


def _is_duration(text: str) -> bool:
    """Return whether ``text`` is a duration like Go's ``1h30m``, or like ``3 days``."""
    if text.lstrip("+-") == "0" or _GO_DURATION.fullmatch(text):
        return True
    return any(_WORDY_UNITS.fullmatch(unit) for unit in _WORDY_DURATION.findall(text))


def _digits(text: str) -> str:
    return re.sub("[^0-9]+", "", text)


_CARD = _full(
    "4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}"
)


def _is_creditcard(text: str) -> bool:
    digits = _digits(text)
    doubled = "0246813579"
    total = sum(int(doubled[int(d)] if index % 2 else d) for index, d in enumerate(reversed(digits)))
    return _CARD(digits) and total % 10 == 0


def _is_isbn10(text: str) -> bool:
    text = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", text):
        return False
    return sum((index + 1) * (10 if c == "X" else int(c)) for index, c in enumerate(text)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    text = re.sub(r"[\s-]+", "", text)
    return bool(re.fullmatch("[0-9]{13}", text)) and sum(int(c) * (1, 3)[i % 2] for i, c in enumerate(text)) % 10 == 0


_RGB = "(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])"
_MAC_HEX = "[0-9a-fA-F]"
_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"

FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": _full("[0-9a-fA-F]{24}"),
    "byte": _full("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "cidr": _is_cidr,
    "creditcard": _is_creditcard,
    "date": _is_date,
    "datetime": _is_datetime,
    "duration": _is_duration,
    "email": _is_email,
    "hexcolor": _full("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _is_hostname,
    "ipv4": lambda text: _is_ip(text, "."),
    "ipv6": lambda text: _is_ip(text, ":"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "k8slongname": lambda text: len(text) <= 253 and bool(re.fullmatch(rf"{_LABEL}(?:\.{_LABEL})*", text)),
    "k8sshortname": lambda text: len(text) <= 63 and bool(re.fullmatch(_LABEL, text)),
    "mac": _full(
        rf"(?:{_MAC_HEX}{{2}}([:-]))(?:{_MAC_HEX}{{2}}\1){{4}}{_MAC_HEX}{{2}}(?:(?:\1{_MAC_HEX}{{2}}){{2}}|(?:\1{_MAC_HEX}{{2}}){{14}})?"
        rf"|(?:{_MAC_HEX}{{4}}\.){{2,3}}{_MAC_HEX}{{4}}|(?:{_MAC_HEX}{{4}}\.){{9}}{_MAC_HEX}{{4}}"
    ),
    "password": lambda text: True,
    "rgbcolor": _full(rf"rgb\(\s*{_RGB}\s*,\s*{_RGB}\s*,\s*{_RGB}\s*\)"),
    "ssn": lambda text: len(text) == 11 and bool(re.fullmatch(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}", text)),
    "uri": is_request_uri,
    "uuid": _uuid(),
    "uuid3": _uuid(f"3{_HEX}{{3}}"),
    "uuid4": _uuid(f"4{_HEX}{{3}}", f"[89ab]{_HEX}{{3}}"),
    "uuid5": _uuid(f"5{_HEX}{{3}}", f"[89ab]{_HEX}{{3}}"),
}


def checked_format(name: str, types: tuple[str, ...]) -> str:
    """Return format ``name`` if it is checked for values of ``types``, else ``""``.

    The result for strings has no hyphens, like the keys of :data:`FORMATS`.
    """
    match types[0] if len(types) == 1 else "":
        case "" | "string":
            plain = name.replace("-", "")
            return plain if plain in FORMATS else ""
        case "integer":
            return name if name in {"int32", "int64"} else ""
        case "number":
            return name if name in {"float", "double"} else ""
    return ""
