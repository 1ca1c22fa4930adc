"""ValidatingAdmissionPolicies, as their bindings apply them.

Audit annotations are evaluated, as an error denies the request, and not published.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dynkube.errors import APIError, StatusCause
from dynkube_testing._admission.bindings import Bindings, Invocation
from dynkube_testing._admission.expressions import Expressions, Failed, OutOfBudget, Scope
from dynkube_testing._admission.matching import GROUP
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._schemas.cel.errors import CannotEvaluate
from dynkube_testing._verbs.admission import Attributes

POLICIES = f"validatingadmissionpolicies.{GROUP}"
BINDINGS = f"validatingadmissionpolicybindings.{GROUP}"
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
_MAX_MESSAGE = 5 * 1024


@dataclass(frozen=True, slots=True)
class _Decision:
    """A denial by a policy; its binding is ``""`` if the policy itself is wrong."""

    message: str
    binding: str = ""
    reason: str = "Invalid"


@dataclass(frozen=True, slots=True)
class ValidatingPolicies:
    """The plugin."""

    bindings: Bindings
    expressions: Expressions

    def validate(self, attributes: Attributes) -> None:
        """Evaluate all policies that match, and warn.

        Raises:
            APIError: A policy denies the request; the first one's reason and message.
        """
        denied: list[tuple[str, _Decision]] = []
        for each in self.bindings.invocations(attributes):
            if each.problem:
                denied += [(each.name, _Decision(each.problem, each.bound))] * each.fails
            else:
                denied += [(each.name, replace(found, binding=each.bound)) for found in self._bound(attributes, each)]
        if denied:
            raise _refusal(attributes, *denied[0])

    def _bound(self, attributes: Attributes, invocation: Invocation) -> Iterator[_Decision]:
        """Yield the denials of a policy as one binding applies it; add its warnings."""
        scope, judged = self.bindings.scope(attributes, invocation), True
        try:
            if not self.expressions.conditions_met(
                invocation.policy["spec"].get("matchConditions") or (), scope.bare()
            ):
                return
            decisions = self._decisions(attributes, invocation, scope)
        except Failed as problem:  # of a match condition, or of the budget
            decisions, judged = [_Decision(str(problem))] * invocation.fails, False
        except CannotEvaluate as problem:
            _not_checked(attributes, invocation, problem)
            return
        actions = (invocation.binding or {})["spec"].get("validationActions") or ()
        for decision in decisions:
            if "Deny" in actions:
                yield decision
            if "Warn" in actions:
                who = f"ValidatingAdmissionPolicy '{invocation.name}' with binding '{invocation.bound}'"
                attributes.call.warnings.append(f"Validation failed for {who}: {decision.message}")
        if judged:
            yield from self._unannotated(attributes, invocation)

    def _unannotated(self, attributes: Attributes, invocation: Invocation) -> Iterator[_Decision]:
        """Yield denials by audit annotations that cannot be evaluated; their values are not used."""
        scope = self.bindings.scope(attributes, invocation)
        for annotation in invocation.policy["spec"].get("auditAnnotations") or ():
            expression = annotation["valueExpression"]
            try:
                value = self.expressions.evaluate(expression, scope)
            except Failed as problem:
                yield from [_Decision(str(problem))] * invocation.fails
                if isinstance(problem, OutOfBudget):
                    return
            else:
                if not isinstance(value, str | None):
                    what = f"valueExpression '{expression}' resulted in unsupported return type"
                    yield _Decision(f"{what}: {type(value).__name__}. Return type must be either string or null.")

    def _decisions(self, attributes: Attributes, invocation: Invocation, scope: Scope) -> list[_Decision]:
        """Return the denials by validations.

        Raises:
            OutOfBudget: The validations cost too much together.
        """
        validations = invocation.policy["spec"].get("validations") or ()
        results = [self._result(each["expression"], scope) for each in validations]
        # As in a real server, all messages are computed, with what is left of the budget.
        fresh = replace(self.bindings.scope(attributes, invocation), budget=scope.budget)
        try:
            texts: list[object] = [self._result(each.get("messageExpression") or "", fresh) for each in validations]
            spent = ""
        except OutOfBudget as problem:
            texts, spent = [None] * len(results), f"failed messageExpression: {problem}"
        decisions = []
        for validation, result, text in zip(validations, results, texts, strict=True):
            if spent or isinstance(result, Failed):
                decisions += [_Decision(str(result) if isinstance(result, Failed) else spent)] * invocation.fails
            elif result is not True:
                decisions.append(_Decision(_message(validation, text), reason=validation.get("reason") or "Invalid"))
        return decisions

    def _result(self, expression: str, scope: Scope) -> object:
        """Return the value of an expression, or its error; ``None`` if it is empty."""
        try:
            return self.expressions.evaluate(expression, scope) if expression else None
        except OutOfBudget:
            raise
        except Failed as problem:
            return problem


def _message(validation: JSONObject, text: object) -> str:
    """Return the message for a validation; ``text`` is the result of its ``messageExpression``."""
    message = text.strip() if isinstance(text, str) else ""
    if message and "\n" not in message and len(message.encode()) <= _MAX_MESSAGE:
        return message
    message = str(validation.get("message") or "").strip()
    return message or f"failed expression: {validation['expression'].strip()}"


def _not_checked(attributes: Attributes, invocation: Invocation, why: CannotEvaluate) -> None:
    text = f"ValidatingAdmissionPolicy '{invocation.name}' was not checked: {why}"
    if text not in attributes.call.warnings:
        attributes.call.warnings.append(text)


def _refusal(attributes: Attributes, policy: str, decision: _Decision) -> APIError:
    binding = f" with binding '{decision.binding}'" if decision.binding else ""
    message = f"ValidatingAdmissionPolicy '{policy}'{binding} denied request: {decision.message}"
    status = attributes.forbidden(message).status
    code = _CODES.get(decision.reason, 422)
    causes = (*status.causes, StatusCause("", "", message))
    return APIError.from_status(replace(status, code=code, reason=decision.reason, causes=causes))
