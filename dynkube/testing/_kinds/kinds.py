"""What the embedded server serves: one :class:`Kind` for each resource in each version, and the registry of them.

Built-in kinds are added once at start; kinds of CustomResourceDefinitions come, change and go with their definition.
The registry holds no objects: those live in the storage under :attr:`Kind.storage_group`, shared by all versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from dynkube.meta import GVK, GVR, GroupVersion
from dynkube.testing._kinds.subresources import Subresource, subresource_of

ALL_VERBS: tuple[str, ...] = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)

SchemaSource: TypeAlias = Callable[[], Mapping[str, object] | None]


class Content(Protocol):
    """How objects of a kind are kept, and how what is kept looks in one version of it.

    Objects are decoded JSON, and are not changed.
    """

    @property
    def shape(self) -> object:
        """What objects conform to that are kept now; it goes with them."""
        ...

    def to_keep(self, obj: dict[str, Any]) -> dict[str, Any]:
        """``obj``, written in this version, as it is kept."""
        ...

    def shows_as_kept(self, shape: object) -> bool:
        """Whether objects that were kept when :attr:`shape` was ``shape`` look in this version as they are kept."""
        ...

    def kept_as(self, shape: object, kept: dict[str, Any], obj: dict[str, Any]) -> bool:
        """Whether ``obj``, written in this version, would be kept as ``kept``, which was under ``shape``."""
        ...

    def shown(self, obj: dict[str, Any]) -> dict[str, Any]:
        """``obj``, as it is kept, as it looks in this version."""
        ...

    @property
    def encoded(self) -> MutableMapping[object, bytes]:
        """Objects that have another look, encoded; what is kept is the key, held weakly."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePaths:
    """Where a kind with the ``scale`` subresource keeps what a Scale shows; dotted paths like ``.spec.replicas``.

    ``label_selector`` is a path to a serialized selector (custom resources) or to a ``metav1.LabelSelector``
    object (built-in workloads); ``""`` where the kind has none.
    """

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    label_selector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One served resource in one version.

    Attributes:
        gvr: How it is addressed.
        kind: Its kind, e.g. ``Deployment``.
        list_kind: The kind of its lists; ``kind + "List"`` unless given.
        singular: Lower-case singular name; ``kind.lower()`` unless given.
        namespaced: Whether its objects live in namespaces.
        short_names: Aliases such as ``deploy``.
        categories: Groups such as ``all``.
        verbs: What may be done with it, sorted.
        subresources: The names of those it has, sorted; :meth:`subresource` tells about each.
        storage_group: Identity of the resource across its versions: objects written through one version are
            read through the others. ``RESOURCE.GROUP`` unless given.
        stored_as: Version and kind that objects are stored in, where it is another than this one; discovery
            tells a hash of it.
        listed: Whether discovery shows it. A CustomResourceDefinition whose names are accepted is served a
            moment before it is Established, and shown only from then on.
        selectable_fields: Dotted paths that field selectors may use besides ``metadata.name`` and
            ``metadata.namespace``, without a leading dot (``"spec.nodeName"``).
        generation: Whether the server keeps ``metadata.generation`` (ConfigMaps, for one, have none).
        scale: The paths behind the ``scale`` subresource, where it has one.
        crd_uid: UID of the defining CustomResourceDefinition; ``None`` for built-in kinds.
        terminating: Whether that definition is being deleted (objects can no longer be created).
        schema_source: Where :attr:`schema` comes from: itself, or what gives it when it is asked for.
        content: How objects look in this version; ``None`` where all versions look the same.
        printer_columns: The version's ``additionalPrinterColumns``, as stored.
        warning: Sent as a Warning header with each answer (deprecated versions).
    """

    gvr: GVR
    kind: str
    namespaced: bool
    list_kind: str = ""
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[str, ...] = ()
    storage_group: str = ""
    stored_as: GVK | None = None
    listed: bool = True
    selectable_fields: tuple[str, ...] = ()
    generation: bool = True
    scale: ScalePaths | None = None
    crd_uid: str | None = None
    terminating: bool = False
    schema_source: SchemaSource | Mapping[str, object] | None = field(default=None, compare=False, repr=False)
    content: Content | None = field(default=None, compare=False, repr=False)
    printer_columns: tuple[Mapping[str, object], ...] = field(default=(), compare=False, repr=False)
    warning: str = ""

    def __post_init__(self) -> None:
        fill = object.__setattr__
        fill(self, "list_kind", self.list_kind or f"{self.kind}List")
        fill(self, "singular", self.singular or self.kind.lower())
        fill(self, "storage_group", self.storage_group or self.group_resource)

    @property
    def schema(self) -> Mapping[str, object] | None:
        """The shape of its objects in the dialect of ``openAPIV3Schema``; ``None`` where nothing is known of it.

        For custom resources it is what the version of their definition says, as stored. For built-in kinds it is
        the same mapping on each access (see :meth:`~dynkube.testing._kinds.schemas.BuiltinSchemas.resolved`).
        """
        source = self.schema_source
        return source() if callable(source) else source

    def subresource(self, name: str) -> Subresource | None:
        """What is behind the subresource ``name``: its kind of object and its verbs; ``None`` where it has none."""
        return subresource_of(self.gvk, name) if name in self.subresources else None

    @property
    def gvk(self) -> GVK:
        """Group, version and kind of its objects."""
        return GVK(self.gvr.group, self.gvr.version, self.kind)

    @property
    def api_version(self) -> str:
        """As an object's ``apiVersion`` has it."""
        return self.gvr.api_version

    @property
    def group_resource(self) -> str:
        """``deployments.apps``, or ``pods`` for the core group: how the server's messages name the resource."""
        return f"{self.gvr.resource}.{self.gvr.group}" if self.gvr.group else self.gvr.resource

    @property
    def group_kind(self) -> str:
        """``Deployment.apps``, or ``Pod`` for the core group: how validation messages name the kind."""
        return f"{self.kind}.{self.gvr.group}" if self.gvr.group else self.kind


