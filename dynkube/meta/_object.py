"""``Unstructured``: a Kubernetes object of any type, stored as JSON bytes.

A small header (names, labels, resourceVersion, ...) is decoded on arrival, as caches and selectors need only that. The
body is decoded on first access, into immutable dicts and lists. Decoding the header of a 5 KB pod takes a third of the
time and a fraction of the memory of decoding the whole pod, and creates no work for Python's garbage collector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import msgspec

from dynkube._displayable import Displayable
from dynkube._text.tables import printable
from dynkube.errors import InvalidObject
from dynkube.meta._arguments import a_type
from dynkube.meta._common import Common
from dynkube.meta._encode import json_of
from dynkube.meta._frozen import READ_ONLY, FrozenDict, freeze_fresh, refuse
from dynkube.meta._gvr import GVK, GroupVersion
from dynkube.meta._header import EMPTY_META, NO_LABELS, Labels, MetaHeader, read_header, read_labels, unpacked
from dynkube.meta._json import UNREADABLE, complaint
from dynkube.meta._models import ModelLike, PydanticModel, decode_model, encode_model
from dynkube.meta._object_type import ObjectType, new_instance

if TYPE_CHECKING:
    from dynkube.meta._jsonpath.compiled import JSONPath

T = TypeVar("T")

Key = tuple[str, str]
"""``(namespace, name)``; the namespace of a cluster-scoped object is ``""``."""

_body_decoder: Final = msgspec.json.Decoder(dict)
_NOTHING: Final = Common(None, None)


class Unstructured(Displayable, Mapping[str, Any], msgspec.Struct, metaclass=ObjectType, gc=False, eq=False):
    """An immutable Kubernetes object of any type.

    Reads like the nested dict that ``kubectl get -o json`` shows: ``obj["spec"]["replicas"]``. Values are typed ``Any``
    because only the server knows their schema. To change one, use a mutable copy (:meth:`to_dict`) or create a new
    object (:meth:`evolve`, :meth:`transform`). Thread-safe: if two threads decode the body concurrently, each gets a
    complete body, and one of these is kept. It cannot be weakly referenced, and is not tracked by the garbage
    collector.

    Args:
        source: JSON as ``bytes`` or ``str``, or a mapping or a model (a msgspec Struct, or a pydantic model), which is
            encoded once. Fields of a model that are not set are left out, see :meth:`typed`.

    Raises:
        InvalidObject: ``source`` is not a JSON object, or a header field has the wrong type. An object *without*
            apiVersion, kind or name is accepted, as templates and patches lack these fields; client methods that
            require these fields check them.
    """

    # The fields of the Struct. Only a body that no BodyCache keeps is stored in the object.
    _raw: bytes = b""  # JSON, compressed if _common has a codec
    _common: Common = _NOTHING
    _meta: MetaHeader = msgspec.field(default_factory=MetaHeader)
    _labels: Labels = NO_LABELS
    _body: FrozenDict | None = None

    def __init__(self, source: bytes | str | Mapping[str, object] | ModelLike) -> None:
        raw = _to_bytes(source)
        try:
            header = read_header(raw)
            meta = header.metadata or EMPTY_META
            labels = read_labels(bytes(meta.labels), raw) if meta.labels else NO_LABELS
        except UNREADABLE as exc:
            raise InvalidObject(f"not a Kubernetes object: {complaint(exc)}") from exc
        self._raw = raw
        reduced = isinstance(source, Unstructured) and source.metadata_only
        self._common = Common(header.api_version, header.kind, metadata_only=reduced)
        self._meta = meta
        self._labels = labels

    @classmethod
    def from_wire(cls, raw: bytes, common: Common, meta: MetaHeader, labels: Labels) -> Unstructured:
        """Create an object from a header that a decoder has already parsed.

        Nothing is copied.
        """
        return new_instance(cls, raw, common, meta, labels)  # type: ignore[no-any-return]  # see ObjectType

    # ── header: no decoding ──────────────────────────────────────────────────────────────────

    @property
    def api_version(self) -> str:
        """``apiVersion``, e.g. ``"apps/v1"``; ``""`` if absent."""
        return self._common.api_version

    @property
    def kind(self) -> str:
        """``kind``, e.g. ``"Deployment"``; ``""`` if absent."""
        return self._common.kind

    @property
    def gvk(self) -> GVK:
        """Group, version and kind.

        Raises:
            InvalidInput: apiVersion or kind is absent or malformed.
        """
        return GVK.parse(self.api_version, self.kind)

    @property
    def group_version(self) -> GroupVersion:
        """Group and version.

        Raises:
            InvalidInput: apiVersion is absent or malformed.
        """
        return GroupVersion.parse(self.api_version)

    @property
    def name(self) -> str:
        """``metadata.name``; ``""`` if absent."""
        return self._meta.name or ""

    @property
    def namespace(self) -> str:
        """``metadata.namespace``; ``""`` for cluster-scoped objects."""
        return self._meta.namespace or ""

    @property
    def key(self) -> Key:
        """``(namespace, name)``, which identifies the object within its resource.

        After the object was deleted, another object may have the same key.
        """
        meta = self._meta
        return meta.namespace or "", meta.name or ""

    @property
    def uid(self) -> str:
        """``metadata.uid``; ``""`` if absent.

        An object that is created later with the same name has another uid.
        """
        return self._meta.uid or ""

    @property
    def resource_version(self) -> str:
        """``metadata.resourceVersion``; ``""`` if absent."""
        return self._meta.resource_version or ""

    @property
    def generation(self) -> int:
        """``metadata.generation``; 0 if absent."""
        return self._meta.generation or 0

    @property
    def labels(self) -> Mapping[str, str]:
        """``metadata.labels`` as an immutable mapping."""
        labels = self._labels
        return unpacked(labels) if isinstance(labels, tuple) else labels

    @property
    def metadata_only(self) -> bool:
        """Whether this object was reduced to apiVersion, kind and metadata, by an informer with ``metadata_only=True``.

        Client methods that write objects reject it, as it would replace the whole one. A copy made by :meth:`to_dict`
        does not have this mark.
        """
        return self._common.metadata_only

    @property
    def deletion_timestamp(self) -> str | None:
        """``metadata.deletionTimestamp`` as a string, or ``None``.

        Set while finalizers block the deletion.
        """
        return self._meta.deletion_timestamp

    if not TYPE_CHECKING:  # a type checker reports these errors itself
        __setitem__ = __delitem__ = refuse

        def __getattr__(self, name: str) -> NoReturn:
            hint = f": {READ_ONLY}" if hasattr(dict, name) else f": access fields by key, obj[{name!r}]"
            message = f"{type(self).__name__!r} object has no attribute {name!r}{'' if name.startswith('_') else hint}"
            raise AttributeError(message, name=name, obj=self)

    # ── body: decoded on first use ───────────────────────────────────────────────────────────

    def _decode(self) -> FrozenDict:
        bodies = self._common.bodies
        body = self._body if bodies is None else bodies.get(self._raw)
        if body is not None:
            return body
        try:
            decoded: FrozenDict = freeze_fresh(self.to_dict())
        except RecursionError as exc:
            raise InvalidObject(f"the body of {self!r} is nested too deeply") from exc
        if bodies is None:
            self._body = decoded
        else:
            bodies.keep(self._raw, decoded)
        return decoded

    def __getitem__(self, key: str) -> Any:
        try:
            return self._decode()[key]
        except KeyError:
            if self.metadata_only:
                raise KeyError(f"{key}: {self!r} comes from an informer with metadata_only=True") from None
            raise

    def __iter__(self) -> Iterator[str]:
        return iter(self._decode())

    def __len__(self) -> int:
        return len(self._decode())

    def __contains__(self, key: object) -> bool:
        return key in self._decode()

    @property
    def annotations(self) -> Mapping[str, str]:
        """``metadata.annotations`` as an immutable mapping. Decodes the body."""
        metadata = self._decode().get("metadata")
        return (metadata.get("annotations") if isinstance(metadata, dict) else None) or NO_LABELS

    # ── the whole object ─────────────────────────────────────────────────────────────────────

    @property
    def json(self) -> bytes:
        """The object as JSON, byte for byte as received."""
        codec = self._common.codec
        return self._raw if codec is None else codec.decompress(self._raw)

    def to_dict(self) -> dict[str, Any]:
        """Return a private, mutable copy, for changing and sending back.

        Raises:
            InvalidObject: the body is not UTF-8. (The body of an object from a server is not validated on arrival.)
                Every other access to the body raises this error, too.
        """
        try:
            document: dict[str, Any] = _body_decoder.decode(self.json)
        except UNREADABLE as exc:
            raise InvalidObject(f"the body of {self!r} cannot be decoded: {exc}") from exc
        return document

    def typed(self, model: type[T]) -> T:
        """Return the object as a model of yours, decoded from its JSON by msgspec or pydantic.

        ::

            class Deployment(msgspec.Struct):
                spec: DeploymentSpec
                kind: str = "Deployment"
                apiVersion: str = "apps/v1"

            (await client["deploy"].get("web")).typed(Deployment).spec.replicas

        Fields that the model does not have are ignored, unless the model forbids them. Each call decodes the object
        anew. Models are also accepted wherever an object is written, without the fields that are not set; an update
        removes the fields that the model does not have, an apply does not.

        Args:
            model: a msgspec Struct, or a pydantic model.

        Raises:
            InvalidInput: ``model`` is neither.
            InvalidObject: the object does not fit the model; the message names the object and the field.
        """
        called = f"{self!r} (from an informer with metadata_only=True)" if self.metadata_only else repr(self)
        return decode_model(self.json, model, called)

    def to_yaml(self, *, managed_fields: bool = False) -> str:
        """Return the object as YAML, as ``kubectl get -o yaml`` prints it.

        One document, with kubectl's key order.

        Args:
            managed_fields: include ``metadata.managedFields``, like kubectl's ``--show-managed-fields``.

        Raises:
            InvalidObject: the body cannot be read.
        """
        from dynkube.meta._kubectl_yaml import kubectl_yaml, printed  # few programs need PyYAML

        return kubectl_yaml(printed(self.to_dict(), managed_fields=managed_fields))

    def jsonpath(self, path: str | JSONPath) -> list[Any]:
        """Return the values that a kubectl JSONPath selects.

        Example: ``obj.jsonpath("{.spec.containers[*].image}")``.

        Args:
            path: an expression in kubectl's dialect, braces optional; or a compiled path.

        Returns:
            Every match, in document order; an empty list if nothing matches.

        Raises:
            InvalidJSONPath: the path does not parse; the message shows the position.
        """
        from dynkube.meta._jsonpath.compiled import JSONPath  # few programs need the parser

        compiled = path if isinstance(path, JSONPath) else JSONPath.compile(path)
        return compiled.find(self._decode())

    def evolve(self, **changes: object) -> Unstructured:
        """Return a new object with whole top-level fields replaced.

        Example: ``obj.evolve(spec={...})``.

        Raises:
            InvalidObject: a part of the new values is not JSON.
        """
        return self._changed({**self._decode(), **changes})

    def transform(self, *transformations: object) -> Unstructured:
        """Return a new object with individual fields changed.

        Only containers on the paths are copied. Takes pairs of path and value, as pyrsistent's ``transform`` does::

            obj.transform(["spec", "replicas"], 3,
                          ["metadata", "labels", "old"], REMOVE,
                          ["spec", "containers", 0, "image"], lambda image: image + ":v2")

        A path is a sequence of keys and list indexes. A value may be a function of the current value (``None`` if
        absent) or :data:`~dynkube.REMOVE`. Missing objects on the path are created.

        Raises:
            InvalidInput: an odd number of arguments, or a path that does not fit the object.
            InvalidObject: a new value is not JSON.
        """
        from dynkube.meta._edit import apply_transformations

        return self._changed(apply_transformations(self._decode(), transformations))

    def _changed(self, document: object) -> Unstructured:
        changed = Unstructured(json_of(document, "the object"))
        return _reduced(changed) if self.metadata_only else changed

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Unstructured):
            same_bytes = self._raw == other._raw and self._common.codec is other._common.codec
            return same_bytes or self._decode() == other._decode()
        if isinstance(other, Mapping):
            return self._decode() == other
        return NotImplemented

    def __ne__(self, other: object) -> bool:  # that of Struct, which Python would use, ignores __eq__
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return hash((self.kind, self.key, self.uid, self.resource_version))

    def __reduce__(self) -> tuple[Callable[[bytes], Unstructured], tuple[bytes]]:
        return _reduced_from if self.metadata_only else Unstructured, (self.json,)

    def __copy__(self) -> Unstructured:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Unstructured:
        return self

    def __repr__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        version = f" rv={self.resource_version}" if self.resource_version else ""
        only = ", metadata only" if self.metadata_only else ""
        return printable(f"<{self.kind or 'object'} {self.api_version or '?'} {where or '(unnamed)'}{version}{only}>")

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


def _reduced(obj: Unstructured) -> Unstructured:
    """Return ``obj`` as an object of which only the metadata is known."""
    return Unstructured.from_wire(
        obj._raw, Common(obj.api_version, obj.kind, metadata_only=True), obj._meta, obj._labels
    )


def _reduced_from(raw: bytes) -> Unstructured:
    """Restore a pickled object of which only the metadata is known."""
    return _reduced(Unstructured(raw))


def _to_bytes(source: bytes | str | Mapping[str, object] | ModelLike) -> bytes:
    if isinstance(source, bytes):
        return source
    if isinstance(source, str):
        return source.encode()
    if isinstance(source, Unstructured):
        return source.json
    if isinstance(source, Mapping):
        return json_of(dict(source), "the object")
    given: object = source  # callers are not always type-checked, and a class has the methods of a model, too
    if not isinstance(given, type) and isinstance(given, msgspec.Struct | PydanticModel):
        return encode_model(given)
    raise InvalidObject(f"an object must be JSON (bytes or str), a mapping or a model, not {a_type(source)}")
