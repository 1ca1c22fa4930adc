"""The steps of a path: a field, or a list item by keys, value or index.

Two steps are equal if their FieldsV1 encodings are equal. (So a key ``1`` differs from ``True``, which are equal in
Python, but not for the API server.) Meaning and order are those of structured-merge-diff's path elements.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec

from dynkube.errors import InvalidInput, InvalidObject
from dynkube.meta import JSON
from dynkube.meta._json import UNREADABLE

# Go's encoder, which writes FieldsV1, escapes these for HTML.
_ESCAPED_BY_GO: Final = re.compile("[<>&\u2028\u2029]")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_$-]+")
# Between these bounds Go writes numbers without an exponent.
_MIN_PLAIN: Final = 1e-6
_MAX_PLAIN: Final = 1e21

Ordering: TypeAlias = tuple[Any, ...]


class Step:
    """One step of a path.

    One of :class:`Field`, :class:`ItemKey`, :class:`ItemValue` and :class:`ItemIndex`.

    Immutable, hashable, ordered as by the API server. ``wire`` is its FieldsV1 encoding (``f:spec``,
    ``k:{"name":"web"}``); ``str()`` is the readable form (``.spec``, ``[name="web"]``).
    """

    __slots__ = ("_hash", "wire")

    wire: str
    _hash: int

    def __init__(self, wire: str) -> None:
        object.__setattr__(self, "wire", wire)
        object.__setattr__(self, "_hash", hash(wire))

    @staticmethod
    def from_wire(text: str) -> Step:
        """Decode a key of FieldsV1.

        Raises:
            InvalidObject: The prefix is unknown, or the rest is not JSON.
        """
        prefix, rest = text[:2], text[2:]
        if prefix == "f:":
            return Field(rest)
        try:
            if prefix == "k:":
                return ItemKey(msgspec.json.decode(rest, type=dict[str, Any]))
            if prefix == "v:":
                return ItemValue(msgspec.json.decode(rest))
            if prefix == "i:":
                return ItemIndex(int(rest))
        except (*UNREADABLE, ValueError) as error:
            raise InvalidObject(f"FieldsV1 has the invalid key {text!r}: {error}") from error
        raise InvalidObject(f"FieldsV1 has the invalid key {text!r}: expected a prefix f:, k:, v: or i:")

    @property
    def order(self) -> Ordering:
        """Sort key: fields first, then keys, values, indexes."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self.wire == other.wire if isinstance(other, Step) else NotImplemented

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Step) -> bool:
        return self.order < other.order

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: create a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: create a new one")

    def __reduce__(self) -> tuple[Any, ...]:
        return Step.from_wire, (self.wire,)


class Field(Step):
    """A field of an object, or a key of a map.

    ``.spec``, ``["app.kubernetes.io/name"]``.

    Args:
        name: Its name, unquoted.

    Raises:
        InvalidInput: It is not a string, or one that JSON cannot represent.
    """

    __slots__ = ()
    __match_args__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__(f"f:{_check_text(name)}")

    @property
    def name(self) -> str:
        """The field's name."""
        return self.wire[2:]

    @property
    def order(self) -> Ordering:
        """Sort key: by name."""
        return (0, self.wire)

    def __str__(self) -> str:
        name = self.name
        return f".{name}" if _PLAIN_NAME.fullmatch(name) else f"[{quoted(name)}]"

    def __repr__(self) -> str:
        return f"Field({self.name!r})"


class ItemKey(Step):
    """A list item, identified by its key fields: ``[name="web"]``.

    Args:
        keys: The key fields and their values; at least one.

    Raises:
        InvalidInput: There is no key, or a value is not JSON.
    """

    __slots__ = ("keys",)
    __match_args__ = ("keys",)

    keys: Mapping[str, JSON]

    def __init__(self, keys: Mapping[str, JSON]) -> None:
        ordered = _plain(keys)
        if not isinstance(ordered, dict) or not ordered:
            raise InvalidInput(f"an ItemKey requires at least one key field, as in {{'name': 'web'}}, not {keys!r}")
        super().__init__(f"k:{_as_go_writes(ordered)}")
        object.__setattr__(self, "keys", MappingProxyType(ordered))

    @property
    def order(self) -> Ordering:
        """Sort key: by names and values of the keys."""
        return (1, tuple((name, _value_order(value)) for name, value in self.keys.items()))

    def __str__(self) -> str:
        keys = (f"{_key_name(name)}={_json(value)}" for name, value in self.keys.items())
        return f"[{','.join(keys)}]"

    def __repr__(self) -> str:
        return f"ItemKey({dict(self.keys)!r})"


