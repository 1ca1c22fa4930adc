"""Versions of custom resources: what is kept, in the shape of the storage version, and how it looks in the others.

As in the real server an object is decoded by the storage version's schema, which prunes it and gives its defaults,
and then converted (strategy ``None``), which prunes it by the schema of the version asked for. So a default added to
a definition shows on objects stored before, and one added to another version than that which stores does not.
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
    """How objects look in one version of a resource; a :class:`~dynkube.testing._kinds.kinds.Content`.

    Args:
        own: The schema of the version.
        kept: That of the version which stores; the same object where that is this one.
        versions: The schemas of all versions, served or not, by their names.
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
        """The schema of the version that stores."""
        return self._kept

    @property
    def encoded(self) -> MutableMapping[object, bytes]:
        """What was made of objects that look different here."""
        return self._encoded

    def to_keep(self, obj: JSONObject) -> JSONObject:
        """``obj``, pruned and defaulted by this version, as the one that stores has it."""
        return obj if self.own is self._kept else _decoded(obj, self._kept)

    def shows_as_kept(self, shape: object) -> bool:
        """Whether objects kept under ``shape`` look here as they are kept."""
        if shape is self.own:
            return True
        if not isinstance(shape, Structural):
            return False
        if shape not in self._same:
            own_too = self.own is self._kept or admits_all(self.own.root, self._kept.root, defaults=False)
            self._same[shape] = own_too and admits_all(self._kept.root, shape.root)
        return self._same[shape]

    def kept_as(self, shape: object, kept: JSONObject, obj: JSONObject) -> bool:
        """Whether ``obj`` would be kept as ``kept``, which was when :attr:`shape` was ``shape``.

        Not so once another version stores, or where a default or an unknown field has only been shown or hidden.
        """
        if isinstance(shape, Structural) and shape.version != self._kept.version:
            return False
        return same_json(self.to_keep(obj), kept)

    def shown(self, obj: JSONObject) -> JSONObject:
        """``obj``, as it is kept, as it looks here."""
        obj = _decoded(obj, self._kept)
        return obj if self.own is self._kept else pruned(obj, self.own.root)[0]


def _decoded(obj: JSONObject, schema: Structural) -> JSONObject:
    result: JSONObject = defaulted(pruned(obj, schema.root)[0], schema.root)
    return result


def admits_all(new: Node, old: Node, *, defaults: bool = True) -> bool:
    """Whether what was pruned and defaulted by ``old`` would be left alone by ``new``.

    ``False`` may be a false alarm, for schemas that differ in less common ways.
    """
    if new is old or new.source == old.source:
        return True
    if new.preserves < old.preserves or new.embedded != old.embedded:
        return False
    named = all(_field_admits(new, name, child, defaults) for name, child in old.properties.items())
    # What the old schema has no name for is there only where it kept the unknown.
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
    """``same`` says what it comes to where neither schema says anything."""
    if new is None or old is None:
        return same and new is old
    return new.nullable >= old.nullable and admits_all(new, old, defaults=defaults)
