"""Transforms: functions applied to objects before they are cached."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from dynkube._guard import attempt_with
from dynkube.errors import InvalidInput
from dynkube.meta import Unstructured
from dynkube.meta._arguments import a_type
from dynkube.meta._common import BodyCache
from dynkube.meta._compact import Compactor
from dynkube.meta._wire.metadata_only import MetadataReader
from dynkube.meta._wire.objects import ObjectDecoder, cut_managed_fields

Transform: TypeAlias = Callable[[Unstructured], Unstructured]
"""Returns the object to cache. Not async; must keep name, namespace, uid and resourceVersion."""
TransformFailed: TypeAlias = Callable[[Unstructured, Exception], None]


def drop_managed_fields(obj: Unstructured) -> Unstructured:
    """Remove ``metadata.managedFields``, often a third of an object.

    This is the default transform. Informers that use it do not call this function: their decoder removes the bytes,
    which is faster.
    """
    return Unstructured(cut_managed_fields(obj.json))


def decoder_for(
    transform: Transform | None,
    bodies: BodyCache,
    failed: TransformFailed,
    *,
    compactor: Compactor | None = None,
    metadata: MetadataReader | None = None,
) -> ObjectDecoder:
    """Return a decoder that applies ``transform`` to each object.

    Args:
        transform: the user's function; ``None`` for none.
        bodies: shared by the objects of the cache.
        failed: called if ``transform`` raises.
        compactor: compresses the objects; ``None`` to store them as they are.
        metadata: reduces the objects to their metadata, before ``transform``; ``None`` for whole objects.
    """
    receiving = partial(
        ObjectDecoder,
        bodies=bodies,
        metadata_only=metadata is not None,
        reduce=None if metadata is None else metadata.reduced,
    )
    if transform is None or transform is drop_managed_fields:
        return receiving(drop_managed_fields=transform is drop_managed_fields, compactor=compactor)
    return _TransformingDecoder(receiving(), transform, bodies, failed, compactor)


class _TransformingDecoder(ObjectDecoder):
    """Applies a user's function. If it raises, the object is kept as received."""

    __slots__ = ("_failed", "_received", "_transform")

    def __init__(
        self,
        received: ObjectDecoder,
        transform: Transform,
        bodies: BodyCache,
        failed: TransformFailed,
        compactor: Compactor | None,
    ) -> None:
        super().__init__(bodies=bodies, compactor=compactor, metadata_only=received.metadata_only)
        self._received = received
        self._transform = transform
        self._failed = failed

    def decode(self, raw: bytes) -> Unstructured:
        """Decode and transform one object."""
        obj = self._received.decode(raw)
        result = attempt_with(self._transformed, obj, obj, partial(self._failed, obj))
        # Decoded again, so that the cached object shares strings and bodies like any other.
        return super().decode(result.json)

    def _transformed(self, obj: Unstructured) -> Unstructured:
        return _checked(self._transform(obj), obj)


def _checked(result: object, obj: Unstructured) -> Unstructured:
    if not isinstance(result, Unstructured):
        raise InvalidInput(f"the transform returned {a_type(result)}, not an Unstructured")
    if (result.key, result.uid, result.resource_version) != (obj.key, obj.uid, obj.resource_version):
        raise InvalidInput("the transform changed name, namespace, uid or resourceVersion")
    return result
