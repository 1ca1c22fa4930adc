"""ValidatingAdmissionPolicies, as their bindings apply them.

Audit annotations are evaluated, as an error denies the request, and not published.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dynkube.errors import APIError, StatusCause
from dynkube_testing._admission.bindings import Bindings, Invocation
from dynkube_testing._admission.expressions import Expressions, Failed, Scope
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
        policy, scope = invocation.policy, self.bindings.scope(attributes, invocation)
        actions = (invocation.binding or {})["spec"].get("validationActions") or ()
        for decision in self._decisions(attributes, policy, scope):
            if "Deny" in actions:
                yield decision
            if "Warn" in actions:
                who = f"ValidatingAdmissionPolicy '{invocation.name}' with binding '{invocation.bound}'"
                attributes.call.warnings.append(f"Validation failed for {who}: {decision.message}")
        yield from self._unannotated(policy, scope)

    def _unannotated(self, policy: JSONObject, scope: Scope) -> Iterator[_Decision]:
        """Yield denials by audit annotations that cannot be evaluated; their values are not used."""
        fails = policy["spec"].get("failurePolicy", "Fail") == "Fail"
        for annotation in policy["spec"].get("auditAnnotations") or ():
            expression = annotation["valueExpression"]
            try:
                value = self.expressions.evaluate(expression, scope)
            except Failed as problem:
                yield from [_Decision(str(problem))] * fails
            except CannotEvaluate:
                continue
            else:
                if not isinstance(value, str | None):
                    what = f"valueExpression '{expression}' resulted in unsupported return type"
                    yield _Decision(f"{what}: {type(value).__name__}. Return type must be either string or null.")

    def _decisions(self, attributes: Attributes, policy: JSONObject, scope: Scope) -> Iterator[_Decision]:
        spec = policy["spec"]
        fails = spec.get("failurePolicy", "Fail") == "Fail"
        try:
            if not self.expressions.conditions_met(spec.get("matchConditions") or (), scope.bare()):
                return
        except Failed as problem:
            yield from [_Decision(str(problem))] * fails
            return
        except CannotEvaluate as problem:
            _not_checked(attributes, policy, problem)
            return
        for validation in spec.get("validations") or ():
            try:
                if self.expressions.evaluate(validation["expression"], scope) is not True:
                    yield _Decision(self._message(validation, scope), reason=validation.get("reason") or "Invalid")
            except Failed as problem:
                yield from [_Decision(str(problem))] * fails
            except CannotEvaluate as problem:
                _not_checked(attributes, policy, problem)

    def _message(self, validation: JSONObject, scope: Scope) -> str:
        if expression := validation.get("messageExpression"):
            try:
                text = self.expressions.evaluate(expression, scope)
            except (Failed, CannotEvaluate):
                text = None
            message = text.strip() if isinstance(text, str) else ""
            if message and "\n" not in message and len(message.encode()) <= _MAX_MESSAGE:
                return message
        message = str(validation.get("message") or "").strip()
        return message or f"failed expression: {validation['expression'].strip()}"


def _not_checked(attributes: Attributes, policy: JSONObject, why: CannotEvaluate) -> None:
    text = f"ValidatingAdmissionPolicy '{policy['metadata']['name']}' was not checked: {why}"
    if text not in attributes.call.warnings:
        attributes.call.warnings.append(text)


def _refusal(attributes: Attributes, policy: str, decision: _Decision) -> APIError:
    binding = f" with binding '{decision.binding}'" if decision.binding else ""
    message = f"ValidatingAdmissionPolicy '{policy}'{binding} denied request: {decision.message}"
    status = attributes.forbidden(message).status
    code = _CODES.get(decision.reason, 422)
    causes = (*status.causes, StatusCause("", "", message))
    return APIError.from_status(replace(status, code=code, reason=decision.reason, causes=causes))
