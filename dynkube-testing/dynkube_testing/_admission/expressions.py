"""CEL expressions of policies and webhooks: variables, match conditions and the authorizer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.users import User
from dynkube_testing._schemas.cel.authorizer import Authorize, Authorizer, ResourceCheck
from dynkube_testing._schemas.cel.compiling import CompileError
from dynkube_testing._schemas.cel.errors import EvaluationError
from dynkube_testing._schemas.cel.evaluation import Program
from dynkube_testing._schemas.cel.policies import compiled
from dynkube_testing._schemas.cel.steps import CostExceeded
from dynkube_testing._schemas.cel.syntax import Parser
from dynkube_testing._schemas.cel.values import Value

_COMPOSED = re.compile(r"\bvariables\s*\.\s*(\w+)")
_MOST_COMPILED = 1000
_COST_LIMIT = 1_000_000  # of one evaluation
_BUDGET = 10_000_000  # of the expressions of a policy that are evaluated together
_CONDITIONS_BUDGET = 2_500_000  # of the match conditions of a policy or webhook
_OVER_LIMIT = "operation cancelled: actual cost limit exceeded"


class Failed(Exception):
    """An expression resulted in an error; the message is that of a real server."""


class OutOfBudget(Failed):
    """The expressions of a policy cost too much together; no more of them are evaluated."""

    def __init__(self) -> None:
        super().__init__("validation failed due to running out of cost budget, no further validation rules will be run")


class Expressions:
    """Compiles and evaluates expressions.

    Args:
        authorize: Answers the questions of expressions to ``authorizer``.
        parser: Called for the first expression; returns the parser, or raises ``CannotEvaluate`` if no CEL library is
            installed.
    """

    def __init__(self, authorize: Authorize, parser: Callable[[], Parser] = Parser) -> None:
        self._authorize = authorize
        self._make = parser
        self._parser: Parser | None = None
        self._compiled: dict[tuple[str, bool], Program] = {}

    def evaluate(self, expression: str, scope: Scope, *, makes: bool = False) -> object:
        """Return the value of an expression; with ``makes`` it may make objects.

        Raises:
            Failed: It does not compile, or results in an error.
            OutOfBudget: The expressions so far cost too much.
            CannotEvaluate: No CEL library is installed.
        """
        result = self._value(expression, scope, makes=makes)
        if scope.budget < 0:
            raise OutOfBudget
        if isinstance(result, EvaluationError):
            raise Failed(f"expression '{expression}' resulted in error: {result}")
        return result

    def _value(self, expression: str, scope: Scope, *, makes: bool = False) -> Value | EvaluationError:
        for name in _COMPOSED.findall(expression):
            self._compose(name, scope)
        variables = {**scope.variables, **self._authorizers(scope), "variables": scope.composed}
        try:
            result, cost = self._program(expression, makes).evaluate(variables, _COST_LIMIT)
        except CostExceeded:
            scope.budget -= _COST_LIMIT
            return EvaluationError(_OVER_LIMIT)
        scope.budget -= cost
        failed = [name for name in _COMPOSED.findall(expression) if name in scope.failed]
        if isinstance(result, EvaluationError) and failed and str(result) == f"no such key: {failed[0]}":
            why = scope.failed[failed[0]]
            return EvaluationError(f'composited variable "{failed[0]}" fails to evaluate: {why}')
        return result

    def _program(self, expression: str, makes: bool) -> Program:
        program = self._compiled.get((expression, makes))
        if program is not None:
            return program
        if self._parser is None:
            self._parser = self._make()
        try:
            program = compiled(self._parser, expression, makes=makes)
        except (CompileError, EvaluationError) as problem:
            raise Failed(f"compilation error: {problem}") from None
        if len(self._compiled) >= _MOST_COMPILED:
            self._compiled.clear()
        self._compiled[expression, makes] = program
        return program

    def _authorizers(self, scope: Scope) -> Mapping[str, Value]:
        who = Authorizer(self._authorize, scope.user)
        about = ResourceCheck(self._authorize, scope.user, scope.requested)
        return {"authorizer": who, "authorizer.requestResource": about}

    def _compose(self, name: str, scope: Scope) -> None:
        """Evaluate a variable of the policy on its first use."""
        expression = scope.pending.pop(name, None)
        if expression is None:
            return
        result = self._value(expression, scope)
        if isinstance(result, EvaluationError):
            scope.failed[name] = str(result)
        else:
            scope.composed[name] = result

    def conditions_met(self, conditions: Iterable[JSONObject], scope: Scope) -> bool:
        """Return whether all ``matchConditions`` are true.

        Raises:
            Failed: None is false, and one or more do not compile or result in an error.
            CannotEvaluate: No CEL library is installed.
        """
        problems = []
        for condition in conditions:
            try:
                if self.evaluate(condition["expression"], scope) is False:
                    return False
            except OutOfBudget:
                raise
            except Failed as problem:
                problems.append(str(problem))
        if problems:
            raise Failed(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
        return True


@dataclass(slots=True)
class Scope:
    """The variables of the expressions of one policy or webhook, for one request.

    Attributes:
        variables: ``object``, ``request`` and so on, without ``authorizer``.
        user: The user who makes the request.
        requested: What ``authorizer.requestResource`` asks about: the resource of the request.
        pending: The expressions of the policy's own variables that are not evaluated yet, by name.
        composed: The values of those that are.
        failed: The errors of those that could not be evaluated.
        budget: What the expressions may still cost.
    """

    variables: Mapping[str, Value]
    user: User
    requested: Mapping[str, str]
    pending: dict[str, str] = field(default_factory=dict)
    composed: dict[str, Value] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    budget: int = _BUDGET

    def bare(self) -> Scope:
        """Return the variables of match conditions: without a namespace, and without those of the policy."""
        variables = {**self.variables, "namespaceObject": None}
        return Scope(variables, self.user, self.requested, budget=_CONDITIONS_BUDGET)


def requested_resource(request: JSONObject) -> Mapping[str, str]:
    """Return what ``authorizer.requestResource`` asks about, of the variable ``request``."""
    resource = request["requestResource"]
    return {
        "group": resource["group"],
        "resource": resource["resource"],
        "subresource": request.get("requestSubResource", ""),
        "namespace": request.get("namespace", ""),
        "name": request.get("name", ""),
    }
