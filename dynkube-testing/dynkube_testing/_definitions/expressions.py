"""Compile errors of CEL rules, as far as the installed CEL library finds them.

Errors are reported for the syntax, for undeclared names and fields, and for rules that do not return a boolean. Unlike
in the real server, types are not checked otherwise, and the cost is not estimated. Without a CEL library nothing is
checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.refuse import bad_value
from dynkube_testing._definitions.internal_form import bad_struct
from dynkube_testing._definitions.list_types import LIST_TYPE
from dynkube_testing._definitions.rule_fields import undefined_fields
from dynkube_testing._definitions.shapes import Ref
from dynkube_testing._definitions.structural import EMBEDDED
from dynkube_testing._definitions.validation_rules import RULES
from dynkube_testing._schemas.cel import OLD_SELF
from dynkube_testing._schemas.cellibrary import CEL, CannotEvaluate

_RULE = Ref(struct="ValidationRule")


class Expressions:
    """Compiles CEL rules; the CEL library is loaded for the first rule.

    Args:
        language: Function that returns the compiler; raises ``CannotEvaluate`` if no library is installed.
    """

    def __init__(self, language: Callable[[], CEL] = CEL) -> None:
        self._make = language
        self._language: CEL | None = None
        self._tried = False

    def causes(self, schema: JSONObject, field: str) -> Iterator[StatusCause]:
        """Yield the causes for expressions that do not compile, the innermost first.

        Args:
            schema: The schema of a whole object, which must be structural and valid apart from expressions.
            field: The path of the schema.
        """
        # Rules can access apiVersion, kind and names of the whole object, as in embedded objects.
        yield from self._causes({**schema, EMBEDDED: True}, field)

    def _causes(self, schema: JSONObject, field: str, uncorrelated: str = "") -> Iterator[StatusCause]:
        """Yield the causes in ``schema``.

        ``uncorrelated`` is the path of the outermost list around ``schema`` whose items have no corresponding items in
        the old object, since its list type is not ``map``; ``""`` if there is none.
        """
        if isinstance(additional := schema.get("additionalProperties"), dict):
            yield from self._causes(additional, f"{field}.additionalProperties", uncorrelated)
        for name, below in schema.get("properties", {}).items():
            yield from self._causes(below, f"{field}.properties[{name}]", uncorrelated)
        if isinstance(items := schema.get("items"), dict):
            inside = uncorrelated or (field if schema.get(LIST_TYPE) != "map" else "")
            yield from self._causes(items, f"{field}.items", inside)
        for index, rule in enumerate(schema.get(RULES, ())):
            yield from self._rule_causes(rule, schema, f"{field}.{RULES}[{index}]", uncorrelated)

    def _rule_causes(
        self, rule: JSONObject, schema: JSONObject, field: str, uncorrelated: str
    ) -> Iterator[StatusCause]:
        if problem := self._problem(rule["rule"], schema, "bool"):
            detail = "cel expression must evaluate to a bool" if problem == "type" else f"compilation failed: {problem}"
            yield bad_struct(f"{field}.rule", _RULE, rule, detail)
            return
        message = rule.get("messageExpression", "")
        if message and (problem := self._problem(message, schema, "string")):
            detail = "must evaluate to a string" if problem == "type" else f"compilation failed: {problem}"
            yield bad_struct(f"{field}.messageExpression", _RULE, rule, f"messageExpression {detail}")
        if not OLD_SELF.search(rule["rule"]):
            if "optionalOldSelf" in rule:
                detail = "may not be set if oldSelf is not used in rule"
                yield bad_value(f"{field}.optionalOldSelf", rule["optionalOldSelf"], detail)
        elif uncorrelated:
            detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
            yield bad_value(f"{field}.rule", rule["rule"], detail)

    def _problem(self, expression: str, schema: JSONObject, wanted: str) -> str:
        if not self._tried:
            self._tried = True
            try:
                self._language = self._make()
            except CannotEvaluate:
                self._language = None
        if self._language is None:
            return ""
        problem = self._language.problem(expression, wanted)
        return problem if problem not in {"", "type"} else undefined_fields(expression, schema) or problem
