"""Decoded JSON as Go prints it (``%v``, ``%T``): some messages of the real server show values that way."""

from __future__ import annotations


def go_text(value: object) -> str:
    """``value`` as ``%v`` has it: ``map[a:1 b:[x y]]``."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(go_text(item) for item in value)}]"
    return str(value)


def go_type(value: object) -> str:
    """The Go type that JSON like ``value`` is decoded into, as ``%T`` has it."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64"
        case float():
            return "float64"
        case list():
            return "[]interface {}"
    return "map[string]interface {}"
