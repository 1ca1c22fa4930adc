"""The fields of maps, with sizes instead of the values of Secrets.

Evaluated lazily: of a list of a thousand Secrets, only as many are read as fit in a card.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from dynkube._text.words import Aside, size_text
from dynkube.meta._secrets import LAST_APPLIED, SECTIONS, ListedSecret, is_secret

_LARGE: Final = 10_000  # characters; four of base64 are three bytes


def visible(value: Mapping[str, Any], most: int) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a map lazily, with sizes instead of values of Secrets.

    Args:
        value: the map.
        most: the maximum number of items of a ``SecretList``.
    """
    secret, is_list = is_secret(value), value.get("kind") == "SecretList"
    for name, part in value.items():
        if secret and name in SECTIONS:
            yield name, _Sizes(name, part) if isinstance(part, Mapping) else Aside("(not shown)") if part else part
        elif name == LAST_APPLIED and isinstance(part, str):
            yield name, Aside(f"({size_text(len(part))}, not shown)")
        elif is_list and name == "items" and isinstance(part, list | tuple):
            yield name, _listed(part, most)
        else:
            yield name, part


def _listed(items: list[Any] | tuple[Any, ...], most: int) -> list[Any]:
    shown = [ListedSecret(each) if isinstance(each, Mapping) else each for each in islice(items, most)]
    return [*shown, *([Aside(f"… {len(items) - most:,} more")] if len(items) > most else [])]


class _Sizes(Mapping[str, Aside]):
    """A ``data`` or ``stringData`` with sizes, calculated on access."""

    __slots__ = ("_part", "_section")

    def __init__(self, section: str, part: Mapping[str, Any]) -> None:
        self._section = section
        self._part = part

    def __getitem__(self, name: str) -> Aside:
        return Aside(f"({_size(self._section, self._part[name])}, not shown)")

    def __iter__(self) -> Iterator[str]:
        return iter(self._part)

    def __len__(self) -> int:
        return len(self._part)


def _size(section: str, value: object) -> str:
    if not isinstance(value, str):
        return "not a string"
    if section != "data":
        return size_text(len(value.encode(errors="replace")))
    try:
        # Of a large value only the beginning is decoded, to check that it is base64; the size follows from the length.
        read = len(base64.b64decode(value[:_LARGE] if len(value) > _LARGE else value, validate=True))
    except (binascii.Error, ValueError):
        return "not base64"
    return size_text(read if len(value) <= _LARGE else len(value) // 4 * 3 - value[-2:].count("="))
