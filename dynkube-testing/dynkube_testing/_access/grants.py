"""Permissions granted by tests, stored as roles and bindings."""

from __future__ import annotations

from collections.abc import Iterable

from dynkube.errors import InvalidInput, NotFound
from dynkube_testing._access.attributes import PolicyRule
from dynkube_testing._access.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP, ROLE_BINDINGS, ROLES
from dynkube_testing._access.rules import write_rule
from dynkube_testing._calls.api import Call, JSONObject, Verb
from dynkube_testing._calls.users import split_account
from dynkube_testing._engine import Engine
from dynkube_testing._kinds.kinds import Kind

_PREFIX = "grant"


class Grants:
    """Grants and revokes permissions.

    There is a role and a binding for each user, resource and namespace.

    Args:
        engine: The engine that stores the roles and bindings.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def grant(self, user: str, rule: PolicyRule, namespace: str) -> None:
        """Grant ``rule`` to ``user`` in ``namespace``, or cluster-wide (``""``).

        Grants for the same resource accumulate.
        """
        roles, bindings = self._kinds(namespace)
        name = _name(user, rule.resources[0], rule.groups[0])
        held = self._find(roles, namespace, name)
        rules = [*(held or {}).get("rules", ()), write_rule(rule)]
        if held is not None:
            self._call("update", roles, namespace, name, {**held, "rules": rules})
            return
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        self._call("create", roles, namespace, "", {"metadata": metadata, "rules": rules})
        role = {"apiGroup": GROUP, "kind": roles.kind, "name": name}
        self._call(
            "create", bindings, namespace, "", {"metadata": metadata, "roleRef": role, "subjects": [_subject(user)]}
        )

    def revoke(self, user: str, resource: str, group: str, namespace: str) -> int:
        """Remove grants.

        Args:
            user: The user name.
            resource: The plural resource name, with subresource (``"pods/log"``); ``""`` for all resources.
            group: The API group of the resource.
            namespace: The namespace; ``""`` for cluster-wide grants.

        Returns:
            The number of removed roles.
        """
        roles, bindings = self._kinds(namespace)
        gone = 0
        for version in tuple(self._engine.storage.collection(roles.storage_group).current.values()):
            meant = version.name == _name(user, resource, group) if resource else _belongs(version.name, user)
            if version.namespace == namespace and meant:
                for kind in (bindings, roles):
                    self._call("delete", kind, namespace, version.name)
                gone += 1
        return gone

    def _kinds(self, namespace: str) -> tuple[Kind, Kind]:
        gvrs = (ROLES, ROLE_BINDINGS) if namespace else (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)
        roles, bindings = (self._engine.registry.get(gvr) for gvr in gvrs)
        assert roles is not None
        assert bindings is not None
        return roles, bindings

    def _find(self, kind: Kind, namespace: str, name: str) -> JSONObject | None:
        try:
            return self._call("get", kind, namespace, name)
        except NotFound:
            return None

    def _call(self, verb: Verb, kind: Kind, namespace: str, name: str, body: JSONObject | None = None) -> JSONObject:
        call = Call(verb=verb, kind=kind, namespace=namespace, name=name, body=body, user_agent="dynkube-testing")
        return self._engine.handle(call).document.data


def check_verbs(verbs: Iterable[str]) -> tuple[str, ...]:
    """Check the verbs of a grant, and return them as a tuple.

    Raises:
        InvalidInput: ``verbs`` is a string or empty, or a verb is not a non-empty string.
    """
    listed: tuple[object, ...] = () if isinstance(verbs, str) else tuple(verbs)
    checked = tuple(verb for verb in listed if isinstance(verb, str) and verb)
    if not checked or len(checked) < len(listed):
        raise InvalidInput(f"verbs is {verbs!r}: pass at least one, like ['get', 'list', 'watch'], or ['*']")
    return checked


def _name(user: str, resource: str, group: str) -> str:
    # Names of roles may contain colons, but no slashes.
    qualified = f"{resource}.{group}" if group else resource
    return f"{_PREFIX}:{user}:{qualified}".replace("/", ":")


def _belongs(role: str, user: str) -> bool:
    return role.startswith(f"{_PREFIX}:{user}:".replace("/", ":"))


def _subject(user: str) -> JSONObject:
    if account := split_account(user):
        return {"kind": "ServiceAccount", "namespace": account[0], "name": account[1]}
    return {"apiGroup": GROUP, "kind": "User", "name": user}
