"""An ApplySet (KEP-3659): which objects were applied together, as labels and annotations that kubectl reads too. Pure.

The parent object carries the set's id and where its members are; each member carries the id as a label. The formats are
those of the KEP's specification, as ``kubectl apply --prune --applyset`` writes them.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dynkube.errors import InvalidInput, InvalidObject
from dynkube.meta import GVK, Unstructured

PART_OF = "applyset.kubernetes.io/part-of"
ID = "applyset.kubernetes.io/id"
TOOLING = "applyset.kubernetes.io/tooling"
KINDS = "applyset.kubernetes.io/contains-group-kinds"
RESOURCES = "applyset.kubernetes.io/contains-group-resources"  # what KINDS was before kubectl 1.28
NAMESPACES = "applyset.kubernetes.io/additional-namespaces"
PARENT_TYPE = "applyset.kubernetes.io/is-parent-type"
# As a precondition: that there is no object. Without one the server creates it whatever the version says, and no object
# has this: it is the revision of an etcd that nothing was written to.
_NOT_THERE = "1"


@dataclass(frozen=True, slots=True)
class ApplySet:
    """Which set a source is, so that what left the source can be deleted.

    The set is kept by a parent object: a Secret or ConfigMap, made when it is needed, or a custom object whose CRD has
    the label ``applyset.kubernetes.io/is-parent-type`` and which exists.

    Attributes:
        name: of the parent.
        resource: of the parent: ``"secrets"``, ``"configmaps"``, or a custom one like ``"bundles.example.com"``.
        namespace: of the parent; ``None`` means the context's, and that of a cluster-scoped parent. kubectl insists on
            ``--namespace``; name the same one there.
        tooling: who manages the set, ``NAME/VERSION``; a set of another tool is refused, as kubectl refuses those of
            others. Say ``"kubectl/v1.37.0"`` to share a set with ``kubectl apply --prune --applyset``.

    Raises:
        InvalidInput: one of them cannot be right.
    """

    name: str
    resource: str = "secrets"
    namespace: str | None = None
    tooling: str = ""

    def __post_init__(self) -> None:
        if not self.name or "/" in self.name:
            raise InvalidInput(f"ApplySet name {self.name!r}: give the name of its parent object, like 'shop'")
        if not self.resource:
            raise InvalidInput(
                "ApplySet resource is empty: 'secrets', 'configmaps' or a custom one like 'sets.example.com'"
            )
        if self.tooling and not all(self.tooling.rpartition("/")):
            raise InvalidInput(f"ApplySet tooling {self.tooling!r} is not NAME/VERSION, like 'kubectl/v1.37.0'")

    @classmethod
    def parse(cls, text: str, *, namespace: str | None = None, tooling: str = "") -> ApplySet:
        """Read kubectl's form, ``[RESOURCE][.GROUP]/NAME``; without a resource the parent is a Secret.

        Raises:
            InvalidInput: it is none.
        """
        resource, slash, name = text.rpartition("/")
        if not name or (slash and not resource):
            raise InvalidInput(f"ApplySet {text!r} is neither NAME nor RESOURCE/NAME, like 'configmaps/shop'")
        return cls(name, resource or "secrets", namespace, tooling)


class GroupKind(NamedTuple):
    """A kind without its version, as the parent lists them."""

    group: str
    kind: str

    @classmethod
    def parse(cls, text: str) -> GroupKind:
        """Read ``KIND`` or ``KIND.GROUP``."""
        kind, _, group = text.partition(".")
        return cls(group, kind)

    @classmethod
    def of(cls, gvk: GVK) -> GroupKind:
        """Of what an object says it is."""
        return cls(gvk.group, gvk.kind)

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


@dataclass(frozen=True, slots=True)
class Scope:
    """Where the members of a set are, or may be."""

    kinds: frozenset[GroupKind] = frozenset()
    namespaces: frozenset[str] = frozenset()

    def __or__(self, other: Scope) -> Scope:
        return Scope(self.kinds | other.kinds, self.namespaces | other.namespaces)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The parent object of a set, as the server knows its kind.

    Attributes:
        gvk: what it is.
        namespace: ``""`` for a cluster-scoped one.
        name: its name.
        tooling: who manages the set: ``NAME/VERSION``.
    """

    gvk: GVK
    namespace: str
    name: str
    tooling: str

    @property
    def id(self) -> str:
        """The value of the labels: ``applyset-base64(sha256(NAME.NAMESPACE.KIND.GROUP))-v1``."""
        identity = ".".join((self.name, self.namespace, self.gvk.kind, self.gvk.group))
        digest = base64.urlsafe_b64encode(hashlib.sha256(identity.encode()).digest()).rstrip(b"=")
        return f"applyset-{digest.decode()}-v1"

    @property
    def tool(self) -> str:
        """The name in ``tooling``."""
        return _tool(self.tooling)

    @property
    def field_manager(self) -> str:
        """Who owns the set's fields in the parent."""
        return f"{self.tool}-applyset"

    def __str__(self) -> str:
        kind = GroupKind.of(self.gvk)
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{kind} {self.name}{where}"

    def manifest(self, scope: Scope) -> Unstructured:
        """What is applied to the parent while its members are in ``scope``."""
        metadata: dict[str, object] = {
            "name": self.name,
            "annotations": {
                TOOLING: self.tooling,
                KINDS: ",".join(sorted(map(str, scope.kinds))),
                NAMESPACES: ",".join(sorted(scope.namespaces - {self.namespace})),
            },
            "labels": {ID: self.id},
        }
        if self.namespace:
            metadata["namespace"] = self.namespace
        return Unstructured({"apiVersion": self.gvk.api_version, "kind": self.gvk.kind, "metadata": metadata})

    def check(self, live: Unstructured) -> None:
        """Refuse a parent that is no parent, or another tool's.

        Raises:
            InvalidObject: it is; the message says which label or annotation says so.
        """
        tooling = live.annotations.get(TOOLING)
        if tooling is None:
            raise InvalidObject(
                f"{self} exists and is no ApplySet. Choose another name for the set; or, if it was made to be one, "
                f"give it the annotations {TOOLING}={self.tooling!r} and {KINDS}='', and the label {ID}={self.id!r}"
            )
        if _tool(tooling) != self.tool:
            raise InvalidObject(
                f"the ApplySet of {self} is managed by {tooling!r} and not by {self.tool!r}: let that tool prune it, "
                f"or say that both do, with tooling={tooling!r}"
            )
        if (found := live.labels.get(ID)) != self.id:
            raise InvalidObject(
                f"{self} has {ID}={found!r} where {self.id!r} belongs: it was copied from elsewhere, or edited"
            )

    @staticmethod
    def covers_the_same(one: Unstructured, other: Unstructured) -> bool:
        """Whether two states of the parent say the same about where members are."""
        return all(one.annotations.get(key) == other.annotations.get(key) for key in (KINDS, RESOURCES, NAMESPACES))

    def scope(self, live: Unstructured) -> tuple[Scope, frozenset[str]]:
        """Where the members are, as ``live`` says; and group-resources, where an older kubectl wrote those.

        Raises:
            InvalidObject: it does not say.
        """
        annotations = live.annotations
        namespaces = _split(annotations, NAMESPACES) | ({self.namespace} if self.namespace else frozenset())
        if KINDS in annotations:
            return Scope(frozenset(map(GroupKind.parse, _split(annotations, KINDS))), namespaces), frozenset()
        if RESOURCES in annotations:
            return Scope(frozenset(), namespaces), _split(annotations, RESOURCES)
        raise InvalidObject(
            f"the ApplySet of {self} lacks the annotation {KINDS}, so nobody knows where its members are"
        )


