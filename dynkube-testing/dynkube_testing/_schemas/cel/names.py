"""Names of fields in CEL, where some characters and words are escaped as in Kubernetes."""

from __future__ import annotations

import re

_WORDS = """true false null in as break const continue else for function if import let loop package namespace return
var void while"""
_RESERVED = frozenset(_WORDS.split())
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_NAME = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_ESCAPED = re.compile(r"__|[./-]")


def escaped(name: str) -> str | None:
    """Return the name of a field in CEL, such as ``__namespace__``; ``None`` if CEL cannot name it."""
    if name in _RESERVED:
        return f"__{name}__"
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name) if _NAME.fullmatch(name) else None
