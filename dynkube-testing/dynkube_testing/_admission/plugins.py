"""The chain of admission plugins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from dynkube_testing._admission import mutations, policies
from dynkube_testing._admission.bindings import Bindings, Invocation
from dynkube_testing._admission.classes import DefaultClasses
from dynkube_testing._admission.expressions import Expressions
from dynkube_testing._admission.limits import LimitRanger
from dynkube_testing._admission.matching import Matcher
from dynkube_testing._admission.mutations import MutatingPolicies
from dynkube_testing._admission.objects import Objects
from dynkube_testing._admission.params import Params
from dynkube_testing._admission.podsecurity import PodSecurity
from dynkube_testing._admission.policies import ValidatingPolicies
from dynkube_testing._admission.quota import ResourceQuota
from dynkube_testing._admission.resizing import ClaimResize
from dynkube_testing._admission.rounds import Rounds
from dynkube_testing._admission.runtimeclass import RuntimeClasses
from dynkube_testing._admission.webhooks import Webhooks
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Registry
from dynkube_testing._schemas.cel.authorizer import Authorize
from dynkube_testing._schemas.schemas import Schemas
from dynkube_testing._verbs.admission import Attributes

_SET_LATER = ("uid", "creationTimestamp", "generation")


class Mutating(Protocol):
    """A plugin that changes objects of built-in kinds."""

    def mutate(self, attributes: Attributes) -> None:
        """Change the object, or reject it."""
        ...


class Validating(Protocol):
    """A plugin that checks objects."""

    def validate(self, attributes: Attributes) -> None:
        """Reject the object, or accept it."""
        ...


@dataclass(frozen=True, slots=True)
class Plugins:
    """All plugins, in the order of kube-apiserver."""

    mutating: Sequence[Mutating]
    validating: Sequence[Validating]
    policies: MutatingPolicies
    webhooks: Webhooks

    def mutate(self, attributes: Attributes) -> JSONObject | None:
        """Call the mutating plugins, then policies and webhooks; return the object if these have changed it.

        If they have, the plugins change it once more, and those policies and webhooks are called again that ask for it.

        Raises:
            APIError: A plugin rejects the write.
            AnswersNeeded: A webhook must be called.
        """
        self._mutate(attributes)
        called: tuple[Rounds[Invocation] | Rounds[JSONObject] | None, ...] = (
            self.policies.mutating(attributes),
            self.webhooks.mutating(attributes),
        )
        rounds = [each for each in called if each is not None]
        if not rounds:
            return None
        changed = _as_sent(attributes)
        for each in rounds:
            changed = each.call(changed)
        if not any(each.changed for each in rounds):
            return None
        self._mutate(changed)
        for each in rounds:
            changed = each.call(changed, again=True)
        return None if attributes.obj is None else _with_system_fields(changed.new, attributes.obj)

    def _mutate(self, attributes: Attributes) -> None:
        for plugin in self.mutating if attributes.obj is not None else ():
            plugin.mutate(attributes)

    def validate(self, attributes: Attributes) -> None:
        """Call the validating plugins, of which webhooks are one.

        Raises:
            APIError: A plugin rejects the write.
            AnswersNeeded: Webhooks must be called.
        """
        for plugin in self.validating:
            plugin.validate(attributes)


def default_plugins(registry: Registry, now: Callable[[], datetime], authorize: Authorize) -> Plugins:
    """Return the plugins of one engine: those that kube-apiserver enables by default, and this server implements.

    The ServiceAccount plugin is not among them, as it rejects all pods in namespaces without controllers.

    Args:
        registry: The served kinds.
        now: The clock.
        authorize: Answers what expressions ask ``authorizer``.
    """
    objects = Objects(registry)
    matcher, expressions = Matcher(objects, registry), Expressions(authorize)
    params = Params(objects, registry)
    validating = ValidatingPolicies(Bindings(policies.POLICIES, policies.BINDINGS, matcher, params), expressions)
    mutating = Bindings(mutations.POLICIES, mutations.BINDINGS, matcher, params)
    webhooks = Webhooks(matcher, expressions)
    limits, runtime_classes = LimitRanger(objects), RuntimeClasses(objects)
    return Plugins(
        mutating=(limits, DefaultClasses(objects), runtime_classes),
        validating=(
            limits,
            PodSecurity(objects),
            ClaimResize(objects),
            runtime_classes,
            validating,
            webhooks,
            ResourceQuota(objects, now),
        ),
        policies=MutatingPolicies(mutating, expressions, Schemas()),
        webhooks=webhooks,
    )


def _as_sent(attributes: Attributes) -> Attributes:
    """Return the attributes without what a real server sets only after the mutating plugins."""
    if attributes.obj is None or attributes.operation != "CREATE" or attributes.subresource:
        return attributes
    obj = attributes.obj
    hidden = {*_SET_LATER, *(("name",) if attributes.unnamed else ())}
    metadata = {name: value for name, value in _metadata(obj).items() if name not in hidden}
    return replace(attributes, obj={**obj, "metadata": metadata})


def _with_system_fields(changed: JSONObject, obj: JSONObject) -> JSONObject:
    """Return a changed object with the fields that policies and webhooks do not see or cannot change."""
    before, after = _metadata(obj), _metadata(changed)
    kept = {name: before[name] for name in (*_SET_LATER, "managedFields") if name in before}
    named = {} if after.get("name") else {"name": before.get("name", "")}
    metadata = {name: value for name, value in after.items() if name != "managedFields"}
    return {**changed, "metadata": {**metadata, **named, **kept}}


def _metadata(obj: JSONObject) -> JSONObject:
    return obj.get("metadata") or {}  # reviews may have none
