"""Aggregated ClusterRoles (``aggregationRule``).

An aggregated ClusterRole has the rules of the ClusterRoles that it selects.

In a cluster a controller does this asynchronously. Here it is done before the call that has changed a role returns.
"""

from __future__ import annotations

from collections.abc import Mapping

from dynkube_testing._access.rbac import CLUSTER_ROLES
from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._engine import Engine
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.history import Change

_STORED = "clusterroles.rbac.authorization.k8s.io"


class Aggregation:
    """Updates the rules of aggregated ClusterRoles from the roles that they select.

    Args:
        engine: The engine that stores the roles.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stale = True
        engine.storage.listen(self._changed)
        engine.settle_with(self.settle)

    def settle(self) -> bool:
        """Update all aggregated roles, and return whether any has been changed."""
        kind = self._engine.registry.get(CLUSTER_ROLES)
        if not self._stale or kind is None:
            return False
        # Writing a role calls settle() again. The flag is reset first, so that the inner call only handles new changes.
        self._stale = False
        versions = self._engine.storage.collection(_STORED).current.values()
        roles = sorted((version.decode(kind) for version in versions), key=_name)
        return any(self._update(kind, role, roles) for role in roles if role.get("aggregationRule"))

    def _update(self, kind: Kind, role: JSONObject, roles: list[JSONObject]) -> bool:
        rules: list[JSONObject] = []
        for other in roles:
            if other is not role and _selected(role["aggregationRule"], other):
                rules += [rule for rule in other.get("rules") or () if rule not in rules]
        if rules == (role.get("rules") or []):
            return False
        agent = "clusterrole-aggregation-controller"
        body = {**role, "rules": rules}
        self._engine.handle(Call(verb="update", kind=kind, name=_name(role), body=body, user_agent=agent))
        return True

    def _changed(self, group: str, _: Change) -> None:
        self._stale = self._stale or group == _STORED


def _name(role: JSONObject) -> str:
    name: str = role["metadata"]["name"]
    return name


def _selected(aggregation: JSONObject, role: JSONObject) -> bool:
    labels = role["metadata"].get("labels") or {}
    return any(_matches(selector, labels) for selector in aggregation.get("clusterRoleSelectors") or ())


def _matches(selector: JSONObject, labels: Mapping[str, str]) -> bool:
    """Return whether a ``metav1.LabelSelector`` matches; an empty one always does."""
    exact = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in exact.items()):
        return False
    return all(_meets(requirement, labels) for requirement in selector.get("matchExpressions") or ())


def _meets(requirement: JSONObject, labels: Mapping[str, str]) -> bool:
    key, values = requirement.get("key", ""), requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False
