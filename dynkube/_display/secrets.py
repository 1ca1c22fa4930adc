"""What of an object is not for showing: the values of Secrets, wherever it keeps some. The one place that knows.

A Secret is what says so by its ``kind``, of whatever group, at any depth: the object itself, an item of a list, a
template, the object in a review. The items of a ``SecretList`` are too, and do not say it. Hidden are the values below
``data`` and ``stringData``, and the copies of them that ``kubectl apply`` keeps in an annotation, of the Secret or of
what is around it. Text that somebody has packed a Secret into in any other way is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which ``kubectl apply`` keeps all of an object, values included."""

SECTIONS: Final = ("data", "stringData")
"""Where a Secret has its values."""

Place: TypeAlias = tuple[dict[str, Any], str]
"""A map and a name in it."""

# As the value of any field: a reference to a Secret looks the same, and a copy too many that is hidden costs nothing.
# Letters may be written by their numbers, which kubectl does with none.
_COPIED: Final = re.compile(r'"Secret(?:List)?\\*"|\\u00[4-7]')
_HOLDERS: Final = (dict, list, tuple)
_ESCAPED: Final = re.compile(rb"\\u00[4-7]")


class ListedSecret(dict[str, Any]):
    """An item of a ``SecretList``, which does not say what it is."""

    __slots__ = ()


def is_secret(value: object) -> bool:
    """Whether it is a Secret by itself, wherever it stands."""
    return isinstance(value, ListedSecret) or (isinstance(value, Mapping) and value.get("kind") == "Secret")


def may_hold_secrets(document: bytes) -> bool:
    """Whether there may be a Secret in some JSON or YAML: quick, and true for much that has none."""
    return b"Secret" in document or _ESCAPED.search(document) is not None


def hidden_places(value: object, twin: object = None, *, secret: bool = False, inside: bool = False) -> Iterator[Place]:
    """Where in a value something is that is not for showing. What is found may be replaced while this goes on.

    Args:
        value: an object, or a part of one.
        twin: another state of the same, if there is one: what is a Secret there counts as one here, in so far as maps
            alone lead to it.
        secret: the value is a Secret that does not say so.
        inside: the value is part of a Secret.
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
            elif name == LAST_APPLIED and (inside or tells_secrets(part)):
                yield value, name


def _itself(value: dict[str, Any], name: str) -> Iterator[Place]:
    """A section that is no map, as a manifest may have it by mistake: it has values in it all the same."""
    if value[name] is not None:
        yield value, name


def tells_secrets(copy: object) -> bool:
    """Whether an object kept as text may be a Secret, or have one in it."""
    return isinstance(copy, str) and _COPIED.search(copy) is not None
