"""Validation of ``x-kubernetes-validations``: messages, reasons, field paths.

The module :mod:`expressions` checks that the expressions compile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value, not_supported, required
from dynkube_testing._definitions.structural import unsupported_keyword
from dynkube_testing._schemas.json_paths import PathProblem, follow

RULES = "x-kubernetes-validations"
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LINE_BREAK = re.compile("[\n\r]")


def rule_causes(schema: JSONObject, field: str) -> Iterator[StatusCause]:
    """Yield the causes for invalid rules of ``schema``, but not of its parts."""
    for index, rule in enumerate(schema.get(RULES, ())):
        at = f"{field}.{RULES}[{index}]"
        yield from _text_causes(rule, at)
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            yield not_supported(f"{at}.reason", reason, _REASONS)
        if path := rule.get("fieldPath", ""):
            yield from _path_causes(schema, path, f"{at}.fieldPath")


def _text_causes(rule: JSONObject, field: str) -> Iterator[StatusCause]:
    expression, message = rule["rule"].strip(), rule.get("message", "")
    if not expression:
        yield required(f"{field}.rule", "rule is not specified")
    elif message and not message.strip():
        yield bad_value(f"{field}.message", message, "must be non-empty if specified")
    elif _LINE_BREAK.search(message.strip()):
        yield bad_value(f"{field}.message", message, "must not contain line breaks")
    elif _LINE_BREAK.search(expression) and not message:
        yield required(f"{field}.message", "message must be specified if rule contains line breaks")
    of_message = rule.get("messageExpression", "")
    if of_message and not of_message.strip():
        yield required(f"{field}.messageExpression", "messageExpression must be non-empty if specified")


def _path_causes(schema: JSONObject, path: str, field: str) -> Iterator[StatusCause]:
    if not path.strip():
        yield bad_value(field, path, "must be non-empty if specified")
    if _LINE_BREAK.search(path):
        yield bad_value(field, path, "must not contain line breaks")
    if unsupported_keyword(schema):
        return  # the module ``structural`` reports it
    try:
        follow(path, schema)
    except PathProblem:
        yield bad_value(field, path, "must be a valid path")
