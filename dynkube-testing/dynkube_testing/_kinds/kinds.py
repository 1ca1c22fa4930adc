"""The served kinds: one :class:`Kind` for each resource in each version.

Built-in kinds are added to the registry once at start; kinds of CRDs are added, changed and removed with their CRD.
The registry holds no objects: those are in the storage under :attr:`Kind.storage_group`, shared by all versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from dynkube.errors import NoMatch
from dynkube.meta import GVK, GVR, GroupVersion, ResourceArg
from dynkube_testing._kinds.subresources import Subresource, subresource_of

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
    """Conversion of objects between one version and the storage version.

    Objects are decoded JSON, and are not modified. A *shape* is the storage version's schema at the time an object was
    stored; CRDs may change it later.
    """

    @property
    def shape(self) -> object:
        """The current shape, to be saved with each object that is stored now."""
        ...

    def to_keep(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Convert ``obj`` from this version to the storage version."""
        ...

    def shows_as_kept(self, shape: object) -> bool:
        """Return whether objects saved with ``shape`` are the same in this version."""
        ...

    def lost_version(self, shape: object) -> str:
        """Return the version in which objects were saved with ``shape``; ``""`` if the resource still has it."""
        ...

    def kept_as(self, shape: object, kept: dict[str, Any], obj: dict[str, Any]) -> bool:
        """Return whether writing ``obj`` in this version would change nothing in storage.

        Args:
            shape: The shape that the stored object was saved with.
            kept: The stored object.
            obj: The object to be written.
        """
        ...

    def shown(self, obj: dict[str, Any], shape: object = None) -> dict[str, Any]:
        """Convert ``obj``, saved with ``shape``, from the storage version to this version."""
        ...

    @property
    def encoded(self) -> MutableMapping[object, bytes]:
        """A cache of encoded objects in this version, if they differ from the stored ones.

        The keys are weak references to the stored objects.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePaths:
    """The fields that the ``scale`` subresource of a kind reads and writes.

    Paths are dotted, with a leading dot (``.spec.replicas``).

    Attributes:
        spec_replicas: The path of the desired number of replicas.
        status_replicas: The path of the current number of replicas.
        label_selector: The path of a serialized selector (custom resources) or of a ``metav1.LabelSelector`` object
            (built-in workloads); ``""`` if the kind has none.
    """

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    label_selector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One served resource in one version.

    Attributes:
        gvr: Its group, version and resource.
        kind: Its kind, e.g. ``Deployment``.
        list_kind: The kind of its lists; ``kind + "List"`` unless given.
        singular: Lower-case singular name; ``kind.lower()`` unless given.
        namespaced: Whether its objects are namespaced.
        short_names: Aliases such as ``deploy``.
        categories: Groups such as ``all``.
        verbs: Its verbs, sorted.
        subresources: The names of its subresources, sorted; :meth:`subresource` describes each.
        storage_group: The key of the storage, which all versions of the resource share: an object written in one
            version can be read in the others. ``RESOURCE.GROUP`` unless given.
        stored_as: The group, version and kind in which objects are stored, for the ``storageVersionHash`` in discovery;
            ``None`` if they are those of ``gvr`` and ``kind``.
        listed: Whether discovery lists it. The kind of a CRD is served as soon as the CRD's names are accepted, but
            listed only once the CRD is Established, shortly after.
        selectable_fields: Dotted paths that field selectors may use besides ``metadata.name`` and
            ``metadata.namespace``, without a leading dot (``"spec.nodeName"``).
        generation: Whether the server maintains ``metadata.generation`` (ConfigMaps, for example, have none).
        scale: The paths behind the ``scale`` subresource, if it has one.
        crd_uid: UID of the CRD that defines the kind; ``None`` for built-in kinds.
        terminating: Whether the CRD is being deleted (objects can no longer be created).
        schema_source: The value of :attr:`schema`, or a function that returns it.
        content: The conversion from and to the storage version; ``None`` if objects are equal in all versions.
        printer_columns: ``additionalPrinterColumns`` of the version, unchanged from the CRD.
        warning: The text of a ``Warning`` header for each response (deprecated versions); ``""`` for none.
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
        """The schema of its objects in the dialect of ``openAPIV3Schema``, or ``None``.

        For custom resources it is the schema of this version, unchanged from the CRD. For built-in kinds it is the same
        mapping on each access (see :meth:`~dynkube_testing._kinds.schemas.BuiltinSchemas.resolved`).
        """
        source = self.schema_source
        return source() if callable(source) else source

    def subresource(self, name: str) -> Subresource | None:
        """Return the subresource ``name``; ``None`` if the kind does not have it."""
        return subresource_of(self.gvk, name) if name in self.subresources else None

    @property
    def gvk(self) -> GVK:
        """Group, version and kind of its objects."""
        return GVK(self.gvr.group, self.gvr.version, self.kind)

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` of its objects."""
        return self.gvr.api_version

    @property
    def group_resource(self) -> str:
        """The resource as written in error messages: ``deployments.apps``, ``pods``."""
        return f"{self.gvr.resource}.{self.gvr.group}" if self.gvr.group else self.gvr.resource

    @property
    def group_kind(self) -> str:
        """The kind as written in validation errors: ``Deployment.apps``, ``Pod``."""
        return f"{self.kind}.{self.gvr.group}" if self.gvr.group else self.kind