def labelled(obj: Unstructured, applyset_id: str) -> Unstructured:
    """``obj`` as a member of the set.

    Raises:
        InvalidObject: it says that it is a member of another one.
    """
    metadata = obj["metadata"]
    labels = metadata.get("labels") or {}
    said = labels.get(PART_OF, applyset_id)
    if said != applyset_id:
        raise InvalidObject(
            f"it has the label {PART_OF}={said!r}, of another ApplySet: remove it, the label is set here"
        )
    return obj.evolve(metadata={**metadata, "labels": {**labels, PART_OF: applyset_id}})


def check_member(live: Unstructured, applyset_id: str) -> None:
    """Refuse to take an object out of another set.

    Raises:
        InvalidObject: it is in one.
    """
    found = live.labels.get(PART_OF, applyset_id)
    if found != applyset_id:
        raise InvalidObject(
            f"it belongs to another ApplySet ({PART_OF}={found}): each would undo and prune what the other does. "
            "Remove it from one of the two sources; to move it here, remove that label from the live object first"
        )


def bound(obj: Unstructured, live: Unstructured | None) -> Unstructured:
    """``obj``, to be applied to ``live`` as it is, or to nothing; where its author says a version that one counts."""
    if obj.resource_version:
        return obj
    return obj.transform(["metadata", "resourceVersion"], _NOT_THERE if live is None else live.resource_version)


def _tool(tooling: str) -> str:
    return tooling.rpartition("/")[0] or tooling


def _split(annotations: Mapping[str, str], key: str) -> frozenset[str]:
    return frozenset(filter(None, annotations.get(key, "").split(",")))


def scope_of(members: Collection[tuple[GVK, str]]) -> Scope:
    """Where objects are: kind, and namespace (``""`` for cluster-scoped ones) of each."""
    return Scope(
        frozenset(GroupKind.of(gvk) for gvk, _ in members),
        frozenset(namespace for _, namespace in members if namespace),
    )
