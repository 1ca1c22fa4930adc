"""Compilation of the JSONPath of a printer column to a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from dynkube.errors import InvalidJSONPath
from dynkube.meta import JSONPath


class Absent:
    """The type of :data:`ABSENT`."""


#: There is no value, not even ``null``.
ABSENT: Final = Absent()

FirstValue: TypeAlias = Callable[[Mapping[str, object]], object]

_NAMES = r"(?:\.[A-Za-z_][\w-]*)"
# A path to a field of a condition, as most CRDs have. The general evaluation takes thirty times as long.
_CONDITION = re.compile(
    rf"\{{?(?P<list>{_NAMES}+)\[\?\(\s*@\.(?P<key>[A-Za-z_]\w*)\s*==\s*(?P<quote>[\"'])(?P<value>[^\"'\\]*)(?P=quote)\s*\)\]"
    rf"(?P<rest>{_NAMES}+)\}}?"
)


def first_value(text: str) -> FirstValue:
    """Compile the JSONPath ``text`` to a function that returns the first value.

    The function returns :data:`ABSENT` if there is no value or if kubectl would fail.

    Raises:
        InvalidJSONPath: ``text`` is not a valid JSONPath.
    """
    condition = _CONDITION.fullmatch(text)
    if condition is not None:
        return _by_condition(_names(condition["list"]), condition["key"], condition["value"], _names(condition["rest"]))
    path = JSONPath.compile(text, strict=True)

    def first(document: Mapping[str, object]) -> object:
        try:
            found = path.find(document)
        except InvalidJSONPath:
            return ABSENT  # for example, an index out of bounds
        return found[0] if found else ABSENT

    return first


def _names(path: str) -> tuple[str, ...]:
    return tuple(path.split(".")[1:])


def _by_condition(to_list: tuple[str, ...], key: str, wanted: str, rest: tuple[str, ...]) -> FirstValue:
    def first(document: Mapping[str, object]) -> object:
        elements = _follow(document, to_list)
        if not isinstance(elements, list):
            return ABSENT
        result: object = ABSENT
        for element in elements:
            value = element.get(key, ABSENT) if isinstance(element, dict) else ABSENT
            if value is not ABSENT and not isinstance(value, str):
                return ABSENT  # as in kubectl, comparing a string with another type is an error of the whole filter
            if value == wanted and result is ABSENT:
                result = _follow(element, rest)
        return result

    return first


def _follow(value: object, names: tuple[str, ...]) -> object:
    for name in names:
        if not isinstance(value, dict) or name not in value:
            return ABSENT
        value = value[name]
    return value
