"""What is written: two hundred resources, of some of which the definition comes and goes, and their objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any, Literal, TypeAlias

from dynkube.meta import GVR

JSONObject: TypeAlias = dict[str, Any]
Verb: TypeAlias = Literal["create", "update", "delete"]
Key: TypeAlias = tuple[str, str]

GROUP = "soak.example"
NAMESPACES = ("soak-0", "soak-1", "soak-2")
TEAMS = ("a", "b", "c")
MARK = "mark"
_NAMES = 12  # names in each namespace; so many objects there are at most
_TURNOVER = 0.3  # this part of the writes creates or deletes
# How the definition of a resource that comes and goes may look: versions, and whether its objects have namespaces.
_FORMS = ((("v1",), True), (("v1", "v2"), True), (("v2",), True), (("v1",), False))

_RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
_REFERENCE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "soak"}
# Built-in resources that a bare API server takes without asking anybody: plural, group/version, kind, what they hold.
_BUILTIN: tuple[tuple[str, str, str, bool, Mapping[str, object]], ...] = (
    ("configmaps", "v1", "ConfigMap", True, {"data": {"key": "value"}}),
    ("secrets", "v1", "Secret", True, {"type": "Opaque", "data": {"key": "dmFsdWU="}}),
    ("serviceaccounts", "v1", "ServiceAccount", True, {}),
    ("limitranges", "v1", "LimitRange", True, {"spec": {"limits": []}}),
    ("leases", "coordination.k8s.io/v1", "Lease", True, {"spec": {"holderIdentity": "soak"}}),
    ("roles", "rbac.authorization.k8s.io/v1", "Role", True, {"rules": _RULES}),
    ("clusterroles", "rbac.authorization.k8s.io/v1", "ClusterRole", False, {"rules": _RULES}),
    ("rolebindings", "rbac.authorization.k8s.io/v1", "RoleBinding", True, {"roleRef": _REFERENCE}),
    ("clusterrolebindings", "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", False, {"roleRef": _REFERENCE}),
    ("priorityclasses", "scheduling.k8s.io/v1", "PriorityClass", False, {"value": 7}),
    ("networkpolicies", "networking.k8s.io/v1", "NetworkPolicy", True, {"spec": {"podSelector": {}}}),
    ("ingressclasses", "networking.k8s.io/v1", "IngressClass", False, {"spec": {"controller": "soak.example/none"}}),
    ("poddisruptionbudgets", "policy/v1", "PodDisruptionBudget", True, {"spec": {"minAvailable": 1}}),
    ("controllerrevisions", "apps/v1", "ControllerRevision", True, {"revision": 1, "data": {"key": "value"}}),
    ("storageclasses", "storage.k8s.io/v1", "StorageClass", False, {"provisioner": "soak.example/none"}),
    ("csidrivers", "storage.k8s.io/v1", "CSIDriver", False, {"spec": {}}),
    ("runtimeclasses", "node.k8s.io/v1", "RuntimeClass", False, {"handler": "soak"}),
    ("endpointslices", "discovery.k8s.io/v1", "EndpointSlice", True, {"addressType": "IPv4", "endpoints": []}),
)


@dataclass(slots=True)
class Write:
    """One write to be done: of which object, and with what; its key is nobody else's until it is done."""

    verb: Verb
    key: Key
    body: JSONObject
    incarnation: int


