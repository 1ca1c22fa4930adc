"""RBAC privilege escalation prevention.

As in kube-apiserver, users can write a role only if they have all of its permissions, or the verb ``escalate`` on it.
They can write a binding only if they have all permissions of its role, or the verb ``bind`` on the role. Members of
``system:masters`` can write all roles and bindings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynkube_testing._access.attributes import Attributes, PolicyRule
from dynkube_testing._access.rbac import GROUP, RBAC, RoleNotFound
from dynkube_testing._access.rules import describe_rules, missing_rules, read_rules
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._calls.users import MASTERS
from dynkube_testing._verbs.rules import KindRules

_EVERYTHING = (PolicyRule(("*",), ("*",), ("*",)), PolicyRule(("*",), urls=("*",)))


@dataclass(frozen=True, slots=True)
class RoleRules(KindRules):
    """Escalation check for writes of Roles and ClusterRoles.

    Without RBAC (``None``) there is no check.
    """

    rbac: RBAC | None

    def authorize(self, call: Call, obj: JSONObject, old: JSONObject | None) -> None:
        """Check that the user has the permissions of the role.

        Raises:
            Forbidden: The user lacks some of them; the message lists them. Or the role has an ``aggregationRule``, and
                the user does not have all permissions in the cluster.
        """
        if self.rbac is None or _free_to_write(call, obj, old):
            return
        if _may(self.rbac, call, "escalate", call.kind.gvr.resource, call.name):
            return
        _confirm(self.rbac, call, obj, read_rules(obj))
        held, _ = self.rbac.rules_for(call.user, call.namespace)
        if (_aggregates(obj) or _aggregates(old)) and missing_rules(held, _EVERYTHING):
            # All permissions are required, since later changes of aggregated roles are added to this role unchecked.
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise refuse.forbidden(call.kind, obj["metadata"].get("name", ""), why)


@dataclass(frozen=True, slots=True)
class BindingRules(KindRules):
    """Escalation check for writes of RoleBindings and ClusterRoleBindings.

    Without RBAC (``None``) there is no check.
    """

    rbac: RBAC | None

    def authorize(self, call: Call, obj: JSONObject, old: JSONObject | None) -> None:
        """Check that the user has the permissions of the binding's role.

        Raises:
            Forbidden: The user lacks some of them; the message lists them.
            NotFound: The role does not exist, so its permissions are unknown.
        """
        if self.rbac is None or _free_to_write(call, obj, old):
            return
        role = obj.get("roleRef") or {}
        kind, name = str(role.get("kind", "")), str(role.get("name", ""))
        resource = {"Role": "roles", "ClusterRole": "clusterroles"}.get(kind, "")
        if resource and _may(self.rbac, call, "bind", resource, name):
            return
        try:
            rules = self.rbac.role_rules(kind, call.namespace, name)
        except RoleNotFound:
            raise refuse.not_found(call.kind, name) from None
        _confirm(self.rbac, call, obj, rules)


def _free_to_write(call: Call, obj: JSONObject, old: JSONObject | None) -> bool:
    return MASTERS in call.user.groups or (old is not None and _same_but_metadata(obj, old))


def _aggregates(role: JSONObject | None) -> bool:
    return role is not None and bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _may(rbac: RBAC, call: Call, verb: str, resource: str, name: str) -> bool:
    attributes = Attributes(
        user=call.user, verb=verb, group=GROUP, resource=resource, name=name, namespace=call.namespace
    )
    return rbac.decide(attributes).allowed


def _confirm(rbac: RBAC, call: Call, obj: JSONObject, wanted: Sequence[PolicyRule]) -> None:
    held, error = rbac.rules_for(call.user, call.namespace)
    missing = missing_rules(held, wanted)
    if not missing:
        return
    groups = " ".join(f'"{group}"' for group in call.user.groups)
    why = (
        f'user "{call.user.name}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n'
        + "\n".join(describe_rules(missing))
    )
    if error:
        why += f"; resolution errors: [{error}]"
    raise refuse.forbidden(call.kind, obj["metadata"].get("name", ""), why)


def _same_but_metadata(obj: JSONObject, old: JSONObject) -> bool:
    """Return whether permissions, labels and annotations are unchanged.

    Then only metadata has changed that the garbage collector writes, and no check is needed.
    """
    return all(obj.get(field) == old.get(field) for field in ("rules", "aggregationRule", "roleRef", "subjects")) and (
        obj["metadata"].get("labels") == old["metadata"].get("labels")
        and obj["metadata"].get("annotations") == old["metadata"].get("annotations")
    )
