"""Admission policies as their bindings apply them to a request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dynkube_testing._admission.expressions import Scope, requested_resource
from dynkube_testing._admission.matching import Matcher, as_kind, is_exempt
from dynkube_testing._admission.params import BadConfiguration, Params
from dynkube_testing._admission.requests import admission_request
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._verbs.admission import Attributes


@dataclass(frozen=True, slots=True)
class Invocation:
    """A policy that applies to a request.

    Attributes:
        policy: The policy.
        kind: The kind in which it sees the request.
        binding: The binding; ``None`` if the policy itself is wrong.
        param: The parameters.
        problem: Why it cannot be evaluated, as in the message of a real server; ``""`` if it can.
    """

    policy: JSONObject
    kind: Kind
    binding: JSONObject | None = None
    param: JSONObject | None = None
    problem: str = ""

    @property
    def name(self) -> str:
        """The name of the policy."""
        return str(self.policy["metadata"]["name"])

    @property
    def bound(self) -> str:
        """The name of the binding, or ``""``."""
        return "" if self.binding is None else str(self.binding["metadata"]["name"])

    @property
    def fails(self) -> bool:
        """Whether the request is denied if the policy cannot be evaluated."""
        return bool(self.policy["spec"].get("failurePolicy", "Fail") == "Fail")


@dataclass(frozen=True, slots=True)
class Bindings:
    """Selects the policies of one kind.

    Attributes:
        policies: The storage group of the policies.
        bindings: That of their bindings.
        matcher: Matches requests.
        params: Looks up parameters.
    """

    policies: str
    bindings: str
    matcher: Matcher
    params: Params

    def invocations(self, attributes: Attributes) -> Iterator[Invocation]:
        """Yield the policies that apply to a request: once for each binding and parameter."""
        objects, storage = self.params.objects, attributes.storage
        if is_exempt(attributes) or not (policies := objects.all(storage, self.policies)):
            return
        bindings = objects.all(storage, self.bindings)
        for policy in policies:
            own = [each for each in bindings if each["spec"].get("policyName") == policy["metadata"]["name"]]
            yield from self._of_policy(attributes, policy, own)

    def _of_policy(
        self, attributes: Attributes, policy: JSONObject, bindings: list[JSONObject]
    ) -> Iterator[Invocation]:
        kind = self.matcher.matches(attributes, policy["spec"].get("matchConstraints") or {}) if bindings else None
        if kind is None:
            return
        try:
            param_kind = self.params.kind(policy)
        except BadConfiguration as problem:
            yield Invocation(policy, kind, problem=f"failed to configure policy: {problem}")
            return
        for binding in bindings:
            limits = binding["spec"].get("matchResources")
            if limits is not None and self.matcher.matches(attributes, limits) is None:
                continue
            try:
                params = self.params.of(attributes, param_kind, binding)
            except BadConfiguration as problem:
                yield Invocation(policy, kind, binding, problem=f"failed to configure binding: {problem}")
                continue
            for param in params:
                yield Invocation(policy, kind, binding, param)

    def scope(self, attributes: Attributes, invocation: Invocation) -> Scope:
        """Return the variables of the expressions of a policy."""
        kind = invocation.kind
        request = admission_request(attributes, kind)
        namespace = attributes.namespace if attributes.kind.namespaced else ""
        variables = {
            "object": attributes.obj and as_kind(attributes.obj, attributes.kind, kind),
            "oldObject": attributes.old and as_kind(attributes.old, attributes.kind, kind),
            "request": request,
            "namespaceObject": self.params.objects.namespace(attributes.storage, namespace) if namespace else None,
            "params": invocation.param,
        }
        own = invocation.policy["spec"].get("variables") or ()
        pending = {each["name"]: each["expression"] for each in own}
        return Scope(variables, attributes.call.user, requested_resource(request), pending)