class ItemValue(Step):
    """An item of a list that is a set.

    ``[="example.com/protect"]``: identified by its value.

    Args:
        value: The item.

    Raises:
        InvalidInput: It is not JSON.
    """

    __slots__ = ("value",)
    __match_args__ = ("value",)

    value: JSON

    def __init__(self, value: JSON) -> None:
        value = _plain(value)
        super().__init__(f"v:{_as_go_writes(value)}")
        object.__setattr__(self, "value", value)

    @property
    def order(self) -> Ordering:
        """Sort key: by value: numbers, strings, booleans, then the rest."""
        return (2, _value_order(self.value))

    def __str__(self) -> str:
        return f"[={_json(self.value)}]"

    def __repr__(self) -> str:
        return f"ItemValue({self.value!r})"


class ItemIndex(Step):
    """A list item, identified by its index: ``[0]``.

    Args:
        index: The index, from 0.

    Raises:
        InvalidInput: It is not an integer >= 0.
    """

    __slots__ = ("index",)
    __match_args__ = ("index",)

    index: int

    def __init__(self, index: int) -> None:
        if type(index) is not int or index < 0:  # excludes True
            raise InvalidInput(f"the index of a list item must be an integer >= 0, not {index!r}")
        super().__init__(f"i:{index}")
        object.__setattr__(self, "index", index)

    @property
    def order(self) -> Ordering:
        """Sort key: by index."""
        return (3, self.index)

    def __str__(self) -> str:
        return f"[{self.index}]"

    def __repr__(self) -> str:
        return f"ItemIndex({self.index})"


def same_json(one: object, other: object) -> bool:
    """Whether two JSON values are equal.

    ``1`` equals ``1.0``, but neither equals ``True``.
    """
    try:  # usually the encodings are equal; comparing these is a hundred times faster than comparing values
        if _ENCODER.encode(one) == _ENCODER.encode(other):
            return True
    except (TypeError, ValueError, RecursionError):  # not plain JSON
        pass
    return _value_order(one) == _value_order(other)


def _plain_text(value: object) -> str:
    if isinstance(value, str):  # a subclass
        return str(value)
    raise TypeError(f"a {type(value).__name__} is not JSON")


_ENCODER: Final = msgspec.json.Encoder(order="deterministic", enc_hook=_plain_text)


def quoted(text: str) -> str:
    """Return ``text`` as a JSON string, in double quotes and with escapes."""
    return json.dumps(text, ensure_ascii=False)


def _key_name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else quoted(name)


def _json(value: JSON) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        return f"{{{','.join(f'{quoted(name)}:{_json(item)}' for name, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_json, value))}]"
    return json.dumps(value)


def _number(value: float) -> str:
    """Format as Go does, which uses exponents in other ranges than Python."""
    text = repr(value)
    if "e-" in text and abs(value) >= _MIN_PLAIN:
        return format(Decimal(text), "f")
    return text.replace("e-0", "e-")


def _as_go_writes(value: JSON) -> str:
    return _ESCAPED_BY_GO.sub(lambda match: f"\\u{ord(match[0]):04x}", _json(value))


def _plain(value: object) -> JSON:
    """Return a normalized private copy of a JSON value.

    Raises InvalidInput if it is not JSON.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _check_text(value)
    if isinstance(value, float) and math.isfinite(value):
        return int(value) if value.is_integer() and abs(value) < _MAX_PLAIN else value
    if isinstance(value, Mapping):
        return dict(sorted((_check_text(name), _plain(item)) for name, item in value.items()))
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    raise InvalidInput(f"{value!r} is not valid JSON, so it cannot match a list item")


def _check_text(text: object) -> str:
    if not isinstance(text, str):
        raise InvalidInput(f"a field name must be a string, not {text!r}")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{text!r} has a lone surrogate at offset {error.start}, which JSON cannot represent"
        ) from None
    return text


def _value_order(value: object) -> Ordering:
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    if isinstance(value, list | tuple):
        return (3, tuple(map(_value_order, value)))
    if isinstance(value, Mapping):
        return (4, tuple((name, _value_order(item)) for name, item in sorted(value.items())))
    return (5,)
