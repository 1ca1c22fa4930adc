"""Conversion of custom resources between the storage version and other versions.

As in the real server, a stored object is first pruned and defaulted by the schema of the storage version, and then
converted, by a webhook or not at all, and pruned by the schema of the requested version. Therefore a default that is
added to the storage version later also applies to objects stored before; a default added to another version does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import TypeAlias
from weakref import WeakKeyDictionary

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._schemas.correlation import same_json
from dynkube_testing._schemas.defaulting import defaulted
from dynkube_testing._schemas.pruning import pruned
from dynkube_testing._schemas.structural import Node, Structural

#: From an object, its version, and another version, to the object in that version.
Convert: TypeAlias = Callable[[JSONObject, str, str], JSONObject]


class VersionContent:
    """The :class:`~dynkube_testing._kinds.kinds.Content` of one version of a CRD.

    Args:
        own: The schema of this version.
        kept: The schema of the storage version; the same object as ``own`` if this version is the storage version.
        versions: The schemas of all versions, served or not, by name.
        convert: The webhook that converts objects; ``None`` if they are the same in all versions.
        filled: Whether all stored objects are known in this version, so that a real server's watch cache is filled.
    """

    __slots__ = ("_convert", "_encoded", "_kept", "_same", "filled", "own", "versions")

    def __init__(
        self,
        own: Structural,
        kept: Structural,
        versions: Mapping[str, Structural],
        convert: Convert | None = None,
        *,
        filled: bool = True,
    ) -> None:
        self.own = own
        self.versions = versions
        self.filled = filled
        self._convert = convert
        self._kept = kept
        self._same: WeakKeyDictionary[object, bool] = WeakKeyDictionary()
        self._encoded: WeakKeyDictionary[object, bytes] = WeakKeyDictionary()

    @property
    def shape(self) -> Structural:
        """The schema of the storage version."""
        return self._kept

    @property
    def encoded(self) -> MutableMapping[object, bytes]:
        """A cache of encoded objects in this version, by the stored object.

        It has no entries for objects that are the same in this version and in storage.
        """
        return self._encoded

    @property
    def remote(self) -> bool:
        """Whether a webhook converts objects."""
        return self._convert is not None

    def to_keep(self, obj: JSONObject) -> JSONObject:
        """Convert ``obj``, pruned and defaulted in this version, to the storage version.

        Raises:
            AnswersNeeded: The webhook must be called.
            APIError: The webhook has failed.
        """
        return obj if self.own is self._kept else _decoded(self.translated(obj, self._kept.version), self._kept)

    def translated(self, obj: JSONObject, version: str, source: str = "") -> JSONObject:
        """Convert ``obj`` to another version, without pruning it.

        ``source`` is its version; that of this content by default. It raises errors like :meth:`to_keep`.
        """
        source = source or self.own.version
        return obj if self._convert is None or source == version else self._convert(obj, source, version)

    def shows_as_kept(self, shape: object) -> bool:
        """Return whether objects saved with ``shape`` are the same in this version.

        ``False`` may be wrong, see :func:`admits_all`.
        """
        if shape is self.own:
            return True
        if not isinstance(shape, Structural):
            return False
        if shape not in self._same and self.remote:
            self._same[shape] = shape.version == self.own.version and admits_all(self.own.root, shape.root)
        elif shape not in self._same:
            own_too = self.own is self._kept or admits_all(self.own.root, self._kept.root, defaults=False)
            self._same[shape] = own_too and admits_all(self._kept.root, shape.root)
        return self._same[shape]

    def lost_version(self, shape: object) -> str:
        """Return the version in which objects were saved with ``shape``; ``""`` if the CRD still has it."""
        gone = isinstance(shape, Structural) and shape is not self._kept and shape.version not in self.versions
        return shape.version if isinstance(shape, Structural) and gone else ""

    def kept_as(self, shape: object, kept: JSONObject, obj: JSONObject) -> bool:
        """Return whether writing ``obj`` would change nothing in storage.

        ``False`` if the storage version has changed since ``kept`` was stored under ``shape``, or if the schema has
        since added a default to ``kept`` or removed a field from it.
        """
        if isinstance(shape, Structural) and shape.version != self._kept.version:
            return False
        kept_now = {name: value for name, value in self.to_keep(obj).items() if name not in {"apiVersion", "kind"}}
        return same_json(kept_now, kept)

    def shown(self, obj: JSONObject, shape: object = None) -> JSONObject:
        """Convert ``obj``, saved with ``shape``, to this version.

        By default it is in the storage version. It raises errors like :meth:`to_keep`.
        """
        stored = self._kept
        if self.remote and isinstance(shape, Structural):
            stored = self.versions.get(shape.version, stored)
        obj = _decoded(obj, stored)
        if self.own is stored:
            return obj
        return pruned(self.translated(obj, self.own.version, stored.version), self.own.root)[0]

    def as_stored(self, shape: object) -> StoredContent:
        """Return the content of objects saved with ``shape`` that leaves them in their version."""
        version = shape.version if isinstance(shape, Structural) else self._kept.version
        schema = self.versions.get(version, self._kept)
        return StoredContent(schema, schema, self.versions)


class StoredContent(VersionContent):
    """The content of objects that the server itself writes: they stay in the version in which they are stored."""

    __slots__ = ()


def _decoded(obj: JSONObject, schema: Structural) -> JSONObject:
    result: JSONObject = defaulted(pruned(obj, schema.root)[0], schema.root)
    return result


def admits_all(new: Node, old: Node, *, defaults: bool = True) -> bool:
    """Return whether ``new`` leaves objects pruned and defaulted by ``old`` unchanged.

    ``True`` is always right; ``False`` may be wrong for schemas that differ in less common ways. Without ``defaults``,
    ``new`` only prunes.
    """
    if new is old or new.source == old.source:
        return True
    if new.preserves < old.preserves or new.embedded != old.embedded:
        return False
    named = all(_field_admits(new, name, child, defaults) for name, child in old.properties.items())
    # An object has fields that the old schema does not name only if the old schema preserves unknown fields.
    unnamed = not (old.preserves or old.allows_additional)
    added = (child for name, child in new.properties.items() if name not in old.properties)
    added_fine = all(unnamed and not (defaults and child.has_default) for child in added)
    if not (named and added_fine):
        return False
    if old.allows_additional and not _child_admits(new.additional, old.additional, defaults, new.allows_additional):
        return False
    return _child_admits(new.items, old.items, defaults, same=True)


def _field_admits(new: Node, name: str, old: Node, defaults: bool) -> bool:
    child = new.field(name)
    if child is None:
        return new.preserves
    return _child_admits(child, old, defaults) and (old.has_default or not (defaults and child.has_default))


def _child_admits(new: Node | None, old: Node | None, defaults: bool, same: bool = False) -> bool:
    """Return whether ``new`` leaves a value of ``old`` unchanged.

    ``same`` is the result if both schemas are absent.
    """
    if new is None or old is None:
        return same and new is old
    return new.nullable >= old.nullable and admits_all(new, old, defaults=defaults)
