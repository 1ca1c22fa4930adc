"""Parse numbers and booleans in a query, as by kube-apiserver's conversion."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dynkube.testing._calls import refuse

_INT64 = range(-(2**63), 2**63)


def boolean(params: Mapping[str, str], name: str) -> bool | None:
    """Parse a boolean: true unless ``0`` or ``false``; ``None`` if missing."""
    text = params.get(name)
    return None if text is None else text.lower() not in {"0", "false"}


def integer(params: Mapping[str, str], name: str) -> int | None:
    """Parse an integer; ``None`` if it is not given.

    Raises:
        BadRequest: It is not a 64-bit integer. As in kube-apiserver the message does not name the parameter.
    """
    text = params.get(name)
    if text is None:
        return None
    if problem := digits_problem("ParseInt", text, r"[+-]?[0-9]+", _INT64):
        raise refuse.bad_request(problem)
    return int(text)


def digits_problem(function: str, text: str, pattern: str, allowed: range) -> str:
    """Return the error of Go's ``strconv``; ``""`` for a number within ``allowed``."""
    shown = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if not re.fullmatch(pattern, text, re.ASCII):
        return f"strconv.{function}: parsing {shown}: invalid syntax"
    if int(text[:40]) not in allowed:
        return f"strconv.{function}: parsing {shown}: value out of range"
    return ""
