"""The JSON paths in a CRD: of rules, printer columns and selectable fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value

# A delimiter, a single-quoted string (with backslash escapes), or the characters between them.
_TOKENS = re.compile(r"[.\[\]]|'(?:\\.|[^'\\])*'|[^.\[\]]+", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}
_NOWHERE = "does not refer to a valid field"


class PathProblem(Exception):
    """A path is malformed, or refers to a field that does not exist."""


@dataclass(frozen=True, slots=True)
class PathTarget:
    """A path in normal form, its first field name, and the schema of its target."""

    path: str
    root: str
    schema: JSONObject


def simple_path_causes(path: str, field: str) -> Iterator[StatusCause]:
    """Yield a cause if ``path`` does not start with a dot.

    The real server does not check anything else.
    """
    if not path.startswith("."):
        yield bad_value(field, path, "must be a simple json path starting with .")


def follow(path: str, schema: JSONObject, *, brackets: bool = True) -> PathTarget:
    """Find the field at ``path`` in ``schema``.

    Args:
        path: A path like ``.spec.hosts`` or ``.data['a.b']``.
        schema: The schema of the root.
        brackets: Whether names in brackets are allowed.

    Raises:
        PathProblem: The path is malformed, or refers to a field that does not exist.
    """
    tokens = iter(_TOKENS.findall(path))
    here, walked = schema, ""
    names: list[str] = []
    for mark in tokens:
        if mark == ".":
            name = _next(tokens)
        elif mark != "[":
            raise PathProblem(f"expected [ or . but got: {mark}")
        elif not brackets:
            raise PathProblem("array notation is not allowed")
        else:
            name = _quoted(_next(tokens))
        here, named = _step(here, name)
        walked += (f".{name}" if walked else name) if named else f"[{name}]"
        names.append(name)
        if mark == "[" and (end := _next(tokens)) != "]":
            raise PathProblem(f"expected ] but got {end}")
    return PathTarget(walked, names[0] if names else "", here)


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise PathProblem("unexpected end of JSON path")
    return token


def _quoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise PathProblem(f"expected single quoted string but got {token}")
    if bad := next((found for found in _ESCAPE.finditer(token[1:-1]) if found[1] not in _ESCAPES), None):
        raise PathProblem(f"invalid string literal: invalid escape char {bad[0]}")
    return _ESCAPE.sub(lambda found: _ESCAPES[found[1]], token[1:-1])


def _step(schema: JSONObject, name: str) -> tuple[JSONObject, bool]:
    """Return the schema of the field ``name``, and whether it is in ``properties``."""
    properties: dict[str, Any] | None = schema.get("properties")
    additional = schema.get("additionalProperties")
    if not properties and isinstance(additional, dict):
        return additional, False
    if not properties or name not in properties:
        raise PathProblem(_NOWHERE)
    return properties[name], True
