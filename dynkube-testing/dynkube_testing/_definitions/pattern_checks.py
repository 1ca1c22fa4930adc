"""Validation of the patterns in the schema of a CRD, with a limit on their size."""

from __future__ import annotations

from collections.abc import Iterator

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value
from dynkube_testing._schemas.patterns import TOO_LARGE, BadPattern, compile_pattern

# The maximum number of compiled instructions of all patterns in a schema. They take 10 MB of memory and a quarter of a
# second. All patterns of an HTTPRoute have 2,100, and 500 patterns like ``^[a-z]{1,253}$`` 254,000.
MAX_INSTRUCTIONS = 600_000


def pattern_causes(schema: JSONObject, field: str) -> Iterator[StatusCause]:
    """Yield a cause for each ``pattern`` that does not compile or is beyond the limit.

    Causes have the real server's messages. ``field`` is the path of ``schema``.
    """
    left = MAX_INSTRUCTIONS
    for path, pattern in _patterns(schema, field):
        problem = ""
        try:
            left -= compile_pattern(pattern).size if left > 0 else 0
        except BadPattern as error:
            problem = str(error)
            if problem == TOO_LARGE:  # finding that out takes as long as compiling all that is allowed
                left = 0
        if left <= 0:
            problem = problem or TOO_LARGE
        if problem:
            yield bad_value(f"{path}.pattern", pattern, f"must be a valid regular expression, but isn't: {problem}")


def _patterns(schema: JSONObject, field: str) -> Iterator[tuple[str, str]]:
    if pattern := schema.get("pattern"):
        yield field, pattern
    for name, below in schema.get("properties", {}).items():
        yield from _patterns(below, f"{field}.properties[{name}]")
    for keyword in ("items", "additionalProperties", "not"):
        if isinstance(below := schema.get(keyword), dict):
            yield from _patterns(below, f"{field}.{keyword}")
    for junctor in ("allOf", "anyOf", "oneOf"):
        for index, branch in enumerate(schema.get(junctor, ())):
            yield from _patterns(branch, f"{field}.{junctor}[{index}]")
