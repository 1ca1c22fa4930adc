"""Comparison of two states of an object by field, as in structured-merge-diff."""

from __future__ import annotations

from dataclasses import dataclass

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._patching.contents import MISSING, Repeated, equal, form_fits, form_of, parts_of
from dynkube_testing._patching.elements import Path
from dynkube_testing._patching.fieldset import FieldSet, owned
from dynkube_testing._patching.shapes import Form, Shape


def changes(old: JSONObject, new: JSONObject, shape: Shape) -> tuple[FieldSet, FieldSet]:
    """Return the fields added or changed in ``new``, and those removed from ``old``.

    Fields without an owner are left out. Added and removed containers are included, besides their content. Only changed
    values are compared in detail, so the cost depends on the size of the changes.
    """
    found = _Changes(set(), set())
    found.compare(old, new, shape, (), given=True)
    return owned(found.written), owned(found.gone - found.written)


def differ(old: JSONObject, new: JSONObject, shape: Shape) -> bool:
    """Return whether any field differs, even one without an owner.

    apiVersion and kind are not compared.
    """
    found = _Changes(set(), set())
    found.compare(old, new, shape, (), given=True)
    return bool((found.written | found.gone) - {("f:apiVersion",), ("f:kind",)})


@dataclass(frozen=True, slots=True)
class _Changes:
    """The result of a comparison.

    Attributes:
        written: Fields that were added or changed.
        gone: Fields that were removed.
    """

    written: set[Path]
    gone: set[Path]

    def compare(self, old: object, new: object, shape: Shape, path: Path, *, given: bool) -> None:
        """Add the differences at ``path`` and below.

        ``given`` is whether an absent value counts as an empty one, since it is a struct in Go.
        """
        if isinstance(old, Repeated) or isinstance(new, Repeated):
            self._compare_repeated(old, new, shape, path)
            return
        if equal(old, new):
            return
        if given and (old, new) in ((MISSING, {}), (MISSING, []), ({}, MISSING), ([], MISSING)):
            return
        before, after = form_of(old, shape), form_of(new, shape)
        if new is MISSING:
            leaf = self._compare_as(before, old, new, shape, path, given)
        elif old is MISSING or before == after:
            leaf = self._compare_as(after, old, new, shape, path, given)
        else:
            # The type changed: the old content was removed, and the new content added.
            self._compare_as(before, old, new, shape, path, given)
            leaf = self._compare_as(after, old, new, shape, path, given)
        if leaf or given:
            return
        if old is MISSING:
            self.written.add(path)
        elif new is MISSING:
            self.gone.add(path)

    def _compare_repeated(self, old: object, new: object, shape: Shape, path: Path) -> None:
        """Compare items with a duplicate key as one value.

        At least one of ``old`` and ``new`` is :class:`Repeated`. The other may be a single item.
        """
        if isinstance(old, Repeated) and isinstance(new, Repeated):
            if not equal(old, new):
                self.written.add(path)
        elif isinstance(old, Repeated):
            if new is not MISSING:
                self.compare(MISSING, new, shape, path, given=False)
            self.gone.add(path)
        else:
            if old is not MISSING:
                self.compare(old, MISSING, shape, path, given=False)
            self.written.add(path)

    def _compare_as(self, form: Form, old: object, new: object, shape: Shape, path: Path, given: bool) -> bool:
        """Compare values as ``form``; return whether they were compared as one value."""
        before, after = (parts_of(value, shape) if form_fits(value, form) else None for value in (old, new))
        if form == "scalar" or not (before or after):
            (self.gone if new is MISSING else self.written).add(path)
            return True
        before, after, there = before or {}, after or {}, given or MISSING not in (old, new)
        for element in before.keys() | after.keys():
            was, now = before.get(element, MISSING), after.get(element, MISSING)
            if equal(was, now):  # a fast path, because most are equal: it does not need the shape
                continue
            inner = shape.field(element[2:]) if element.startswith("f:") else shape.item()
            self.compare(was, now, inner, (*path, element), given=there and inner.always)
        return False
