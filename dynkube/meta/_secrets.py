"""Finds the values of Secrets in objects, which must not be shown.

This module defines which values are redacted. A map with ``kind: Secret`` is a Secret, in any API group and at any
depth: the object itself, an item of a list, a template, the object in an AdmissionReview. So are the items of a
``SecretList``, which have no kind. The values below ``data`` and ``stringData`` are redacted, and so are their copies
in the annotation of ``kubectl apply``, both of the Secret and of an object that contains it. Secrets embedded in
strings in any other way are not recognized.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which ``kubectl apply`` stores the whole object, including values."""

SECTIONS: Final = ("data", "stringData")
"""The fields of a Secret with its values."""

Place: TypeAlias = tuple[dict[str, Any], str]
"""A map and a key in it."""

# Matches any field with the value "Secret", including references to Secrets, as redacting too much does no harm. Also
# matches JSON escapes of letters, which kubectl never writes.
_COPIED: Final = re.compile(r'"Secret(?:List)?\\*"|\\u00[4-7]')
_HOLDERS: Final = (dict, list, tuple)
_ESCAPED: Final = re.compile(rb"\\u00[4-7]")


class ListedSecret(dict[str, Any]):
    """An item of a ``SecretList``: unlike a Secret that is read alone, it has no ``kind``."""

    __slots__ = ()


def is_secret(value: object) -> bool:
    """Return whether the value is a Secret."""
    return isinstance(value, ListedSecret) or (isinstance(value, Mapping) and value.get("kind") == "Secret")


def may_hold_secrets(document: bytes) -> bool:
    """Return whether JSON or YAML may contain a Secret.

    A fast check with false positives.
    """
    return b"Secret" in document or _ESCAPED.search(document) is not None


def hidden_places(value: object, twin: object = None, *, secret: bool = False, inside: bool = False) -> Iterator[Place]:
    """Yield the places of values that must not be shown.

    The caller may replace them while iterating.

    Args:
        value: an object, or a part of one.
        twin: another state of the same object. A part of ``value`` is also treated as a Secret if the same part of
            ``twin`` is one; this is checked for maps below maps only, not for list items.
        secret: whether the value is a Secret without a kind.
        inside: whether the value is part of a Secret.
    """
    pending: list[tuple[object, object, bool, bool]] = [(value, twin, secret, inside)]
    while pending:
        value, twin, secret, inside = pending.pop()
        if not isinstance(value, dict):
            parts = value if isinstance(value, list | tuple) else ()
            pending += [(each, None, secret, inside) for each in parts if isinstance(each, _HOLDERS)]
            continue
        secret = secret or is_secret(value) or is_secret(twin)
        inside = inside or secret
        twins = twin if isinstance(twin, dict) else {}
        for name, part in value.items():
            if secret and name in SECTIONS:
                yield from ((part, key) for key in part) if isinstance(part, dict) else _itself(value, name)
            elif isinstance(part, _HOLDERS):
                listed = name == "items" and value.get("kind") == "SecretList" and not isinstance(part, dict)
                pending.append((part, twins.get(name), listed, inside))
            elif name == LAST_APPLIED and (inside or may_contain_secrets(part)):
                yield value, name


def _itself(value: dict[str, Any], name: str) -> Iterator[Place]:
    """Yield ``data`` or ``stringData`` that is not a map; it may contain values too."""
    if value[name] is not None:
        yield value, name


def may_contain_secrets(copy: object) -> bool:
    """Return whether a serialized object may be, or contain, a Secret."""
    return isinstance(copy, str) and _COPIED.search(copy) is not None