class Registry:
    """The kinds served now, by GVR. It changes at runtime, when CRDs change."""

    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self._kinds: dict[GVR, Kind] = {}
        self._by_storage: dict[str, tuple[Kind, ...]] = {}
        self._by_kind: dict[tuple[str, str], Kind] = {}
        self._unavailable: frozenset[GroupVersion] = frozenset()
        self._revision = 0
        self.add(*kinds)

    def add(self, *kinds: Kind) -> None:
        """Start serving ``kinds``; each replaces a kind with the same GVR."""
        for kind in kinds:
            self._kinds[kind.gvr] = kind
        self._changed()

    def remove(self, *gvrs: GVR) -> None:
        """Stop serving ``gvrs``; those that are not served are ignored."""
        for gvr in gvrs:
            self._kinds.pop(gvr, None)
        self._changed()

    def set_available(self, group_version: GroupVersion, available: bool) -> None:
        """Set whether the (simulated) server of an aggregated group-version is available."""
        one = frozenset({group_version})
        after = self._unavailable - one if available else self._unavailable | one
        if after != self._unavailable:
            self._unavailable = after
            self._changed()

    @property
    def unavailable(self) -> frozenset[GroupVersion]:
        """Aggregated group-versions whose (simulated) server is down.

        Requests to them fail with 503, and discovery marks them as stale. The registry may have no kinds for them.
        """
        return self._unavailable

    def _changed(self) -> None:
        self._revision += 1
        self._by_storage, self._by_kind = {}, {}

    @property
    def revision(self) -> int:
        """A number that grows with every change, so that caches can detect changes."""
        return self._revision

    def get(self, gvr: GVR) -> Kind | None:
        """Return the kind served as ``gvr``, listed or not; ``None`` if it is not served."""
        return self._kinds.get(gvr)

    def of_group(self, group: str) -> tuple[Kind, ...]:
        """Return the kinds of one API group, in the order they were added."""
        return tuple(kind for kind in self._kinds.values() if kind.gvr.group == group)

    def of_storage(self, storage_group: str) -> tuple[Kind, ...]:
        """Return all served versions of one resource."""
        if not self._by_storage:
            found: dict[str, tuple[Kind, ...]] = {}
            for kind in tuple(self._kinds.values()):
                found[kind.storage_group] = (*found.get(kind.storage_group, ()), kind)
            self._by_storage = found  # assigned only when complete, because large writes read it from another thread
        return self._by_storage.get(storage_group, ())

    def stored(self, storage_group: str) -> Kind | None:
        """Return one of the served versions of a resource; ``None`` if it is not served."""
        return next(iter(self.of_storage(storage_group)), None)

    def find(self, api_version: str, kind: str) -> Kind | None:
        """Return the kind by ``apiVersion`` and ``kind``; ``None`` if it is not served."""
        if not self._by_kind:
            found: dict[tuple[str, str], Kind] = {}
            for candidate in tuple(self._kinds.values()):
                found.setdefault((candidate.api_version, candidate.kind), candidate)
            self._by_kind = found
        return self._by_kind.get((api_version, kind))

    def named(self, resource: str | GVR) -> list[Kind]:
        """Return the kinds of a resource, in all of its versions; the version of a GVR is ignored.

        Raises:
            NoMatch: The resource is not served.
            InvalidInput: ``resource`` is malformed.
        """
        if isinstance(resource, GVR):
            arg = ResourceArg(resource.resource, None, resource.group)
        else:
            arg = ResourceArg.parse(resource)
        kinds = [kind for kind in self if kind.gvr.resource == arg.name and arg.group in {None, kind.gvr.group}]
        if not kinds:
            raise NoMatch(f"the embedded server does not serve {str(resource)!r} now")
        return kinds

    def __iter__(self) -> Iterator[Kind]:
        return iter(tuple(self._kinds.values()))

    def __len__(self) -> int:
        return len(self._kinds)
