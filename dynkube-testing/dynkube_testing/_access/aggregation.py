"""Aggregated ClusterRoles (``aggregationRule``).

An aggregated ClusterRole has the rules of the ClusterRoles that it selects.

In a cluster a controller does this asynchronously. Here it is done before the call that has changed a role returns.
"""

from __future__ import annotations

from collections.abc import Mapping

from dynkube_testing._access.rbac import CLUSTER_ROLES
from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._engine import Engine
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
        self._writing = False
        engine.storage.listen(self._changed)
        engine.settle_with(self.settle)

    def settle(self) -> bool:
        """Update all aggregated roles, and return whether any has been changed."""
        kind = self._engine.registry.get(CLUSTER_ROLES)
        if not self._stale or self._writing or kind is None:
            return False
        versions = self._engine.storage.collection(_STORED).current.values()
        roles = {version.name: version.decode(kind) for version in versions}
        changed = _aggregate(roles)
        self._writing = True  # a write calls settle() again, which has nothing to add
        try:
            for name in changed:
                agent = "clusterrole-aggregation-controller"
                self._engine.handle(Call(verb="update", kind=kind, name=name, body=roles[name], user_agent=agent))
        finally:
            self._writing = self._stale = False
        return bool(changed)

    def _changed(self, group: str, _: Change) -> None:
        self._stale = self._stale or group == _STORED


def _aggregate(roles: dict[str, JSONObject]) -> list[str]:
    """Set the rules of the aggregated ``roles``, and return the names of those that have changed.

    A role may select roles that are aggregated themselves, so this is repeated until nothing changes, but not for
    ever if roles select each other.
    """
    changed: dict[str, None] = {}
    for _ in roles:
        outdated = {
            name: {**role, "rules": rules}
            for name, role in roles.items()
            if role.get("aggregationRule") and (rules := _union(role, roles)) != (role.get("rules") or [])
        }
        if not outdated:
            break
        roles.update(outdated)
        changed.update(dict.fromkeys(outdated))
    return sorted(changed)


def _union(role: JSONObject, roles: Mapping[str, JSONObject]) -> list[JSONObject]:
    rules: list[JSONObject] = []
    for name in sorted(roles):
        other = roles[name]
        if other is not role and _selected(role["aggregationRule"], other):
            rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules


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