@dataclass(slots=True, kw_only=True, eq=False)
class Resource:
    """A resource, and which of its objects are there: names that are written to, one writer at a time each.

    Attributes:
        plural: Its name.
        api_version: The version its objects are written in.
        kind: Their kind.
        namespaced: Whether they have namespaces, now.
        content: What they hold besides metadata.
        random: Decides what is written next.
        comes_and_goes: Whether its definition does.
        open: Whether objects can be written now.
        versions: In which it is served, while its definition is there.
        incarnation: Counts definitions, so that a late answer is not taken for one about the present objects.
    """

    plural: str
    api_version: str
    kind: str
    namespaced: bool
    content: Mapping[str, object]
    random: Random
    comes_and_goes: bool = False
    open: bool = True
    versions: tuple[str, ...] = ("v1",)
    incarnation: int = 0
    _there: dict[Key, str] = field(default_factory=dict)
    _keys: list[Key] = field(default_factory=list)
    _free: list[Key] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self._forget()

    @property
    def group(self) -> str:
        """Its API group."""
        return self.api_version.rpartition("/")[0]

    @property
    def gvr(self) -> GVR:
        """In the version in which it is written."""
        return self.in_version(self.api_version.rpartition("/")[2])

    def in_version(self, version: str) -> GVR:
        """As another version shows it."""
        return GVR(self.group, version, self.plural)

    # ── objects ──────────────────────────────────────────────────────────────────────────────

    def draw(self) -> Write | None:
        """What to write next, if anything; say what became of it by :meth:`written` or :meth:`failed`."""
        free, there = self._free, self._keys
        if not free and not there:
            return None  # all of them are being written
        luck = self.random.random() / _TURNOVER
        if not there or luck < len(free) / (len(free) + len(there)):
            # The fewer there are the more are created, so that half of the names are taken sooner or later.
            return self._new("create", self._pick(free)) if free else None
        key = self._pick(there)
        return Write("delete", key, {}, self.incarnation) if luck < 1.0 else self._new("update", key)

    def draw_first(self) -> Write | None:
        """One more of the objects to begin with, which are half of those there can be."""
        return self._new("create", self._pick(self._free)) if len(self._free) > len(self._keys) else None

    def written(self, write: Write, version: str) -> None:
        """It was done; the object has this resourceVersion now."""
        if write.incarnation != self.incarnation:
            return
        if write.verb == "delete":
            self._there.pop(write.key, None)
            self._free.append(write.key)
        else:
            self._there[write.key] = version
            self._keys.append(write.key)

    def failed(self, write: Write, *, there: bool) -> None:
        """It was refused; whether the object is there."""
        if write.incarnation == self.incarnation:
            (self._keys if there else self._free).append(write.key)

    def mark(self) -> JSONObject:
        """The next state of an object that every informer and every filter shows."""
        return self._body((NAMESPACES[0] if self.namespaced else "", MARK), TEAMS[0], {MARK: "yes"})

    def _pick(self, keys: list[Key]) -> Key:
        at = int(self.random.random() * len(keys))
        keys[at], keys[-1] = keys[-1], keys[at]
        return keys.pop()

    def _new(self, verb: Verb, key: Key) -> Write:
        body = self._body(key, TEAMS[int(self.random.random() * len(TEAMS))], {})
        if verb == "update" and (version := self._there.get(key)):
            body["metadata"]["resourceVersion"] = version
        return Write(verb, key, body, self.incarnation)

    def _body(self, key: Key, team: str, labels: Mapping[str, str]) -> JSONObject:
        number = next(self._numbers)
        metadata: JSONObject = {"name": key[1], "labels": {"team": team, **labels}}
        if key[0]:
            metadata["namespace"] = key[0]
        if self.group == GROUP:
            content: Mapping[str, object] = {"spec": {"number": number, "even": not number % 2}}
        else:
            metadata["annotations"], content = {"number": str(number)}, self.content
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata, **content}

    def _forget(self) -> None:
        namespaces = NAMESPACES if self.namespaced else ("",)
        self._there.clear()
        self._keys.clear()
        self._free = [(namespace, f"n{number}") for namespace in namespaces for number in range(_NAMES)]

    # ── the definition ───────────────────────────────────────────────────────────────────────

    def definition(self) -> JSONObject:
        """The CustomResourceDefinition as it is to be now."""
        # Any content: the informers are to be kept busy, and not the server's validation.
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.definition_name},
            "spec": {
                "group": self.group,
                "scope": "Namespaced" if self.namespaced else "Cluster",
                "names": {"plural": self.plural, "kind": self.kind},
                "versions": [
                    {"name": version, "served": True, "storage": version == self.versions[0], "schema": schema}
                    for version in self.versions
                ],
            },
        }

    @property
    def definition_name(self) -> str:
        """Of the CustomResourceDefinition."""
        return f"{self.plural}.{self.group}"

    def close(self) -> None:
        """Write nothing more: the definition goes."""
        self.open = False
        self.incarnation += 1

    def take_another_form(self) -> None:
        """Other versions, another scope perhaps, and no objects; to be opened once the definition is there."""
        self.versions, self.namespaced = self.random.choice(_FORMS)
        self.api_version = f"{self.group}/{self.versions[0]}"
        self._forget()


def namespaces() -> list[JSONObject]:
    """The namespaces that objects are in."""
    metadata = ({"name": name, "labels": {f"{GROUP}/number": str(number)}} for number, name in enumerate(NAMESPACES))
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": each} for each in metadata]


def soak_resources(total: int, changing: int, seed: int) -> list[Resource]:
    """As many built-in resources as fit, and custom ones; the last ``changing`` of them come and go."""
    builtin = _BUILTIN[: max(1, min(len(_BUILTIN), total - changing - 1))]
    resources = [
        Resource(
            plural=plural,
            api_version=version,
            kind=kind,
            namespaced=namespaced,
            content=content,
            random=Random(f"{seed} {plural}"),
        )
        for plural, version, kind, namespaced, content in builtin
    ]
    custom = total - len(builtin)
    resources += [
        Resource(
            plural=f"soak{number:03}s",
            api_version=f"{GROUP}/v1",
            kind=f"Soak{number:03}",
            namespaced=number % 10 != 9,
            content={},
            random=Random(f"{seed} soak{number:03}s"),
            comes_and_goes=number >= custom - changing,
            open=False,
        )
        for number in range(custom)
    ]
    return resources
