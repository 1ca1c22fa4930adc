"""RBAC authorization from the stored roles and bindings.

The semantics are those of kube-apiserver with ``--authorization-mode=RBAC``: there are no deny rules, members of
``system:masters`` have full access, and a RoleBinding grants its role's rules in its own namespace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dynkube.meta import GVR
from dynkube_testing._access.attributes import Attributes, Decision, PolicyRule
from dynkube_testing._access.rules import allows, read_rules
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.users import MASTERS, User, account_user
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._store.history import Change
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version, storage_key

GROUP = "rbac.authorization.k8s.io"
ROLES, CLUSTER_ROLES = GVR(GROUP, "v1", "roles"), GVR(GROUP, "v1", "clusterroles")
ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS = GVR(GROUP, "v1", "rolebindings"), GVR(GROUP, "v1", "clusterrolebindings")
_ALL = (ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS)


class RoleNotFound(LookupError):
    """A binding refers to a missing role.

    The message is that of kube-apiserver.
    """


@dataclass(frozen=True, slots=True)
class _Binding:
    """A RoleBinding or ClusterRoleBinding, with one of its subjects."""

    name: str
    namespace: str
    role_kind: str
    role: str
    subject: str

    def __str__(self) -> str:
        # As in kube-apiserver, the name comes before the namespace, here and in subjects.
        what = f'RoleBinding "{self.name}/{self.namespace}"' if self.namespace else f'ClusterRoleBinding "{self.name}"'
        return f'{what} of {self.role_kind} "{self.role}" to {self.subject}'


class RBAC:
    """Authorizer that evaluates the stored roles and bindings.

    A decision evaluates only the bindings of the user and of the user's groups. They are found through an index, which
    is updated on each change of a binding. The rules of a role are decoded once and cached until the role changes.

    Args:
        storage: Storage of the roles and bindings.
        registry: The served kinds, including the four kinds of ``rbac.authorization.k8s.io/v1``.
    """

    def __init__(self, storage: Storage, registry: Registry) -> None:
        self._storage = storage
        self._kinds = {_group_resource(gvr): (gvr, _served(registry, gvr)) for gvr in _ALL}
        #: Bindings by namespace ("" for ClusterRoleBindings) and subject, then by name.
        self._bindings: dict[tuple[str, str], dict[str, _Binding]] = {}
        self._rules: dict[tuple[str, str], tuple[PolicyRule, ...]] = {}
        for gvr in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
            group = _group_resource(gvr)
            for version in storage.collection(group).current.values():
                self._changed(group, Change(version.revision, None, version))
        storage.listen(self._changed)

    def decide(self, attributes: Attributes) -> Decision:
        """Decide whether the request is allowed.

        The reason in the decision names the binding that allows the request, or the missing roles of bindings.
        """
        if MASTERS in attributes.user.groups:
            return Decision(True)
        missing: dict[str, None] = {}
        for binding in self._bindings_of(attributes.user, attributes.namespace):
            try:
                rules = self.role_rules(binding.role_kind, binding.namespace, binding.role)
            except RoleNotFound as error:
                missing[str(error)] = None
                continue
            if any(allows(rule, attributes) for rule in rules):
                return Decision(True, f"RBAC: allowed by {binding}")
        return Decision(False, f"RBAC: {_aggregate(missing)}" if missing else "")

    def rules_for(self, user: User, namespace: str) -> tuple[list[PolicyRule], str]:
        """Return the rules for ``user`` in ``namespace``, and a message on missing roles.

        The message is ``""`` if all roles exist.
        """
        rules: list[PolicyRule] = []
        missing: dict[str, None] = {}
        for binding in self._bindings_of(user, namespace):
            try:
                rules += self.role_rules(binding.role_kind, binding.namespace, binding.role)
            except RoleNotFound as error:
                missing[str(error)] = None
        return rules, _aggregate(missing)

    def role_rules(self, kind: str, namespace: str, name: str) -> tuple[PolicyRule, ...]:
        """Return the rules of a role.

        Args:
            kind: ``"Role"`` or ``"ClusterRole"``.
            namespace: The namespace of the Role; ignored for a ClusterRole.
            name: The name of the role.

        Raises:
            RoleNotFound: The role does not exist, or ``kind`` is another kind.
        """
        match kind:
            case "ClusterRole":
                gvr, namespace = CLUSTER_ROLES, ""
            case "Role":
                gvr = ROLES
            case _:
                raise RoleNotFound(f'unsupported role reference kind: "{kind}"')
        key = (_group_resource(gvr), storage_key(namespace, name))
        if key not in self._rules:
            version = self._storage.collection(key[0]).current.get(key[1])
            if version is None:
                raise RoleNotFound(f'{kind.lower()}.{GROUP} "{name}" not found')
            self._rules[key] = read_rules(self._decode(key[0], version))
        return self._rules[key]

    def _bindings_of(self, user: User, namespace: str) -> Iterator[_Binding]:
        subjects = (f"User {user.name}", *(f"Group {group}" for group in user.groups))
        for place in ("", namespace) if namespace else ("",):
            for subject in subjects:
                yield from self._bindings.get((place, subject), {}).values()

    # ── updating the index ────────────────────────────────────────────────────────────────

    def _changed(self, group: str, change: Change) -> None:
        if group not in self._kinds:
            return
        gvr, _ = self._kinds[group]
        if gvr in {ROLES, CLUSTER_ROLES}:
            version = change.after or change.before
            assert version is not None
            self._rules.pop((group, version.key), None)
            return
        if change.before is not None:
            self._remove(group, change.before)
        if change.after is not None:
            self._add(group, change.after)

    def _add(self, group: str, version: Version) -> None:
        body = self._decode(group, version)
        role = body.get("roleRef") or {}
        for key, shown in _subjects(body, version.namespace):
            binding = _Binding(version.name, version.namespace, role.get("kind", ""), role.get("name", ""), shown)
            self._bindings.setdefault((version.namespace, key), {}).setdefault(version.name, binding)

    def _remove(self, group: str, version: Version) -> None:
        for key, _ in _subjects(self._decode(group, version), version.namespace):
            held = self._bindings.get((version.namespace, key), {})
            held.pop(version.name, None)
            if not held:
                self._bindings.pop((version.namespace, key), None)

    def _decode(self, group: str, version: Version) -> JSONObject:
        return version.decode(self._kinds[group][1])


def _group_resource(gvr: GVR) -> str:
    return f"{gvr.resource}.{gvr.group}"


def _served(registry: Registry, gvr: GVR) -> Kind:
    kind = registry.get(gvr)
    if kind is None:
        raise LookupError(f"RBAC needs {gvr} to be served")
    return kind


def _subjects(binding: JSONObject, namespace: str) -> Iterator[tuple[str, str]]:
    """Yield each subject's key in the index, and its text for reasons."""
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name", "")
        if kind == "ServiceAccount":
            place = subject.get("namespace") or namespace
            yield f"User {account_user(place, name).name}", f'{kind} "{name}/{place}"'
        elif kind in {"User", "Group"}:
            yield f"{kind} {name}", f'{kind} "{name}"'


def _aggregate(messages: dict[str, None]) -> str:
    return next(iter(messages)) if len(messages) == 1 else f"[{', '.join(messages)}]" if messages else ""