class Registry:
    """The kinds served now, by GVR. Changes while the server runs, as CustomResourceDefinitions do."""

    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self._kinds: dict[GVR, Kind] = {}
        self._by_storage: dict[str, tuple[Kind, ...]] = {}
        self._by_kind: dict[tuple[str, str], Kind] = {}
        self._unavailable: frozenset[GroupVersion] = frozenset()
        self._revision = 0
        self.add(*kinds)

    def add(self, *kinds: Kind) -> None:
        """Serve ``kinds`` from now on, each in place of what its GVR meant before."""
        for kind in kinds:
            self._kinds[kind.gvr] = kind
        self._changed()

    def remove(self, *gvrs: GVR) -> None:
        """Stop serving ``gvrs``; those not served are ignored."""
        for gvr in gvrs:
            self._kinds.pop(gvr, None)
        self._changed()

    def set_available(self, group_version: GroupVersion, available: bool) -> None:
        """Take the (imagined) server of an aggregated group-version out of order, or back into it."""
        one = frozenset({group_version})
        after = self._unavailable - one if available else self._unavailable | one
        if after != self._unavailable:
            self._unavailable = after
            self._changed()

    @property
    def unavailable(self) -> frozenset[GroupVersion]:
        """Group-versions whose server does not answer: 503, and stale in discovery, whether kinds are known or not."""
        return self._unavailable

    def _changed(self) -> None:
        self._revision += 1
        self._by_storage, self._by_kind = {}, {}

    @property
    def revision(self) -> int:
        """Grows with every change, so that documents built from the registry can be cached by it."""
        return self._revision

    def get(self, gvr: GVR) -> Kind | None:
        """The kind served as ``gvr``, listed in discovery or not; ``None`` if it is not served."""
        return self._kinds.get(gvr)

    def of_group(self, group: str) -> tuple[Kind, ...]:
        """The kinds of one API group, in the order they were added."""
        return tuple(kind for kind in self._kinds.values() if kind.gvr.group == group)

    def of_storage(self, storage_group: str) -> tuple[Kind, ...]:
        """All served versions of one resource."""
        if not self._by_storage:
            found: dict[str, tuple[Kind, ...]] = {}
            for kind in tuple(self._kinds.values()):
                found[kind.storage_group] = (*found.get(kind.storage_group, ()), kind)
            self._by_storage = found  # at once: large writes look here from another thread
        return self._by_storage.get(storage_group, ())

    def find(self, api_version: str, kind: str) -> Kind | None:
        """The kind an object with this ``apiVersion`` and ``kind`` belongs to."""
        if not self._by_kind:
            found: dict[tuple[str, str], Kind] = {}
            for candidate in tuple(self._kinds.values()):
                found.setdefault((candidate.api_version, candidate.kind), candidate)
            self._by_kind = found
        return self._by_kind.get((api_version, kind))

    def __iter__(self) -> Iterator[Kind]:
        return iter(tuple(self._kinds.values()))

    def __len__(self) -> int:
        return len(self._kinds)
