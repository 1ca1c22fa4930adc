"""Evaluation of CEL rules (``x-kubernetes-validations``).

If no CEL library is installed, rules are skipped, and the response has a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from dynkube.errors import StatusCause
from dynkube_testing._calls.gotext import quoted, shown
from dynkube_testing._schemas.cel.celtypes import BOOL, STRING
from dynkube_testing._schemas.cel.compiling import CompileError, Scope
from dynkube_testing._schemas.cel.declared import declared
from dynkube_testing._schemas.cel.errors import CannotEvaluate, EvaluationError
from dynkube_testing._schemas.cel.evaluation import Program
from dynkube_testing._schemas.cel.objects import rule_value
from dynkube_testing._schemas.cel.steps import CostExceeded
from dynkube_testing._schemas.cel.syntax import Parser
from dynkube_testing._schemas.cel.values import NONE, Optional, Value
from dynkube_testing._schemas.correlation import Link
from dynkube_testing._schemas.findings import INVALID, NO_FIELD
from dynkube_testing._schemas.json_paths import PathProblem, follow
from dynkube_testing._schemas.structural import Node, Structural

_RULES = "x-kubernetes-validations"
# The largest cost of one evaluation, and of all evaluations for one object.
_CALL_LIMIT, _OBJECT_LIMIT = 1_000_000, 10_000_000
_LONGEST_MESSAGE = 5 * 1024
_NO_MORE = "no further validation rules will be run"
_OVER_BUDGET = f"failed due to running out of cost budget, {_NO_MORE}"
_REASONS = {
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a validation: causes of an error response, and warnings."""

    causes: list[StatusCause] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule of a schema.

    Attributes:
        source: The rule in the schema.
        program: The compiled ``rule``; the error if it does not compile.
        message: The compiled ``messageExpression``, if any.
        path: The path of ``fieldPath`` in the form of status causes.
    """

    source: Mapping[str, Any]
    program: Program | CompileError
    message: Program | None = None
    path: str = ""

    @property
    def words(self) -> str:
        return str(self.source.get("message") or self.source["rule"]).strip()

    @property
    def transition(self) -> bool:
        """Whether the rule uses ``oldSelf``."""
        return isinstance(self.program, Program) and "oldSelf" in self.program.checked.names

    @property
    def optional(self) -> bool:
        return self.source.get("optionalOldSelf") is True


class RuleBook:
    """Compiles the rules of schemas on first use, and evaluates them.

    Args:
        parser: Called for the first rule; returns the parser, or raises ``CannotEvaluate`` if no library is installed.
    """

    def __init__(self, parser: Callable[[], Parser] = Parser) -> None:
        self._make = parser
        self._parser: Parser | None = None

    def check(self, schema: Structural, obj: Any, old: Any, link: Link | None) -> Outcome:
        """Evaluate the rules of ``schema`` on ``obj``.

        Args:
            schema: The schema.
            obj: The object to be stored.
            old: The object that ``obj`` replaces; ``None`` for a new object.
            link: The correlation of ``obj`` with ``old``, for ratcheting; ``None`` for a new object.
        """
        outcome = Outcome()
        if schema.root.with_rules:
            try:
                place = _Place(schema.root, _Trail(link), resource=True)
                _Walk(self, outcome).check(place, obj, old)
            except CannotEvaluate as error:
                outcome.warnings.append(f"{_RULES} were not checked: {error}")
            except _Stop:
                pass
        return outcome

    def rules_of(self, node: Node, *, resource: bool) -> list[_Rule]:
        """Return the rules of a node; ``resource`` is whether it is the schema of a whole object.

        Raises:
            CannotEvaluate: No CEL library is installed.
        """
        if node.rules is None:
            types = declared(node.source, resource=resource)
            scope = Scope.of(types) if types is not None else None
            node.rules = [self._rule(source, scope, node) for source in node.source[_RULES] if scope is not None]
        rules: list[_Rule] = node.rules
        return rules

    def _rule(self, source: Mapping[str, Any], scope: Scope, node: Node) -> _Rule:
        if self._parser is None:
            self._parser = self._make()
        optional = source.get("optionalOldSelf") is True
        try:
            program = scope.compile(self._parser, source["rule"], BOOL, optional_old=optional)
            text = source.get("messageExpression")
            message = scope.compile(self._parser, text, STRING, optional_old=optional) if text else None
        except CompileError as error:
            return _Rule(source, error)
        try:
            path = follow(source.get("fieldPath") or "", dict(node.source)).path
        except PathProblem:
            path = ""
        return _Rule(source, program, message, path)


class _Stop(Exception):
    """The object's rules cost too much, so no more of them are evaluated."""


