"""Aggregated ClusterRoles (``aggregationRule``).

An aggregated ClusterRole has the rules of the ClusterRoles that it selects.

In a cluster a controller does this asynchronously. Here it is done before the call that has changed a role returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dynkube_testing._access.rbac import CLUSTER_ROLES
from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._engine import Engine
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.history import Change
from dynkube_testing._store.selectors import selects
from dynkube_testing._store.versions import Version

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
        changed = _aggregate(kind, self._engine.storage.objects(_STORED))
        self._writing = True  # a write calls settle() again, which has nothing to add
        try:
            for name, role in changed.items():
                agent = "clusterrole-aggregation-controller"
                self._engine.handle(Call(verb="update", kind=kind, name=name, body=role, user_agent=agent))
        finally:
            self._writing = self._stale = False
        return bool(changed)

    def _changed(self, group: str, _: Change) -> None:
        self._stale = self._stale or group == _STORED


def _aggregate(kind: Kind, versions: Iterable[Version]) -> dict[str, JSONObject]:
    """Return the aggregated roles whose rules are outdated, by name, with the new rules.

    Only roles that aggregate or are selected are decoded. A role may select roles that are aggregated themselves, so
    this is repeated until nothing changes, but not for ever if roles select each other.
    """
    by_name = {version.name: version for version in sorted(versions, key=lambda version: version.name)}
    roles = {name: version.decode(kind) for name, version in by_name.items() if b'"aggregationRule":' in version.rest}
    selected = {
        name: [other for other in by_name if other != name and _selected(rule, by_name[other].labels)]
        for name, role in roles.items()
        if (rule := role.get("aggregationRule"))
    }
    for other in {other for others in selected.values() for other in others} - roles.keys():
        roles[other] = by_name[other].decode(kind)
    changed: dict[str, JSONObject] = {}
    for _ in selected:
        outdated = {
            name: {**roles[name], "rules": rules}
            for name, others in selected.items()
            if (rules := _union(roles[other] for other in others)) != (roles[name].get("rules") or [])
        }
        if not outdated:
            break
        roles |= outdated
        changed |= outdated
    return dict(sorted(changed.items()))


def _union(roles: Iterable[JSONObject]) -> list[JSONObject]:
    rules: list[JSONObject] = []
    for role in roles:
        rules += [rule for rule in role.get("rules") or () if rule not in rules]
    return rules


def _selected(aggregation: JSONObject, labels: Mapping[str, str]) -> bool:
    return any(selects(selector, labels) for selector in aggregation.get("clusterRoleSelectors") or ())
