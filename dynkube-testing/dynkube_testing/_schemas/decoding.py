"""Decoding errors: values that the real server cannot decode into its Go types.

They apply to built-in kinds, and to the metadata of all kinds. Because decoding fails before validation, the response
is a 400 and not a 422, and reports the first error only.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable
from typing import Any, Final

from dynkube_testing._calls.gotext import TIME, time_error
from dynkube_testing._kinds.schemas import TEXTS
from dynkube_testing._schemas.scalars import json_type
from dynkube_testing._schemas.structural import Node

_QUANTITY: Final = re.compile(r"([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")
_TEXT: Final = ("string",)
_GO_VALUES: Final = {"integer": "number", "boolean": "bool"}
_RANGES: Final = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}


def decoding_error(node: Node, value: Any, path: str = "") -> str:
    """Return why ``value`` cannot be decoded into its Go type; ``""`` if it can.

    Args:
        node: The schema, with the names of Go types as titles.
        value: The value.
        path: The path of the value in the request body.
    """
    return _error(node, value, path, "", "")


def _error(node: Node, value: Any, path: str, struct: str, name: str) -> str:
    """Return the error for ``value``, ``""`` for none.

    ``struct`` is the Go struct that contains the value, ``name`` the Go type of a string if it has a named type.
    """
    if isinstance(value, str) and node.types == _TEXT and not node.source.get("format"):
        return ""  # a fast path, because most values are arbitrary strings
    found = json_type(value)
    if value is None:
        return ""
    if special := _special_error(node, value, found, path, struct):
        return special if special is not _FINE else ""
    kind = node.types[0] if node.types else ""
    if kind == "integer" and isinstance(value, int | float) and found in {"integer", "number"}:
        limit = _RANGES[node.source.get("format") or "int64"]
        if isinstance(value, float) or value not in limit:
            return _mismatch(f"number {value}", path, struct, _go_type(node, name))
        return ""
    if kind and kind != found and not (kind == "number" and found == "integer"):
        return _mismatch(_GO_VALUES.get(found, found), path, struct, _go_type(node, name))
    if found == "object":
        return _object_error(node, value, path, struct, name)
    if found == "array" and node.items is not None:
        return _reported(_error(node.items, item, path, struct, name) for item in value)
    return ""


def _object_error(node: Node, value: dict[str, Any], path: str, struct: str, name: str) -> str:
    title = str(node.source.get("title") or "").rpartition(".")[2]
    texts = node.source.get(TEXTS, {})
    errors = []
    for key, content in value.items():
        child = node.properties.get(key)
        if child is not None:
            below = f"{path}.{key}" if path else key
            errors.append(_error(child, content, below, title or struct, texts.get(key, "")))
        elif node.additional is not None:
            errors.append(_error(node.additional, content, path, struct, name))
    return _reported(errors)


def _reported(errors: Iterable[str]) -> str:
    """Return the one of ``errors`` that Go's decoder reports, ``""`` for none.

    Go's decoder stops at an error of a type with a custom decoder, and reports it. It continues after other errors, and
    reports the first of them.
    """
    first = ""
    for error in errors:
        if error and not error.startswith(_GOES_ON):
            return error
        first = first or error
    return first


_GOES_ON: Final = ("json: cannot unmarshal ", "illegal base64 ")
_FINE: Final = "fine"


def _special_error(node: Node, value: Any, found: str, path: str, struct: str) -> str:
    """Return the error for a value whose Go type has a custom decoder.

    The result is :data:`_FINE` if the value is valid, and ``""`` for types without a custom decoder.
    """
    given = node.source.get("format")
    if given == "quantity":
        fits = found in {"integer", "number"} or (found == "string" and _QUANTITY.fullmatch(value))
        pattern = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
        return _FINE if fits else f"quantities must match the regular expression '{pattern}'"
    if len(node.types) == 2:
        fits = found in {"integer", "string"}
        return _FINE if fits else _mismatch(_GO_VALUES.get(found, found), path, struct, "int32")
    if found != "string":
        return ""
    if given == "date-time":
        return _FINE if not value or TIME.fullmatch(value) else time_error(value)
    if given == "byte":
        return _base64_error(value)
    return ""


def _base64_error(value: str) -> str:
    try:
        binascii.a2b_base64(value, strict_mode=True)
    except binascii.Error:
        wrong = re.search("[^A-Za-z0-9+/]", value)
        return f"illegal base64 data at input byte {wrong.start() if wrong else len(value)}"
    return _FINE


def _mismatch(found: str, path: str, struct: str, go_type: str) -> str:
    where = f"struct field {struct}.{path}" if struct else "value"
    return f"json: cannot unmarshal {found} into Go {where} of type {go_type}"


def _go_type(node: Node, name: str = "") -> str:
    match node.types[0] if node.types else "":
        case "string":
            return name or ("[]uint8" if node.source.get("format") == "byte" else "string")
        case "integer":
            return str(node.source.get("format") or "int64")
        case "number":
            return "float64"
        case "boolean":
            return "bool"
        case "array":
            return f"[]{_go_type(node.items, name)}" if node.items is not None else "[]interface {}"
    if node.source.get("title"):
        return str(node.source["title"])
    if node.additional is not None:
        return f"map[string]{_go_type(node.additional)}"
    return "map[string]interface {}"
