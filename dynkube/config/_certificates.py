"""Expiry dates of X.509 certificates, read without OpenSSL.

The standard library decodes a certificate only after a handshake, and a handshake with an expired client certificate
fails with an alert that names no file. So the field notAfter is read by parsing the DER encoding up to this field
(RFC 5280, 4.1). Nothing is verified here: OpenSSL does that.
"""

from __future__ import annotations

import binascii
import re
from datetime import UTC, datetime

_PEM = re.compile(rb"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----(.*?)-----END", re.DOTALL)

_EXPLICIT_VERSION = 0xA0
_UTC_TIME = 0x17
_GENERALIZED_TIME = 0x18


def expiries(pem: bytes) -> list[datetime]:
    """Return the notAfter of every certificate in PEM data, in order.

    Raises:
        ValueError: it contains no certificate, or one that does not decode.
    """
    blocks = _PEM.findall(pem)
    if not blocks:
        raise ValueError("contains no PEM certificate (-----BEGIN CERTIFICATE-----)")
    try:
        return [_not_after(binascii.a2b_base64(block)) for block in blocks]
    except (IndexError, ValueError) as error:  # binascii.Error and UnicodeDecodeError are ValueErrors
        raise ValueError("contains a certificate that cannot be decoded") from error


def _not_after(der: bytes) -> datetime:
    _, certificate, _ = _element(der, 0)
    _, to_be_signed, _ = _element(der, certificate)
    tag, _, end = _element(der, to_be_signed)
    if tag == _EXPLICIT_VERSION:  # absent in version 1 certificates
        _, _, end = _element(der, end)
    for _ in ("signature", "issuer"):
        _, _, end = _element(der, end)
    _, validity, _ = _element(der, end)
    _, _, end = _element(der, validity)
    tag, start, end = _element(der, end)
    return _time(tag, der[start:end].decode("ascii"))


def _element(der: bytes, offset: int) -> tuple[int, int, int]:
    """Return tag, and start and end of the content, of the element at ``offset``."""
    tag, length, offset = der[offset], der[offset + 1], offset + 2
    if length & 0x80:
        size = length & 0x7F
        length, offset = int.from_bytes(der[offset : offset + size], "big"), offset + size
    if offset + length > len(der):
        raise ValueError("element longer than its certificate")
    return tag, offset, offset + length


def _time(tag: int, text: str) -> datetime:
    if tag == _UTC_TIME:  # a two-digit year: RFC 5280 puts 50-99 in the last century, strptime's %y does not
        text = ("19" if text[:2] >= "50" else "20") + text
    elif tag != _GENERALIZED_TIME:
        raise ValueError("notAfter is not a time")
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
