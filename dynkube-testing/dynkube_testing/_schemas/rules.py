"""Evaluation of CEL rules (``x-kubernetes-validations``).

A rule that cannot be evaluated, because no CEL library is installed or the library lacks a function, is skipped, and
the response has a warning. Unlike in the real server, the cost of rules is not limited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dynkube.errors import StatusCause
from dynkube_testing._calls.gotext import quoted, shown
from dynkube_testing._schemas.cellibrary import CEL, CannotEvaluate, Evaluate, EvaluationError, Language
from dynkube_testing._schemas.celvalues import has_typed_formats, rule_value
from dynkube_testing._schemas.correlation import Link
from dynkube_testing._schemas.findings import INVALID, NO_FIELD
from dynkube_testing._schemas.structural import Node, Structural

OLD_SELF = re.compile(r"\boldSelf\b")
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
    """A compiled rule of a schema.

    Attributes:
        source: The rule in the schema.
        evaluate: The compiled ``rule``.
        message: The compiled ``messageExpression``, if any.
        transition: Whether it is a transition rule, which uses ``oldSelf``.
        optional: Whether ``oldSelf`` is an optional value (``optionalOldSelf``).
    """

    source: Mapping[str, Any]
    evaluate: Evaluate
    message: Evaluate | None
    transition: bool
    optional: bool

    @property
    def words(self) -> str:
        return str(self.source.get("message") or self.source["rule"]).strip()


class RuleBook:
    """Compiles the rules of schemas on first use, and evaluates them.

    Args:
        language: Called for the first rule; returns the compiler, or raises ``CannotEvaluate`` if no library is
            installed.
    """

    def __init__(self, language: Callable[[], Language] = CEL) -> None:
        self._make = language
        self._language: Language | CannotEvaluate | None = None

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
            _Walk(self, outcome).check(schema.root, obj, old, "", _Trail(link), resource=True)
        return outcome

    def rules_of(self, node: Node) -> tuple[list[_Rule], list[str]]:
        """Return the rules of a node that compile, and the errors of those that do not."""
        if node.rules is None:
            node.rules = self._compiled(node)
        rules: tuple[list[_Rule], list[str]] = node.rules
        return rules

    def _compiled(self, node: Node) -> tuple[list[_Rule], list[str]]:
        rules, problems = [], []
        for source in node.source.get("x-kubernetes-validations") or ():
            try:
                rules.append(self._rule(source))
            except CannotEvaluate as error:
                problems.append(str(error))
        return rules, problems

    def _rule(self, source: Mapping[str, Any]) -> _Rule:
        language = self._get_language()
        rule, optional = str(source["rule"]), source.get("optionalOldSelf") is True
        message = source.get("messageExpression")
        return _Rule(
            source,
            language.compile(_with_optional_old(rule) if optional else rule),
            language.compile(message) if message else None,
            transition=OLD_SELF.search(rule) is not None,
            optional=optional,
        )

    def _get_language(self) -> Language:
        if self._language is None:
            try:
                self._language = self._make()
            except CannotEvaluate as error:
                self._language = error
        if isinstance(self._language, CannotEvaluate):
            raise self._language
        return self._language


def _with_optional_old(rule: str) -> str:
    return f"cel.bind(oldSelf, __has_old ? optional.of(__old) : optional.none(), {rule})"


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

    def alternative(self) -> _Trail:
        return _Trail(None, self.around)


class _Walk:
    """One walk over an object, which adds the result of each rule to ``outcome``."""

    def __init__(self, book: RuleBook, outcome: Outcome) -> None:
        self._book = book
        self._outcome = outcome

    def check(self, node: Node, value: Any, old: Any, path: str, trail: _Trail, *, resource: bool = False) -> None:
        if value is None or not node.with_rules:
            return
        if node.source.get("x-kubernetes-validations"):
            self._check_rules(node, value, old, path, trail, resource)
        for branch in node.branches("allOf"):
            self.check(branch, value, old, path, trail.alternative())
        if isinstance(value, dict):
            before = old if isinstance(old, dict) else {}
            for name, content in value.items():
                child = node.field(name)
                if child is not None:
                    named = name in node.properties
                    below = (f"{path}.{name}" if path else name) if named else f"{path}[{name}]"
                    self.check(child, content, before.get(name), below, trail.key(name))
        elif isinstance(value, list) and node.items is not None:
            links = Link(value, old if isinstance(old, list) else [], node)
            for index, item in enumerate(value):
                link = links.index(index)
                previous = link.old if link is not None else None
                self.check(node.items, item, previous, f"{path}[{index}]", trail.index(index))

    def _check_rules(self, node: Node, value: Any, old: Any, path: str, trail: _Trail, resource: bool) -> None:
        rules, problems = self._book.rules_of(node)
        for problem in problems:
            self._not_checked(path, problem)
        current = rule_value(value, node, resource=resource)
        before = None if old is None else rule_value(old, node, resource=resource)
        for rule in rules:
            if rule.transition and old is None and not rule.optional:
                continue  # transition rules apply to updates only
            variables = {"self": current, "oldSelf": before, "__old": before, "__has_old": old is not None}
            try:
                result = rule.evaluate(variables)
            except RuntimeError as error:
                self._not_checked(path, " ".join(str(error).split()))
                continue
            if isinstance(result, EvaluationError):
                self._report_error(rule, result, node, path)
            elif result is not True:
                self._report_failure(rule, variables, value, path, trail)

    def _not_checked(self, path: str, why: str) -> None:
        where = f" of {path}" if path else ""
        text = f"x-kubernetes-validations{where} were not checked: {why}"
        if "pip install" in why:
            text = f"x-kubernetes-validations were not checked: {why}"
        if text not in self._outcome.warnings:
            self._outcome.warnings.append(text)

    def _report_error(self, rule: _Rule, error: EvaluationError, node: Node, path: str) -> None:
        if error.overload and has_typed_formats(node):
            self._not_checked(path, "it compares times, which the CEL library takes for texts here")
            return
        if error.overload:
            why = "call arguments did not match a supported operator, function or macro signature for rule"
            text = f"'{error.text}': {why}: {rule.words}"
        else:
            text = f"{error.text} evaluating rule: {rule.words}"
        shown_type = quoted(node.types[0] if len(node.types) == 1 else "")
        self._outcome.causes.append(StatusCause(path or NO_FIELD, INVALID, f"Invalid value: {shown_type}: {text}"))

    def _report_failure(
        self, rule: _Rule, variables: Mapping[str, object], value: Any, path: str, trail: _Trail
    ) -> None:
        at = path + (_normalized(rule.source.get("fieldPath") or ""))
        cause = _cause(rule, at.removeprefix(".") or NO_FIELD, value, _message(rule, variables))
        if not rule.transition and trail.unchanged:
            self._outcome.warnings.append(f"{cause.field}: {cause.message}")
        else:
            self._outcome.causes.append(cause)


def _message(rule: _Rule, variables: Mapping[str, object]) -> str:
    """Return the error message: from ``messageExpression``, ``message`` or the rule.

    As in the real server, a result of ``messageExpression`` is only used if it is a string of one line that is not
    blank and not longer than 5 KiB.
    """
    if rule.message is not None:
        try:
            message = rule.message(variables)
        except RuntimeError:
            message = None
        if isinstance(message, str) and message.strip() and "\n" not in message.strip() and len(message) <= 5 * 1024:
            return message.strip()
    return rule.words if rule.source.get("message") else f"failed rule: {rule.words}"


def _cause(rule: _Rule, path: str, value: Any, message: str) -> StatusCause:
    reason = str(rule.source.get("reason") or INVALID)
    words = _REASONS.get(reason, "Invalid value")
    if reason not in {"FieldValueForbidden", "FieldValueRequired"} and not isinstance(value, dict | list):
        words = f"{words}: {shown(value)}"
    # The real server leaves the message out of the cause for a duplicate.
    text = words if reason == "FieldValueDuplicate" else f"{words}: {message}"
    return StatusCause(path, reason if reason in _REASONS else INVALID, text)


def _normalized(path: str) -> str:
    """Return a path like ``.spec['a b']`` in dot notation, the form in status causes."""

    def steps() -> Iterator[str]:
        for name, key in re.findall(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]", path):
            yield f".{name or key}"

    return "".join(steps())
