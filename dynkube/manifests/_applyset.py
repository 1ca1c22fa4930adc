"""ApplySets (KEP-3659): objects that are applied together. Pure.

An ApplySet is recorded in labels and annotations that are compatible with kubectl.

The parent object has the set's id and the kinds and namespaces of its members; each member has the id as a label. The
formats are those of the KEP's specification, as written by ``kubectl apply --prune --applyset``.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dynkube.errors import InvalidInput, InvalidObject
from dynkube.fields import FieldPath, managed
from dynkube.meta import GVK, Unstructured

PART_OF = "applyset.kubernetes.io/part-of"
ID = "applyset.kubernetes.io/id"
TOOLING = "applyset.kubernetes.io/tooling"
KINDS = "applyset.kubernetes.io/contains-group-kinds"
RESOURCES = "applyset.kubernetes.io/contains-group-resources"  # instead of KINDS before kubectl 1.28
NAMESPACES = "applyset.kubernetes.io/additional-namespaces"
PARENT_TYPE = "applyset.kubernetes.io/is-parent-type"
LABEL = FieldPath() / "metadata" / "labels" / PART_OF
# As a precondition, this resourceVersion means that the object must not exist. No object has it, as it is the revision
# of an empty etcd, so an apply to a live object is a conflict. Without a live object the server ignores it.
_NOT_THERE = "1"


@dataclass(frozen=True, slots=True)
class ApplySet:
    """The identity of a set of applied objects, for pruning.

    Members that were removed from the source are deleted.

    The set is recorded in a parent object: a Secret or ConfigMap, created when needed, or an existing custom resource
    whose CRD has the label ``applyset.kubernetes.io/is-parent-type``.

    Attributes:
        name: name of the parent.
        resource: resource of the parent: ``"secrets"``, ``"configmaps"``, or a custom one like
            ``"bundles.example.com"``.
        namespace: namespace of the parent; ``None`` means the context's, or a cluster-scoped parent. kubectl requires
            ``--namespace``; use the same one there.
        tooling: the tool that manages the set, ``NAME/VERSION``; as with kubectl, a set of another tool is rejected.
            Use ``"kubectl/v1.37.0"`` to share a set with ``kubectl apply --prune --applyset``.

    Raises:
        InvalidInput: an attribute is invalid.
    """

    name: str
    resource: str = "secrets"
    namespace: str | None = None
    tooling: str = ""

    def __post_init__(self) -> None:
        if not self.name or "/" in self.name:
            raise InvalidInput(f"ApplySet name {self.name!r}: pass the name of its parent object, like 'shop'")
        if not self.resource:
            raise InvalidInput(
                "ApplySet resource is empty: pass 'secrets', 'configmaps' or a custom one like 'sets.example.com'"
            )
        if self.tooling and not all(self.tooling.rpartition("/")):
            raise InvalidInput(f"ApplySet tooling {self.tooling!r} is not NAME/VERSION, like 'kubectl/v1.37.0'")

    @classmethod
    def parse(cls, text: str, *, namespace: str | None = None, tooling: str = "") -> ApplySet:
        """Parse kubectl's format, ``[RESOURCE][.GROUP]/NAME``.

        Without a resource the parent is a Secret.

        Raises:
            InvalidInput: ``text`` is malformed.
        """
        resource, slash, name = text.rpartition("/")
        if not name or (slash and not resource):
            raise InvalidInput(f"ApplySet {text!r} is neither NAME nor RESOURCE/NAME, like 'configmaps/shop'")
        return cls(name, resource or "secrets", namespace, tooling)


class GroupKind(NamedTuple):
    """A kind without its version, as listed in the parent."""

    group: str
    kind: str

    @classmethod
    def parse(cls, text: str) -> GroupKind:
        """Parse ``KIND`` or ``KIND.GROUP``."""
        kind, _, group = text.partition(".")
        return cls(group, kind)

    @classmethod
    def of(cls, gvk: GVK) -> GroupKind:
        """Return the group and kind of a GVK."""
        return cls(gvk.group, gvk.kind)

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


@dataclass(frozen=True, slots=True)
class Scope:
    """The kinds and namespaces in which a set may have members."""

    kinds: frozenset[GroupKind] = frozenset()
    namespaces: frozenset[str] = frozenset()

    def __or__(self, other: Scope) -> Scope:
        return Scope(self.kinds | other.kinds, self.namespaces | other.namespaces)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The parent object of a set, with its kind as resolved by discovery.

    Attributes:
        gvk: its kind.
        namespace: ``""`` for a cluster-scoped one.
        name: its name.
        tooling: the tool that manages the set: ``NAME/VERSION``.
    """

    gvk: GVK
    namespace: str
    name: str
    tooling: str

    @property
    def id(self) -> str:
        """Value of the labels: ``applyset-base64(sha256(NAME.NAMESPACE.KIND.GROUP))-v1``."""
        identity = ".".join((self.name, self.namespace, self.gvk.kind, self.gvk.group))
        digest = base64.urlsafe_b64encode(hashlib.sha256(identity.encode()).digest()).rstrip(b"=")
        return f"applyset-{digest.decode()}-v1"

    @property
    def tool(self) -> str:
        """The name of the tool in ``tooling``, without the version."""
        return _tool(self.tooling)

    @property
    def field_manager(self) -> str:
        """The field manager that owns the set's fields in the parent."""
        return f"{self.tool}-applyset"

    def __str__(self) -> str:
        kind = GroupKind.of(self.gvk)
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{kind} {self.name}{where}"

    def manifest(self, scope: Scope) -> Unstructured:
        """Return the manifest of the parent, with ``scope`` in its annotations."""
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
        """Reject a live object that is not a parent, or the parent of another tool's set.

        Raises:
            InvalidObject: the message has the label or annotation that is wrong.
        """
        tooling = live.annotations.get(TOOLING)
        if tooling is None:
            raise InvalidObject(
                f"{self} exists and is not an ApplySet: choose another name for the set; or, if it was created as one, "
                f"add the annotations {TOOLING}={self.tooling!r} and {KINDS}='', and the label {ID}={self.id!r}"
            )
        if _tool(tooling) != self.tool:
            raise InvalidObject(
                f"the ApplySet of {self} is managed by {tooling!r}, not by {self.tool!r}: prune it with that tool, "
                "or pass that as the tooling to share it"
            )
        if (found := live.labels.get(ID)) != self.id:
            raise InvalidObject(
                f"{self} has {ID}={found!r}, expected {self.id!r}: it was copied from another object, or edited"
            )

    @staticmethod
    def covers_the_same(one: Unstructured, other: Unstructured) -> bool:
        """Whether two states of the parent have the same kinds and namespaces."""
        return all(one.annotations.get(key) == other.annotations.get(key) for key in (KINDS, RESOURCES, NAMESPACES))

    def scope(self, live: Unstructured) -> tuple[Scope, frozenset[str]]:
        """Return the scope recorded in ``live``, and group-resources.

        The second value has the group-resources that kubectl before 1.28 wrote instead of kinds.

        Raises:
            InvalidObject: neither kinds nor group-resources are recorded.
        """
        annotations = live.annotations
        namespaces = _split(annotations, NAMESPACES) | ({self.namespace} if self.namespace else frozenset())
        if KINDS in annotations:
            return Scope(frozenset(map(GroupKind.parse, _split(annotations, KINDS))), namespaces), frozenset()
        if RESOURCES in annotations:
            return Scope(frozenset(), namespaces), _split(annotations, RESOURCES)
        raise InvalidObject(f"the ApplySet of {self} has no annotation {KINDS}, so its members cannot be found")