@dataclass(frozen=True, slots=True)
class _Trail:
    """The correlation of a value with its old value, while a schema is walked.

    Attributes:
        link: The link of the value; ``None`` if it has no corresponding old value.
        around: The link of the parent, which then decides whether the value is unchanged.
    """

    link: Link | None
    around: Link | None = None

    @property
    def unchanged(self) -> bool:
        link = self.link or self.around
        return link is not None and link.unchanged

    def key(self, name: str) -> _Trail:
        if self.link is None:
            return self
        if self.around is None and name in {"apiVersion", "kind"}:
            return _Trail(None)
        return _Trail(self.link.key(name), self.link)

    def index(self, index: int) -> _Trail:
        return self if self.link is None else _Trail(self.link.index(index), self.link)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value is in an object.

    Attributes:
        node: The schema of the value.
        trail: The correlation with the old object.
        path: The path of the value.
        resource: Whether the value is the whole object.
    """

    node: Node
    trail: _Trail
    path: str = ""
    resource: bool = False


class _Walk:
    """One walk over an object, which adds the result of each rule to ``outcome``."""

    def __init__(self, book: RuleBook, outcome: Outcome) -> None:
        self._book = book
        self._outcome = outcome
        self._budget = _OBJECT_LIMIT

    def check(self, place: _Place, value: Any, old: Any) -> None:
        """Evaluate the rules of the schema of a value, and of the schemas inside."""
        node = place.node
        if value is None or not node.with_rules:
            return
        if node.source.get(_RULES):
            _Check(self, place, value, old).run(self._book)
        if isinstance(value, dict):
            before = old if isinstance(old, dict) else {}
            for name, content in value.items():
                if (child := node.field(name)) is not None:
                    named = name in node.properties
                    path = (f"{place.path}.{name}" if place.path else name) if named else f"{place.path}[{name}]"
                    self.check(_Place(child, place.trail.key(name), path), content, before.get(name))
        elif isinstance(value, list) and node.items is not None:
            links = Link(value, old if isinstance(old, list) else [], node)
            for index, item in enumerate(value):
                link = links.index(index)
                below = _Place(node.items, place.trail.index(index), f"{place.path}[{index}]")
                self.check(below, item, link.old if link is not None else None)

    def report(self, cause: StatusCause, *, as_warning: bool = False) -> None:
        if as_warning:
            self._outcome.warnings.append(f"{cause.field}: {cause.message}")
        else:
            self._outcome.causes.append(cause)

    def spend(self, cost: int) -> bool:
        """Take ``cost`` from the object's budget; return whether it was enough."""
        if cost > self._budget:
            return False
        self._budget -= cost
        return True

    @property
    def spent(self) -> bool:
        return self._budget <= 0


