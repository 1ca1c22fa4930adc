"""Encode JSON so that a YAML parser reads it identically. Pure.

This is required because API servers parse the body of every apply as YAML.

YAML is a superset of JSON, but not for every character. Go's parser rejects control characters that JSON permits
unescaped, treats a next line (U+0085) as a line break, which becomes a space, and does not support the surrogate pairs
that JSON uses to escape characters beyond U+FFFF, as Python's ``json.dumps`` does for an emoji.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from dynkube.meta._encode import encode_json

# In UTF-8: DEL, U+0080 to U+009F, U+2028, U+2029, U+FEFF, U+FFFE, U+FFFF; and an escaped high surrogate.
_READ_OTHERWISE: Final = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef\xbb\xbf|\xef\xbf[\xbe\xbf]|\\u[dD][89aAbB]"
)
_TO_ESCAPE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def readable_as_yaml(document: bytes) -> bytes:
    """Return equivalent JSON that YAML reads identically.

    Most documents are returned unchanged.
    """
    if document.isascii() and b"\x7f" not in document and b"\\u" not in document:  # a hundred times faster
        return document
    if _READ_OTHERWISE.search(document) is None:
        return document
    text = encode_json(msgspec.json.decode(document)).decode()  # the encoder emits only necessary escapes
    return _TO_ESCAPE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()
