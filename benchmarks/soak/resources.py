"""Two hundred resources, some of which have a CRD that is deleted and recreated, and random writes of their objects."""

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
_NAMES = 12  # object names in each namespace
_TURNOVER = 0.3  # the share of writes that create or delete
# The forms of a transient CRD: its versions, and whether its objects have namespaces.
_FORMS = ((("v1",), True), (("v1", "v2"), True), (("v2",), True), (("v1",), False))

_RULES = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
_REFERENCE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "soak"}
# Built-in resources that a bare API server accepts on its own: plural, group/version, kind, namespaced, content.
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
    """One write to send; no other write has its key until it has completed."""

    verb: Verb
    key: Key
    body: JSONObject
    incarnation: int


@dataclass(slots=True, kw_only=True, eq=False)
class Resource:
    """A resource, and the keys of its existing objects; each object has at most one write at a time.

    Attributes:
        plural: the plural name.
        api_version: the version in which its objects are written.
        kind: the kind of its objects.
        namespaced: whether its objects have namespaces now.
        content: the fields of its objects besides metadata.
        random: selects the writes.
        transient: whether its CRD is deleted and recreated.
        open: whether objects can be written now.
        versions: the versions that are served while its CRD exists.
        incarnation: counts the CRDs, so that late responses about the objects of an old one are ignored.
    """

    plural: str
    api_version: str
    kind: str
    namespaced: bool
    content: Mapping[str, object]
    random: Random
    transient: bool = False
    open: bool = True
    versions: tuple[str, ...] = ("v1",)
    incarnation: int = 0
    _versions: dict[Key, str] = field(default_factory=dict)
    _keys: list[Key] = field(default_factory=list)
    _free: list[Key] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self._forget()

    @property
    def group(self) -> str:
        """The API group."""
        return self.api_version.rpartition("/")[0]

    @property
    def gvr(self) -> GVR:
        """The resource in the version in which objects are written."""
        return self.in_version(self.api_version.rpartition("/")[2])

    def in_version(self, version: str) -> GVR:
        """Return the resource in another version."""
        return GVR(self.group, version, self.plural)

    # ── objects ──────────────────────────────────────────────────────────────────────────────

    def draw(self) -> Write | None:
        """Return a random write, if there can be one; call :meth:`written` or :meth:`failed` afterwards."""
        free, used = self._free, self._keys
        if not free and not used:
            return None  # all objects are being written
        number = self.random.random() / _TURNOVER
        if not used or number < len(free) / (len(free) + len(used)):
            # Creates are more likely if there are few objects, so that on average half of the names are used.
            return self._new("create", self._pick(free)) if free else None
        key = self._pick(used)
        return Write("delete", key, {}, self.incarnation) if number < 1.0 else self._new("update", key)

    def draw_first(self) -> Write | None:
        """Return a create, until half of the names are used; ``None`` then."""
        return self._new("create", self._pick(self._free)) if len(self._free) > len(self._keys) else None

    def written(self, write: Write, version: str) -> None:
        """Record that a write succeeded, with the object's new resourceVersion."""
        if write.incarnation != self.incarnation:
            return
        if write.verb == "delete":
            self._versions.pop(write.key, None)
            self._free.append(write.key)
        else:
            self._versions[write.key] = version
            self._keys.append(write.key)

    def failed(self, write: Write, *, exists: bool) -> None:
        """Record that a write failed, and whether the object exists."""
        if write.incarnation == self.incarnation:
            (self._keys if exists else self._free).append(write.key)

    def mark(self) -> JSONObject:
        """Return the next state of the mark, an object that every informer and every filter shows."""
        return self._body((NAMESPACES[0] if self.namespaced else "", MARK), TEAMS[0], {MARK: "yes"})

    def _pick(self, keys: list[Key]) -> Key:
        at = int(self.random.random() * len(keys))
        keys[at], keys[-1] = keys[-1], keys[at]
        return keys.pop()

    def _new(self, verb: Verb, key: Key) -> Write:
        body = self._body(key, TEAMS[int(self.random.random() * len(TEAMS))], {})
        if verb == "update" and (version := self._versions.get(key)):
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
        self._versions.clear()
        self._keys.clear()
        self._free = [(namespace, f"n{number}") for namespace in namespaces for number in range(_NAMES)]

    # ── the CRD ──────────────────────────────────────────────────────────────────────────────

    def crd(self) -> JSONObject:
        """Return the CRD in its current form."""
        # The schema allows any content: the informers should be loaded, and not the server's validation.
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.crd_name},
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
    def crd_name(self) -> str:
        """The name of the CRD."""
        return f"{self.plural}.{self.group}"

    def close(self) -> None:
        """Stop writes, as the CRD is about to be deleted."""
        self.open = False
        self.incarnation += 1

    def change_form(self) -> None:
        """Select versions and scope of the next CRD, which has no objects; set ``open`` when it is established."""
        self.versions, self.namespaced = self.random.choice(_FORMS)
        self.api_version = f"{self.group}/{self.versions[0]}"
        self._forget()


def namespaces() -> list[JSONObject]:
    """Return the namespaces of the objects."""
    metadata = ({"name": name, "labels": {f"{GROUP}/number": str(number)}} for number, name in enumerate(NAMESPACES))
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": each} for each in metadata]


def soak_resources(total: int, changing: int, seed: int) -> list[Resource]:
    """Return as many built-in resources as fit, and custom ones; the last ``changing`` of these are transient."""
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
            transient=number >= custom - changing,
            open=False,
        )
        for number in range(custom)
    ]
    return resources
