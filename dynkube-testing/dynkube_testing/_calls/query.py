"""Parse numbers, booleans and times in query parameters, as kube-apiserver does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from dynkube_testing._calls import refuse
from dynkube_testing._calls.gotext import TIME, time_error

_INT64 = range(-(2**63), 2**63)


def boolean(params: Mapping[str, str], name: str) -> bool | None:
    """Parse a boolean parameter; ``None`` if it is not given.

    Every value is true except ``0`` and ``false``.
    """
    text = params.get(name)
    return None if text is None else text.lower() not in {"0", "false"}


def integer(params: Mapping[str, str], name: str) -> int | None:
    """Parse an integer parameter; ``None`` if it is not given.

    Raises:
        BadRequest: It is not a 64-bit integer. As in kube-apiserver, the message does not name the parameter.
    """
    text = params.get(name)
    if text is None:
        return None
    if problem := digits_problem("ParseInt", text, r"[+-]?[0-9]+", _INT64):
        raise refuse.bad_request(problem)
    return int(text)


def time(params: Mapping[str, str], name: str) -> datetime | None:
    """Parse a time parameter (RFC 3339); ``None`` if it is not given or empty.

    Raises:
        BadRequest: It is not a time.
    """
    text = params.get(name)
    if not text:
        return None
    try:
        if TIME.fullmatch(text):
            return datetime.fromisoformat(text)
    except ValueError:
        pass  # the form is right, but not the date
    raise refuse.bad_request(time_error(text))


def digits_problem(function: str, text: str, pattern: str, allowed: range) -> str:
    """Return the error of Go's ``strconv`` for a number; ``""`` if it is valid.

    Args:
        function: The Go function for the message, like ``"ParseInt"``.
        text: The number.
        pattern: Regular expression for the syntax of the number.
        allowed: The allowed values.
    """
    shown = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if not re.fullmatch(pattern, text, re.ASCII):
        return f"strconv.{function}: parsing {shown}: invalid syntax"
    if int(text[:40]) not in allowed:
        return f"strconv.{function}: parsing {shown}: value out of range"
    return ""