class _Check:
    """The evaluation of the rules of one node on one value."""

    def __init__(self, walk: _Walk, place: _Place, value: Any, old: Any) -> None:
        self._walk = walk
        self._place = place
        self._value = value
        self._old = old

    def run(self, book: RuleBook) -> None:
        place = self._place
        rules = book.rules_of(place.node, resource=place.resource)
        if self._walk.spent:
            self._stop(f"validation {_OVER_BUDGET}")
        current = rule_value(self._value, place.node, resource=place.resource)
        before = None if self._old is None else rule_value(self._old, place.node, resource=place.resource)
        for rule in rules:
            if isinstance(rule.program, CompileError):
                self._invalid(f"rule compile error: {rule.program}")
                continue
            if rule.transition and self._old is None and not rule.optional:
                continue  # transition rules apply to updates only
            variables: dict[str, Value] = {"self": current}
            if self._old is not None:
                variables["oldSelf"] = before
            own = {**variables, "oldSelf": NONE if before is None else Optional(before)} if rule.optional else variables
            if self._evaluated(rule, rule.program, own) is not True:
                continue
            self._fail(rule, self._message(rule, variables))

    def _evaluated(self, rule: _Rule, program: Program, variables: dict[str, Value]) -> bool:
        """Return whether the rule is violated; report an error in its evaluation."""
        try:
            result, cost = program.evaluate(variables, _CALL_LIMIT)
        except CostExceeded as exceeded:
            if not self._walk.spend(exceeded.cost):
                self._stop(f"validation {_OVER_BUDGET}")
            why = f"{_NO_MORE} due to call cost exceeds limit for rule"
            self._stop(f"'operation cancelled: actual cost limit exceeded': {why}: {rule.words}")
        if not self._walk.spend(cost):
            self._stop(f"validation {_OVER_BUDGET}")
        if isinstance(result, EvaluationError):
            text = str(result)
            if text.startswith("no such overload"):
                why = "call arguments did not match a supported operator, function or macro signature for rule"
                self._invalid(f"'{text}': {why}: {rule.words}")
            else:
                self._invalid(f"{text} evaluating rule: {rule.words}")
            return False
        return result is not True

    def _message(self, rule: _Rule, variables: dict[str, Value]) -> str:
        """Return the error message: from ``messageExpression``, ``message`` or the rule.

        As in the real server, a result of ``messageExpression`` is only used if it is a string of one line that is not
        blank and not longer than 5 KiB.
        """
        default = rule.words if rule.source.get("message") else f"failed rule: {rule.words}"
        if rule.message is None:
            return default
        try:
            message, cost = rule.message.evaluate(variables, _CALL_LIMIT)
        except CostExceeded as exceeded:
            if not self._walk.spend(exceeded.cost):
                self._stop(f"messageExpression evaluation {_OVER_BUDGET}", rule)
            source = quoted(rule.source["messageExpression"])
            self._stop(f"{_NO_MORE} due to call cost exceeds limit for messageExpression: {source}", rule)
        if not self._walk.spend(cost):
            self._stop(f"messageExpression evaluation {_OVER_BUDGET}", rule)
        text = message.strip() if isinstance(message, str) else ""
        return text if text and "\n" not in text and len(text.encode()) <= _LONGEST_MESSAGE else default

    def _fail(self, rule: _Rule, message: str) -> None:
        reason = str(rule.source.get("reason") or INVALID)
        words = _REASONS.get(reason, "Invalid value")
        typed = self._place.node.source.get("type")
        if reason not in {"FieldValueForbidden", "FieldValueRequired"} and typed not in {"object", "array"}:
            words = f"{words}: {shown(self._value)}"
        # The real server leaves the message out of the cause for a duplicate.
        text = words if reason == "FieldValueDuplicate" else f"{words}: {message}"
        known = reason if reason in _REASONS else INVALID
        ratcheted = not rule.transition and self._place.trail.unchanged
        self._walk.report(StatusCause(self._at(rule), known, text), as_warning=ratcheted)

    def _at(self, rule: _Rule | None) -> str:
        path = self._place.path
        if rule is not None and rule.path:
            path = f"{path}.{rule.path}" if path else rule.path
        return path or NO_FIELD

    def _invalid(self, text: str, rule: _Rule | None = None) -> None:
        kind = quoted(self._place.node.source.get("type") or "")
        self._walk.report(StatusCause(self._at(rule), INVALID, f"Invalid value: {kind}: {text}"))

    def _stop(self, text: str, rule: _Rule | None = None) -> NoReturn:
        self._invalid(text, rule)
        raise _Stop
