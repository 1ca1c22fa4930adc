"""Parse field paths as printed by a server.

Such a path is ambiguous if the name of a field contains a dot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from dynkube.errors import InvalidInput
from dynkube.fields._items import Values
from dynkube.fields._path import FieldPath
from dynkube.fields._steps import Field, Step
from dynkube.meta import MISSING

_BRACKETS: Final = re.compile(r"""\[(?:"(?:[^"\\]|\\.)*"|[^]"])*\]""", re.DOTALL)


def meant(text: str, *objects: Values | None) -> FieldPath:
    """Resolve a path printed by a server.

    The names that occur in one of the objects resolve ambiguities.

    Args:
        text: for example ``.data.tls.crt``, which is ambiguous because of the dots.
        objects: objects that may have the field; the first object that has it is used. If none has it, each dot is
            parsed as the start of a step. A string that cannot be parsed is returned as the name of one field.
    """
    for obj in objects:
        if obj is not None and (steps := _steps(text, obj.obj, obj)) is not None:
            return FieldPath(steps)
    try:
        return FieldPath.parse(text)
    except InvalidInput:
        return FieldPath() / text


def _steps(text: str, value: Any, within: Values) -> tuple[Step, ...] | None:
    """Return the steps of ``text`` in ``value``; ``None`` if it leads nowhere."""
    if not text:
        return ()
    if isinstance(value, Mapping) and text.startswith("."):
        # An object may have thousands of names, each with a conflict: look them up instead of iterating.
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