def labelled(obj: Unstructured, applyset_id: str) -> Unstructured:
    """Return ``obj`` with the set's label.

    Raises:
        InvalidObject: ``obj`` has the label of another set.
    """
    metadata = obj["metadata"]
    labels = metadata.get("labels") or {}
    part_of = labels.get(PART_OF, applyset_id)
    if part_of != applyset_id:
        raise InvalidObject(
            f"it has the label {PART_OF}={part_of!r}, of another ApplySet: remove it, the label is set by the apply"
        )
    return obj.evolve(metadata={**metadata, "labels": {**labels, PART_OF: applyset_id}})


def check_member(live: Unstructured, applyset_id: str) -> None:
    """Check that an object is not a member of another set.

    Raises:
        InvalidObject: the object is a member of another set.
    """
    found = live.labels.get(PART_OF, applyset_id)
    if found != applyset_id:
        raise InvalidObject(
            f"it belongs to another ApplySet ({PART_OF}={found}): the two would overwrite and prune each other. "
            "Remove it from one of the sources; to move it here, remove that label from the live object first"
        )


def may_prune(live: Unstructured, parent: Parent, parent_uid: str, manager: str) -> bool:
    """Whether a listed object was applied as a member of the set, so that pruning may delete it.

    The label alone does not say so for an object with owners: controllers copy labels from an object to those that they
    create for it, as from a Service to its EndpointSlices. KEP-3659 calls that an ownership conflict ("Objects with
    owner references"); kubectl deletes them. Here the owner of the label decides: an object with owners other than the
    parent was applied by this set if ``manager`` owns its label by Apply.

    Args:
        live: an object with its managedFields.
        parent: the parent of the set.
        parent_uid: its UID; ``""`` if it does not exist.
        manager: the field manager of the set's objects.
    """
    if live.deletion_timestamp is not None or live.labels.get(PART_OF) != parent.id:
        return False
    owners = live.get("metadata", {}).get("ownerReferences") or ()
    if all(owner.get("uid") == parent_uid for owner in owners):
        return True
    return any(
        (entry.manager.name, entry.manager.operation) == (manager, "Apply") and LABEL in entry.fields
        for entry in managed(live)
    )


def bound(obj: Unstructured, live: Unstructured | None) -> Unstructured:
    """Return ``obj`` with the precondition that the live object has not changed.

    If ``live`` is ``None``, the precondition is that there is still no object. A resourceVersion in ``obj`` is kept.
    """
    if obj.resource_version:
        return obj
    return obj.transform(["metadata", "resourceVersion"], _NOT_THERE if live is None else live.resource_version)


def _tool(tooling: str) -> str:
    return tooling.rpartition("/")[0] or tooling


def _split(annotations: Mapping[str, str], key: str) -> frozenset[str]:
    return frozenset(filter(None, annotations.get(key, "").split(",")))


def scope_of(members: Collection[tuple[GVK, str]]) -> Scope:
    """Return the kinds and namespaces of ``members`` as a scope.

    Args:
        members: kind and namespace (``""`` if cluster-scoped) of each object.
    """
    return Scope(
        frozenset(GroupKind.of(gvk) for gvk, _ in members),
        frozenset(namespace for _, namespace in members if namespace),
    )
