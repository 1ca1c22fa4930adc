"""Conversion of custom resources between the storage version and the others.

As in the real server an object is decoded by the storage version's schema, which prunes it and sets its defaults,
and then converted (strategy ``None``), which prunes it by the schema of the requested version. So a default added to
a CRD shows on objects stored before, and one added to a version other than the storage version does not.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from weakref import WeakKeyDictionary

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._schemas.correlation import same_json
from dynkube.testing._schemas.defaulting import defaulted
from dynkube.testing._schemas.pruning import pruned
from dynkube.testing._schemas.structural import Node, Structural


class VersionContent:
    """Objects in one version; a :class:`~dynkube.testing._kinds.kinds.Content`.

    Args:
        own: The schema of the version.
        kept: The schema of the storage version; the same object if that is this version.
        versions: The schemas of all versions, served or not, by name.
    """

    __slots__ = ("_encoded", "_kept", "_same", "own", "versions")

    def __init__(self, own: Structural, kept: Structural, versions: Mapping[str, Structural]) -> None:
        self.own = own
        self.versions = versions
        self._kept = kept
        self._same: WeakKeyDictionary[object, bool] = WeakKeyDictionary()
        self._encoded: WeakKeyDictionary[object, bytes] = WeakKeyDictionary()

    @property
    def shape(self) -> Structural:
        """The schema of the storage version."""
        return self._kept

    @property
    def encoded(self) -> MutableMapping[object, bytes]:
        """Encoded objects that differ in this version, by the stored object."""
        return self._encoded

    def to_keep(self, obj: JSONObject) -> JSONObject:
        """Return ``obj``, pruned and defaulted by this version, in the storage version."""
        return obj if self.own is self._kept else _decoded(obj, self._kept)

    def shows_as_kept(self, shape: object) -> bool:
        """Return whether objects stored under ``shape`` are unchanged in this version."""
        if shape is self.own:
            return True
        if not isinstance(shape, Structural):
            return False
        if shape not in self._same:
            own_too = self.own is self._kept or admits_all(self.own.root, self._kept.root, defaults=False)
            self._same[shape] = own_too and admits_all(self._kept.root, shape.root)
        return self._same[shape]

    def kept_as(self, shape: object, kept: JSONObject, obj: JSONObject) -> bool:
        """Return whether ``obj`` would be stored as ``kept``, stored under ``shape``.

        ``False`` if the storage version has changed since, or if reading ``kept`` shows a new default or drops a field.
        """
        if isinstance(shape, Structural) and shape.version != self._kept.version:
            return False
        return same_json(self.to_keep(obj), kept)

    def shown(self, obj: JSONObject) -> JSONObject:
        """Return ``obj``, a stored object, in this version."""
        obj = _decoded(obj, self._kept)
        return obj if self.own is self._kept else pruned(obj, self.own.root)[0]


def _decoded(obj: JSONObject, schema: Structural) -> JSONObject:
    result: JSONObject = defaulted(pruned(obj, schema.root)[0], schema.root)
    return result


def admits_all(new: Node, old: Node, *, defaults: bool = True) -> bool:
    """Return whether ``new`` leaves objects pruned and defaulted by ``old`` as is.

    ``False`` may be wrong for schemas that differ in less common ways.
    """
    if new is old or new.source == old.source:
        return True
    if new.preserves < old.preserves or new.embedded != old.embedded:
        return False
    named = all(_field_admits(new, name, child, defaults) for name, child in old.properties.items())
    # Fields that the old schema does not name exist only if it preserved unknown fields.
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
    """``same`` is whether two absent schemas are a match."""
    if new is None or old is None:
        return same and new is old
    return new.nullable >= old.nullable and admits_all(new, old, defaults=defaults)
