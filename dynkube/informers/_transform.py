"""Transforms: what is kept of an object before it is stored."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from dynkube._guard import attempt_with
from dynkube.errors import InvalidInput
from dynkube.meta import BodyCache, ObjectDecoder, Unstructured, a_type, cut_managed_fields

Transform: TypeAlias = Callable[[Unstructured], Unstructured]
"""From an object as it came to what is kept of it; name, namespace, uid and resourceVersion stay. Plain."""
TransformFailed: TypeAlias = Callable[[Unstructured, Exception], None]


def drop_managed_fields(obj: Unstructured) -> Unstructured:
    """The default transform: objects without ``metadata.managedFields``, often a third of their size.

    Informers that use it cut the bytes while decoding, which costs less than calling it.
    """
    return Unstructured(cut_managed_fields(obj.json))


def decoder_for(transform: Transform | None, bodies: BodyCache, failed: TransformFailed) -> ObjectDecoder:
    """The decoder that applies ``transform`` to each object on arrival."""
    if transform is None:
        return ObjectDecoder(bodies=bodies)
    if transform is drop_managed_fields:
        return ObjectDecoder(drop_managed_fields=True, bodies=bodies)
    return _TransformingDecoder(transform, bodies, failed)


class _TransformingDecoder(ObjectDecoder):
    """Applies a user's function. If it fails the object is kept as it came: losing it would be worse."""

    __slots__ = ("_failed", "_transform")

    def __init__(self, transform: Transform, bodies: BodyCache, failed: TransformFailed) -> None:
        super().__init__(bodies=bodies)
        self._transform = transform
        self._failed = failed

    def decode(self, raw: bytes) -> Unstructured:
        """One object, transformed."""
        obj = super().decode(raw)
        return attempt_with(self._transformed, obj, obj, partial(self._failed, obj))

    def _transformed(self, obj: Unstructured) -> Unstructured:
        result = _checked(self._transform(obj), obj)
        # Decoded once more, so that the stored object shares strings and bodies like any other.
        return super().decode(result.json)


def _checked(result: object, obj: Unstructured) -> Unstructured:
    if not isinstance(result, Unstructured):
        raise InvalidInput(f"the transform returned {a_type(result)}, not an Unstructured")
    if (result.key, result.uid, result.resource_version) != (obj.key, obj.uid, obj.resource_version):
        raise InvalidInput("the transform changed name, namespace, uid or resourceVersion")
    return result
