"""ValidatingAdmissionPolicies, as their bindings apply them.

Audit annotations are evaluated, as an error denies the request, and not published.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dynkube.errors import APIError, StatusCause
from dynkube_testing._admission.expressions import Expressions, Failed, Scope, requested_resource
from dynkube_testing._admission.matching import GROUP, Matcher, as_kind, is_exempt
from dynkube_testing._admission.params import BadConfiguration, Params
from dynkube_testing._admission.requests import admission_request
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._schemas.cel.errors import CannotEvaluate
from dynkube_testing._verbs.admission import Attributes

_POLICIES = f"validatingadmissionpolicies.{GROUP}"
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

    matcher: Matcher
    params: Params
    expressions: Expressions

    def validate(self, attributes: Attributes) -> None:
        """Evaluate all policies that match, and warn.

        Raises:
            APIError: A policy denies the request; the first one's reason and message.
        """
        objects, storage = self.params.objects, attributes.storage
        if is_exempt(attributes) or not (policies := objects.all(storage, _POLICIES)):
            return
        bindings = objects.all(storage, BINDINGS)
        denied: list[tuple[str, _Decision]] = []
        for policy in policies:
            name = policy["metadata"]["name"]
            own = [each for each in bindings if each["spec"].get("policyName") == name]
            denied += [(name, decision) for decision in self._denials(attributes, policy, own)]
        if denied:
            raise _refusal(attributes, *denied[0])

    def _denials(self, attributes: Attributes, policy: JSONObject, bindings: list[JSONObject]) -> Iterator[_Decision]:
        kind = self.matcher.matches(attributes, policy["spec"].get("matchConstraints") or {}) if bindings else None
        if kind is None:
            return
        fails = policy["spec"].get("failurePolicy", "Fail") == "Fail"
        try:
            param_kind = self.params.kind(policy)
        except BadConfiguration as problem:
            yield from [_Decision(f"failed to configure policy: {problem}")] * fails
            return
        for binding in bindings:
            name = binding["metadata"]["name"]
            limits = binding["spec"].get("matchResources")
            if limits is not None and self.matcher.matches(attributes, limits) is None:
                continue
            try:
                params = self.params.of(attributes, param_kind, binding)
            except BadConfiguration as problem:
                yield from [_Decision(f"failed to configure binding: {problem}", name)] * fails
                continue
            for param in params:
                yield from self._bound(attributes, policy, binding, self._scope(attributes, policy, kind, param))

    def _scope(self, attributes: Attributes, policy: JSONObject, kind: Kind, param: JSONObject | None) -> Scope:
        request = admission_request(attributes, kind)
        namespace = attributes.namespace if attributes.kind.namespaced else ""
        variables = {
            "object": attributes.obj and as_kind(attributes.obj, attributes.kind, kind),
            "oldObject": attributes.old and as_kind(attributes.old, attributes.kind, kind),
            "request": request,
            "namespaceObject": self.params.objects.namespace(attributes.storage, namespace) if namespace else None,
            "params": param,
        }
        pending = {each["name"]: each["expression"] for each in policy["spec"].get("variables") or ()}
        return Scope(variables, attributes.call.user, requested_resource(request), pending)

    def _bound(
        self, attributes: Attributes, policy: JSONObject, binding: JSONObject, scope: Scope
    ) -> Iterator[_Decision]:
        """Yield the denials of a policy as one binding applies it; add its warnings."""
        name, actions = binding["metadata"]["name"], binding["spec"].get("validationActions") or ()
        for decision in self._decisions(attributes, policy, scope):
            if "Deny" in actions:
                yield replace(decision, binding=name)
            if "Warn" in actions:
                who = f"ValidatingAdmissionPolicy '{policy['metadata']['name']}' with binding '{name}'"
                attributes.call.warnings.append(f"Validation failed for {who}: {decision.message}")
        yield from [replace(each, binding=name) for each in self._unannotated(policy, scope)]

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
            # Match conditions see no namespace and no variables.
            bare = Scope({**scope.variables, "namespaceObject": None}, scope.user, scope.requested)
            if not self.expressions.conditions_met(spec.get("matchConditions") or (), bare):
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
