"""The chain of admission plugins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from dynkube_testing._admission.classes import DefaultClasses
from dynkube_testing._admission.expressions import Expressions
from dynkube_testing._admission.limits import LimitRanger
from dynkube_testing._admission.matching import Matcher
from dynkube_testing._admission.objects import Objects
from dynkube_testing._admission.params import Params
from dynkube_testing._admission.podsecurity import PodSecurity
from dynkube_testing._admission.policies import ValidatingPolicies
from dynkube_testing._admission.quota import ResourceQuota
from dynkube_testing._admission.resizing import ClaimResize
from dynkube_testing._admission.runtimeclass import RuntimeClasses
from dynkube_testing._admission.webhooks import Webhooks
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Registry
from dynkube_testing._schemas.cel.authorizer import Authorize
from dynkube_testing._verbs.admission import Attributes


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
    webhooks: Webhooks

    def mutate(self, attributes: Attributes) -> JSONObject | None:
        """Call the mutating plugins, and then webhooks; return the object if webhooks have changed it.

        Raises:
            APIError: A plugin rejects the write.
            AnswersNeeded: A webhook must be called.
        """
        self._mutate(attributes)
        return self.webhooks.mutate(attributes, self._mutate)

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
    policies = ValidatingPolicies(matcher, Params(objects, registry), expressions)
    webhooks = Webhooks(matcher, expressions)
    limits, runtime_classes = LimitRanger(objects), RuntimeClasses(objects)
    return Plugins(
        mutating=(limits, DefaultClasses(objects), runtime_classes),
        validating=(
            limits,
            PodSecurity(objects),
            ClaimResize(objects),
            runtime_classes,
            policies,
            webhooks,
            ResourceQuota(objects, now),
        ),
        webhooks=webhooks,
    )
