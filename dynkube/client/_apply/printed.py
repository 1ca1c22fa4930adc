"""Which field a server means: its texts of paths do not say where a name with dots in it ends. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from dynkube.errors import InvalidInput
from dynkube.fields import Field, FieldPath, Step, Values
from dynkube.meta import MISSING

_BRACKETS: Final = re.compile(r"""\[(?:"(?:[^"\\]|\\.)*"|[^]"])*\]""", re.DOTALL)


def meant(text: str, *objects: Values | None) -> FieldPath:
    """A path as a server prints it, read by the names that are in one of the objects.

    Args:
        text: ``.data.tls.crt``, of which the dots alone do not tell what it names.
        objects: where the field may be; the first one that has it says which it is. If none has it each dot is read as
            the start of a step; what does not parse then counts as the name of one field.
    """
    for obj in objects:
        if obj is not None and (steps := _steps(text, obj.obj, obj)) is not None:
            return FieldPath(steps)
    try:
        return FieldPath.parse(text)
    except InvalidInput:
        return FieldPath() / text


def _steps(text: str, value: Any, within: Values) -> tuple[Step, ...] | None:
    """The steps that ``text`` takes in ``value``; ``None`` if it leads nowhere there."""
    if not text:
        return ()
    if isinstance(value, Mapping) and text.startswith("."):
        # Of thousands of names in an object each may clash: they are looked up, and not gone through.
        ends = [end for end in range(1, len(text)) if text[end] in ".["]
        for end in [len(text), *reversed(ends)]:
            name = text[1:end]
            rest = _steps(text[end:], value[name], within) if name in value else None
            if rest is not None:
                return (Field(name), *rest)
    elif isinstance(value, list) and (found := _BRACKETS.match(text)):
        try:
            (step,) = FieldPath.parse(found[0]).steps
        except InvalidInput:
            return None
        item = within.child(value, step)
        rest = None if item is MISSING else _steps(text[found.end() :], item, within)
        return None if rest is None else (step, *rest)
    return None
