"""What a controller watches: resources, which of their changes count, and which keys a change makes reconcile."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self, TypeAlias, TypeGuard, runtime_checkable

from dynkube.controllers._results import check_priority
from dynkube.errors import InvalidInput
from dynkube.fields._steps import same_json
from dynkube.informers import IndexFunc, Selector
from dynkube.informers._dependents import owner_references
from dynkube.meta import GVK, GVR, FieldSelector, HashShard, JSONPath, LabelSelector, Unstructured
from dynkube.meta._arguments import a_type, brief
from dynkube.meta._gvr import check_resource


class ObjectKey(NamedTuple):
    """Namespace and name of an object: what a controller reconciles (controller-runtime's ``reconcile.Request``).

    Equal to :attr:`Unstructured.key`, a plain tuple.

    Attributes:
        namespace: ``""`` for cluster-scoped objects.
        name: the object's ``metadata.name``.
    """

    namespace: str
    name: str

    @classmethod
    def of(cls, value: KeyLike) -> Self:
        """Return the key of an object, or the key itself.

        Raises:
            InvalidInput: it is neither an object with a name nor a pair of strings without slashes.
        """
        key: object = value.key if isinstance(value, Unstructured) else value
        if not _is_a_key(key):
            raise InvalidInput(f"{brief(value)} is not a key: pass an object, an ObjectKey, or (namespace, name)")
        return cls(*key)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


KeyLike: TypeAlias = ObjectKey | tuple[str, str] | Unstructured
"""A key, or an object that stands for its key."""

Mapper: TypeAlias = Callable[[Unstructured], Iterable[KeyLike]]
"""Returns the keys to reconcile after a change of an object of another resource."""

ChangePredicate: TypeAlias = Callable[[Unstructured | None, Unstructured | None], bool]
"""Decides whether a change counts.

From the object before, ``None`` if it was added, and the object after, ``None`` if it was deleted. An update that sets
the deletionTimestamp always counts: the predicate is not called.
"""


class ReconciledObjects(Protocol):
    """The cache of the reconciled resource, as mappers read it."""

    def get(self, key: tuple[str, str]) -> Unstructured | None:
        """Return one object, or ``None``."""
        ...

    def list(self) -> Iterable[Unstructured]:
        """Return all objects."""
        ...

    def by_index(self, index: str, value: str) -> Iterable[Unstructured]:
        """Return the objects with a value in an index."""
        ...


@runtime_checkable
class CacheMapper(Protocol):
    """A mapper that reads the cache of the reconciled resource; :func:`to_owner` and others return one."""

    def keys(self, obj: Unstructured, reconciled: ReconciledObjects) -> Iterable[KeyLike]:
        """Return the keys to reconcile after a change of ``obj``."""
        ...


# ── mappers ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _ToOwner:
    controller: bool

    def keys(self, obj: Unstructured, reconciled: ReconciledObjects) -> Iterable[KeyLike]:
        for reference in owner_references(obj):
            if self.controller and reference.get("controller") is not True:
                continue
            name = reference.get("name")
            if not isinstance(name, str):
                continue
            # By kind and name, like EnqueueRequestForOwner. Not by UID: an owner that was deleted and created again may
            # wait for the deletion of what its predecessor owned. One that is not cached yet is reconciled anyway when
            # it arrives.
            for namespace in dict.fromkeys((obj.namespace, "")):
                owner = reconciled.get((namespace, name))
                if owner is not None and (owner.uid == reference["uid"] or _is_named(owner, reference)):
                    yield owner


def _is_named(owner: Unstructured, reference: Mapping[str, Any]) -> bool:
    """Return whether a reference has the group and kind of an object, in any version."""
    group = str(reference.get("apiVersion", "")).rpartition("/")[0]
    return owner.kind == reference.get("kind") and owner.api_version.rpartition("/")[0] == group


def to_owner(*, controller: bool = True) -> CacheMapper:
    """Map an object to its owner, by kind and name in its ``ownerReferences`` (``EnqueueRequestForOwner``).

    Args:
        controller: only the owner with ``controller: true``; ``False`` for all owners.
    """
    return _ToOwner(controller)


@dataclass(frozen=True, slots=True)
class _ToIndex:
    index: str
    value: Callable[[Unstructured], str]
    same_namespace: bool

    def keys(self, obj: Unstructured, reconciled: ReconciledObjects) -> Iterable[KeyLike]:
        found = reconciled.by_index(self.index, self.value(obj))
        return [each for each in found if not self.same_namespace or each.namespace in ("", obj.namespace)]


def to_index(
    index: str, value: Callable[[Unstructured], str] | None = None, *, same_namespace: bool = True
) -> CacheMapper:
    """Map an object to those that refer to it, by an index of the reconciled resource.

    ::

        Controller("websites.example.com", reconcile, indexes={"theme": "{.spec.theme}"},
                   watches=[Watch("configmaps", to=to_index("theme"))])

    Args:
        index: name of an index of the reconciled resource (``Controller(indexes=...)``).
        value: returns the value to look up; by default the name of the object.
        same_namespace: only objects in the namespace of the changed one, and cluster-scoped ones.
    """
    return _ToIndex(index, value if value is not None else _name, same_namespace)


def index_of(to: Mapper | CacheMapper) -> str | None:
    """Return the index of the reconciled resource that a mapper reads; ``None`` if it is not known to read one."""
    return to.index if isinstance(to, _ToIndex) else None


def _name(obj: Unstructured) -> str:
    return obj.name


@dataclass(frozen=True, slots=True)
class _ToAll:
    def keys(self, obj: Unstructured, reconciled: ReconciledObjects) -> Iterable[KeyLike]:
        return reconciled.list()


def to_all() -> CacheMapper:
    """Map an object to all objects of the reconciled resource, for settings that concern each of them."""
    return _ToAll()


def to_label(name: str, *, namespace: str | None = None) -> Mapper:
    """Map an object to the key in its labels; to nothing if it does not have the label.

    Args:
        name: the label whose value is the name of the object to reconcile.
        namespace: the label whose value is its namespace; by default the namespace of the changed object.
    """

    def keys(obj: Unstructured) -> list[ObjectKey]:
        found = obj.labels.get(name)
        where = obj.namespace if namespace is None else obj.labels.get(namespace)
        return [ObjectKey(where, found)] if found and where is not None else []

    return keys


def to_same_name(obj: Unstructured) -> list[ObjectKey]:
    """Map an object to the one with the same namespace and name."""
    return [ObjectKey(*obj.key)]


# ── predicates ───────────────────────────────────────────────────────────────────────────────


def deletion_begins(old: Unstructured | None, new: Unstructured | None) -> bool:
    """Return whether an update sets the deletionTimestamp, which counts whatever a predicate says.

    Otherwise an object whose labels do not change when it is deleted would never be cleaned up.
    """
    return old is not None and old.deletion_timestamp is None and new is not None and new.deletion_timestamp is not None


def generation_changed(old: Unstructured | None, new: Unstructured | None) -> bool:
    """Ignore updates that leave ``metadata.generation`` as it is, such as those of the status.

    controller-runtime's ``GenerationChangedPredicate``. Labels, annotations and finalizers have no part in the
    generation; for resources without one, each update counts.
    """
    return old is None or new is None or not new.generation or old.generation != new.generation


def labels_changed(old: Unstructured | None, new: Unstructured | None) -> bool:
    """Ignore updates that leave the labels as they are."""
    return old is None or new is None or old.labels != new.labels


def annotations_changed(old: Unstructured | None, new: Unstructured | None) -> bool:
    """Ignore updates that leave the annotations as they are. Decodes the objects."""
    return old is None or new is None or old.annotations != new.annotations


def field_changed(path: str | JSONPath, *others: str | JSONPath) -> ChangePredicate:
    """Return a predicate that ignores updates that leave these fields as they are. It decodes the objects.

    Args:
        path: a field, in kubectl's JSONPath: ``"{.spec.replicas}"``; braces optional.
        others: more fields, of which one has to change.

    Raises:
        InvalidJSONPath: a path does not parse.
    """
    paths = [JSONPath.compile(each) if isinstance(each, str) else each for each in (path, *others)]

    def changed(old: Unstructured | None, new: Unstructured | None) -> bool:
        if old is None or new is None:
            return True
        return any(not same_json(old.jsonpath(each), new.jsonpath(each)) for each in paths)

    return changed


def any_of(*predicates: ChangePredicate) -> ChangePredicate:
    """Return a predicate that lets a change count if one of ``predicates`` does."""
    return lambda old, new: any(predicate(old, new) for predicate in predicates)


def all_of(*predicates: ChangePredicate) -> ChangePredicate:
    """Return a predicate that lets a change count if all ``predicates`` do."""
    return lambda old, new: all(predicate(old, new) for predicate in predicates)


# ── watches ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Watch:
    """A resource whose changes make a controller reconcile.

    Watches of the same resource, namespace and selectors share one cache, also with other controllers of the client.

    Attributes:
        resource: as for :meth:`Client.informer`: preferably RESOURCE.GROUP or RESOURCE.VERSION.GROUP, which need not be
            served yet.
        to: which keys to reconcile after a change: a function of the object, or :func:`to_owner`, :func:`to_label`,
            :func:`to_index`, :func:`to_all`, :func:`to_same_name`; by default ``to_owner()``. After an update it is
            called with the object before and with the object after.
        namespace: only objects in this namespace; ``None`` for those of the controller, or for all objects of a
            cluster-scoped resource.
        label_selector: only objects that match; evaluated by the server.
        field_selector: the same, by fields.
        shard: only objects in this part, by a hash; see :meth:`Client.informer`.
        predicate: which changes count; ``None`` for all.
        indexes: name to function or JSONPath, for ``ctx.by_index``.
        metadata_only: cache only the metadata of the objects; see :meth:`Client.informer`.
        priority: of the keys of its changes in the queue: keys with a higher one come first. Initial objects have 100
            less. No ready key waits for more than a minute because of it.

    Raises:
        InvalidInput: an argument is invalid.
    """

    resource: str | GVR | GVK
    to: Mapper | CacheMapper = field(default_factory=to_owner)
    namespace: str | None = None
    label_selector: Selector = None
    field_selector: Selector = None
    shard: HashShard | None = None
    predicate: ChangePredicate | None = None
    indexes: Mapping[str, str | IndexFunc] = field(default_factory=dict)
    metadata_only: bool = False
    priority: int = 0

    def __post_init__(self) -> None:
        check_resource(self.resource, version_optional=True)
        LabelSelector.parse(self.label_selector)
        FieldSelector.parse(self.field_selector)
        if not callable(self.to) and not isinstance(self.to, CacheMapper):
            raise InvalidInput(f"to is {a_type(self.to)}: pass a function of the object, or a mapper like to_owner()")
        if self.shard is not None and not isinstance(self.shard, HashShard):
            raise InvalidInput(f"shard is {a_type(self.shard)}: pass HashShard(index, count), or None")
        if not isinstance(self.metadata_only, bool):
            raise InvalidInput(f"metadata_only must be True or False, not {self.metadata_only!r}")
        if inspect.iscoroutinefunction(self.predicate):
            raise InvalidInput("predicate is an async function, which would always be true: pass a plain function")
        if self.predicate is not None and not callable(self.predicate):
            raise InvalidInput(f"predicate is {a_type(self.predicate)}: pass a function of the object before and after")
        check_priority(self.priority)
        if not isinstance(self.indexes, Mapping):
            raise InvalidInput(f"indexes is {a_type(self.indexes)}: pass {{name: function or JSONPath}}")

    @property
    def maps_to_owner(self) -> bool:
        """Whether the objects are mapped to their owner."""
        return isinstance(self.to, _ToOwner)


def _is_a_key(value: object) -> TypeGuard[tuple[str, str]]:
    if not isinstance(value, tuple) or len(value) != 2 or not value[1]:
        return False
    return all(isinstance(part, str) and "/" not in part for part in value)
