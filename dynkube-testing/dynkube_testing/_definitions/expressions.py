"""Compile errors and estimated costs of the CEL rules of a CRD.

Without a CEL library nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value, not_allowed
from dynkube_testing._definitions.internal_form import bad_struct
from dynkube_testing._definitions.list_types import LIST_TYPE
from dynkube_testing._definitions.shapes import Ref
from dynkube_testing._definitions.validation_rules import RULES
from dynkube_testing._schemas.cel.celtypes import BOOL, STRING
from dynkube_testing._schemas.cel.compiling import CompileError, Scope
from dynkube_testing._schemas.cel.declared import MAX_REQUEST, Declared, declared
from dynkube_testing._schemas.cel.errors import CannotEvaluate
from dynkube_testing._schemas.cel.estimates import cost_message, estimate
from dynkube_testing._schemas.cel.evaluation import Program
from dynkube_testing._schemas.cel.names import escaped
from dynkube_testing._schemas.cel.ranges import MOST
from dynkube_testing._schemas.cel.syntax import Parser

_RULE = Ref(struct="ValidationRule")
_LIMIT, _TOTAL_LIMIT = 10_000_000, 100_000_000
_SHARE = _TOTAL_LIMIT // 100  # rules that cost less are not reported as part of an exceeded total
_MOST_REPORTED = 4


class Expressions:
    """Compiles CEL rules; the CEL library is loaded for the first rule.

    Args:
        parser: Function that returns the parser; raises ``CannotEvaluate`` if no library is installed.
    """

    def __init__(self, parser: Callable[[], Parser] = Parser) -> None:
        self._make = parser
        self._parser: Parser | None = None
        self._tried = False

    def causes(self, schema: JSONObject, path: str, *, unchanged: bool = False) -> list[StatusCause]:
        """Return the causes for expressions that do not compile or cost too much, the innermost first.

        Args:
            schema: The schema of a whole object, which must be structural and valid apart from expressions.
            path: The path of the schema.
            unchanged: Whether the CRD had this schema before. The costs of its single expressions are not limited.
        """
        if not self._tried:
            self._tried = True
            try:
                self._parser = self._make()
            except CannotEvaluate:
                self._parser = None
        if self._parser is None:
            return []
        walk = _Walk(self._parser, unchanged)
        return [*walk.causes(schema, path, _Place(resource=True)), *walk.total_causes(path)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The context of a part of a schema.

    Attributes:
        resource: Whether it is the schema of a whole object.
        known: The declaration of its values, if that of the schema around it is known.
        count: How many values an object has at most; ``None`` if there is no limit.
        uncorrelated: The path of the outermost list around it whose items have no corresponding items in the old
            object, since its list type is not ``map``; ``""`` if there is none.
    """

    resource: bool = False
    known: Declared | None = None
    count: int | None = 1
    uncorrelated: str = ""


@dataclass(slots=True)
class _Walk:
    """A walk over a schema, which adds up the costs of its expressions."""

    parser: Parser
    unchanged: bool
    total: int = 0
    expensive: list[tuple[int, str]] = field(default_factory=list)

    def causes(self, schema: JSONObject, path: str, place: _Place) -> Iterator[StatusCause]:
        known = place.known
        if known is None and schema.get(RULES):
            known = declared(schema, resource=place.resource)
        for part, below, inside in _parts(schema, path, known, place):
            yield from self.causes(below, f"{path}.{part}", inside)
        rules = schema.get(RULES, ())
        if rules and known is not None:
            scope = Scope.of(known)
            for index, rule in enumerate(rules):
                yield from self._rule_causes(rule, scope, f"{path}.{RULES}[{index}]", place)

    def total_causes(self, path: str) -> Iterator[StatusCause]:
        """Yield the causes if the expressions together cost too much."""
        if self.total > _TOTAL_LIMIT:
            detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            for _, at in self.expensive:
                yield not_allowed(at, detail)
            name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
            yield not_allowed(path, cost_message(name, self.total, _TOTAL_LIMIT))

    def _rule_causes(self, rule: JSONObject, scope: Scope, path: str, place: _Place) -> Iterator[StatusCause]:
        optional = rule.get("optionalOldSelf") is True
        uses_old = False
        try:
            program = scope.compile(self.parser, rule["rule"], BOOL, optional_old=optional)
        except CompileError as problem:
            yield bad_struct(f"{path}.rule", _RULE, rule, str(problem))
        else:
            uses_old = "oldSelf" in program.checked.names
            count = MAX_REQUEST // (scope.root.least_bytes + 1) if place.count is None else place.count
            yield from self._cost_causes(program, scope, count, f"{path}.rule", "estimated rule cost")
            if rule.get("messageExpression"):
                yield from self._message_causes(rule, scope, path, optional=optional)
        if not uses_old and "optionalOldSelf" in rule:
            detail = "may not be set if oldSelf is not used in rule"
            yield bad_value(f"{path}.optionalOldSelf", rule["optionalOldSelf"], detail)
        elif uses_old and place.uncorrelated:
            detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelated}"
            yield bad_value(f"{path}.rule", rule["rule"], detail)

    def _message_causes(self, rule: JSONObject, scope: Scope, path: str, *, optional: bool) -> Iterator[StatusCause]:
        at = f"{path}.messageExpression"
        try:
            program = scope.compile(self.parser, rule["messageExpression"], STRING, optional_old=optional)
        except CompileError as problem:
            yield bad_struct(at, _RULE, rule, f"messageExpression {problem}")
            return
        yield from self._cost_causes(program, scope, 1, at, "estimated messageExpression cost")

    def _cost_causes(self, program: Program, scope: Scope, count: int, path: str, name: str) -> Iterator[StatusCause]:
        """Add the cost of ``count`` evaluations, and yield a cause if it is too high."""
        cost = min(estimate(program.checked, scope.root).high * count, MOST)
        if cost > _LIMIT and not self.unchanged:
            yield not_allowed(path, cost_message(name, cost, _LIMIT))
        self.total = min(self.total + cost, MOST)
        if cost >= _SHARE:
            costs = sorted([*self.expensive, (cost, path)], key=lambda each: -each[0])
            self.expensive = costs[:_MOST_REPORTED]


def _parts(
    schema: JSONObject, path: str, known: Declared | None, place: _Place
) -> Iterator[tuple[str, JSONObject, _Place]]:
    """Yield the path, schema and context of the parts directly inside ``schema``."""
    item = known.item if known is not None else None
    fields = (known.fields if known is not None else None) or {}
    if isinstance(additional := schema.get("additionalProperties"), dict):
        count = _times(place.count, schema.get("maxProperties"))
        inside = _Place(known=item, count=count, uncorrelated=place.uncorrelated)
        yield "additionalProperties", additional, inside
    for name, below in schema.get("properties", {}).items():
        inside = _Place(known=fields.get(escaped(name) or ""), count=place.count, uncorrelated=place.uncorrelated)
        yield f"properties[{name}]", below, inside
    if isinstance(items := schema.get("items"), dict):
        outermost = place.uncorrelated or (path if schema.get(LIST_TYPE) != "map" else "")
        count = _times(place.count, schema.get("maxItems"))
        yield "items", items, _Place(known=item, count=count, uncorrelated=outermost)


def _times(count: int | None, limit: int | None) -> int | None:
    return None if count is None or limit is None else min(count * max(limit, 0), MOST)
