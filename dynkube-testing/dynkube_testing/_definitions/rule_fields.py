"""Detection of undefined fields in CEL rules, such as misspelled names.

Only chains of field names after ``self`` and ``oldSelf`` are checked, through objects and maps. Fields after an index,
of macro variables and of values of other types are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._definitions.structural import EMBEDDED
from dynkube_testing._schemas.celvalues import escaped

_STRING: JSONObject = {"type": "string"}
_META: JSONObject = {"type": "object", "properties": {"name": _STRING, "generateName": _STRING}}
_IDENTITY: JSONObject = {"apiVersion": _STRING, "kind": _STRING, "metadata": _META}
_TEXT = re.compile(
    r"""//[^\n]*|[rRbB]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.DOTALL
)
_BEGIN = re.compile(r"(?<![\w.])(?:self|oldSelf)\b")
_STEP = re.compile(r"\s*(\.)\s*\??\s*([A-Za-z_]\w*)(?!\w)(?!\s*\()")
_HAS = re.compile(r"\bhas\s*(\()\s*$")
_SHADOWED = re.compile(r"[(,]\s*(?:self|oldSelf)\s*,")


def undefined_fields(expression: str, schema: JSONObject) -> str:
    """Return a real server's compile errors for undefined fields; ``""`` for none.

    Args:
        expression: A ``rule`` or ``messageExpression``.
        schema: The schema of ``self``. The schema of a whole object must be marked as an embedded resource.
    """
    bare = _TEXT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), expression)
    if _SHADOWED.search(bare):
        return ""
    return "\n".join(_undefined_message(expression, at, name) for at, name in _undefined(bare, schema))


def _undefined(bare: str, schema: JSONObject) -> Iterator[tuple[int, str]]:
    """Yield position and name of the first undefined field in each chain of fields."""
    for begin in _BEGIN.finditer(bare):
        below: JSONObject | None = schema
        end = begin.end()
        while below is not None and (step := _STEP.match(bare, end)):
            known, below = _field(below, step[2])
            end = step.end()
            if not known:
                macro = _HAS.search(bare, 0, begin.start())
                last = macro and re.match(r"\s*\)", bare[end:])
                yield (macro.start(1) if macro and last else step.start(1)), step[2]


def _field(schema: JSONObject, name: str) -> tuple[bool, JSONObject | None]:
    """Return whether the field ``name`` may exist, and its schema if known."""
    if isinstance(additional := schema.get("additionalProperties"), dict):
        return True, additional
    if schema.get("type") != "object" or additional:
        return True, None
    properties: JSONObject = {escaped(key): value for key, value in schema.get("properties", {}).items()}
    properties |= schema.get("properties", {}) | (_IDENTITY if schema.get(EMBEDDED) else {})
    found = properties.get(name)
    if found is None or not (found.get("type") or found.get("x-kubernetes-int-or-string")):
        return False, None
    return True, found


def _undefined_message(expression: str, at: int, name: str) -> str:
    line = expression.count("\n", 0, at)
    begin = expression.rfind("\n", 0, at) + 1
    # The real server's compiler prints a wide dot below characters of more than one byte.
    dots = "".join("." if letter.isascii() else "\uff0e" for letter in expression[begin:at])
    text = expression.split("\n")[line]
    return f"ERROR: <input>:{line + 1}:{at - begin + 1}: undefined field '{name}'\n | {text}\n | {dots}^"
