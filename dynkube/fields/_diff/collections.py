"""``compare_all``: the differences between two collections of objects. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, overload

from dynkube._displayable import Displayable
from dynkube._text.tables import Table, printable
from dynkube._text.words import several
from dynkube.errors import InvalidInput
from dynkube.fields._diff.compare import compare
from dynkube.fields._diff.diff import Diff
from dynkube.fields._diff.ignored import ignored_paths
from dynkube.fields._path import PathLike
from dynkube.meta import Unstructured

_Identity: TypeAlias = "tuple[str, str, str, str]"  # group, kind, namespace, name

_OWN: Final = (".metadata.uid", ".metadata.creationTimestamp")  # differ between any two clusters
_FIELDS: Final = 4  # of a row


class Comparison(Displayable, Sequence[Diff]):
    """The differences between two collections: a sequence of diffs; false if there are none.

    It has one diff for each object that differs or is in one collection only, ordered by kind, namespace and name.
    ``print()`` of it shows a line for each; a notebook also shows the fields.

    Attributes:
        names: names of the two collections.
        same: the number of objects that do not differ.
    """

    def __init__(self, diffs: Iterable[Diff], names: tuple[str, str], same: int) -> None:
        self._diffs = tuple(diffs)
        self.names = names
        self.same = same

    @property
    def changed(self) -> tuple[Diff, ...]:
        """The diffs of objects that are in both collections."""
        return tuple(diff for diff in self._diffs if diff.before is not None and diff.after is not None)

    @property
    def removed(self) -> tuple[Diff, ...]:
        """The diffs of objects that are only in the first collection."""
        return tuple(diff for diff in self._diffs if diff.after is None)

    @property
    def added(self) -> tuple[Diff, ...]:
        """The diffs of objects that are only in the second collection."""
        return tuple(diff for diff in self._diffs if diff.before is None)

    @property
    def summary(self) -> str:
        """``2 differ, 40 do not, 3 only in staging, 1 only in production``."""
        counts = [f"{len(self.changed):,} differ", f"{self.same:,} do not"]
        for found, name in zip((self.removed, self.added), self.names, strict=True):
            counts += [f"{len(found):,} only in {name}"] if found else []
        return printable(", ".join(counts))

    @overload
    def __getitem__(self, index: int) -> Diff: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Diff, ...]: ...
    def __getitem__(self, index: int | slice) -> Diff | tuple[Diff, ...]:
        return self._diffs[index]

    def __len__(self) -> int:
        return len(self._diffs)

    def __iter__(self) -> Iterator[Diff]:
        return iter(self._diffs)

    def __str__(self) -> str:
        rows = tuple((diff.subject, self.about(diff)) for diff in self._diffs)
        return "\n".join([*([str(Table(("OBJECT", "DIFFERENCE"), rows))] if rows else []), self.summary])

    def about(self, diff: Diff) -> str:
        """Return ``only in staging``, or the paths of the first fields that differ, of one of the diffs."""
        if diff.before is None or diff.after is None:
            return f"only in {self.names[diff.before is None]}"
        return several([str(change.path) for change in diff.changes], _FIELDS)

    def __repr__(self) -> str:
        return f"<Comparison of {' and '.join(map(printable, self.names))}: {self.summary}>"


def compare_all(
    before: Iterable[Mapping[str, Any]],
    after: Iterable[Mapping[str, Any]],
    *,
    names: tuple[str, str] = ("before", "after"),
    ignore: Iterable[PathLike] = (),
    across_namespaces: bool = False,
) -> Comparison:
    """Return the differences between two collections, such as lists of two clusters, or of one at two times.

    ::

        clusters = ("staging", "production")
        one, other = (dynkube.sync.connect(context=name) for name in clusters)
        dynkube.compare_all(one.get("deploy"), other.get("deploy"), names=clusters, ignore=[".status"])

    Objects are matched by API group, kind, namespace and name, and compared as by :func:`compare`, without uid and
    creationTimestamp. Synchronous and CPU-bound: async code should compare large collections in a thread.

    Args:
        before: objects; a list, an informer, objects of several kinds.
        after: the other objects.
        names: names of the two collections.
        ignore: paths of fields to leave out; see :func:`compare`.
        across_namespaces: match objects without their namespaces, to compare those of two namespaces.

    Raises:
        InvalidInput: ``names`` is not a pair of strings, a path is malformed, or a collection has an item that is not
            an object with kind and name, or two objects that match each other.
        InvalidObject: an object cannot be parsed.
    """
    named: object = names  # callers are not always type-checked
    if not (isinstance(named, tuple) and len(named) == 2 and all(isinstance(each, str) for each in named)):
        raise InvalidInput(f"names is {named!r}: pass a pair of strings, like ('staging', 'production')")
    left_out = ignored_paths([*ignored_paths(ignore), *_OWN, *([".metadata.namespace"] if across_namespaces else [])])
    first = _by_identity(before, names[0], across_namespaces=across_namespaces)
    second = _by_identity(after, names[1], across_namespaces=across_namespaces)
    found = {
        identity: compare(first.get(identity), second.get(identity), names=names, ignore=left_out)
        for identity in sorted(first.keys() | second.keys(), key=lambda identity: (identity[1], *identity))
    }
    differing = [diff for diff in found.values() if diff or diff.before is None or diff.after is None]
    return Comparison(differing, names, len(found) - len(differing))


def _by_identity(
    objects: Iterable[Mapping[str, Any]], name: str, *, across_namespaces: bool
) -> dict[_Identity, Unstructured]:
    given: object = objects  # callers are not always type-checked
    if isinstance(given, Mapping | str | bytes) or not isinstance(given, Iterable):
        raise InvalidInput(f"{name} is a {type(given).__name__}: pass a list of objects")
    found: dict[_Identity, Unstructured] = {}
    for place, item in enumerate(objects):
        obj = _object(item, f"{name}[{place}]")
        identity = (obj.api_version.rpartition("/")[0], obj.kind, "" if across_namespaces else obj.namespace, obj.name)
        if identity in found:
            where = f" in namespaces {found[identity].namespace} and {obj.namespace}" if across_namespaces else ""
            raise InvalidInput(printable(f"{name} has two objects {obj.kind} {obj.name}{where}: select one of them"))
        found[identity] = obj
    return found


def _object(given: object, name: str) -> Unstructured:
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{name} is a {type(given).__name__}: pass objects")
    obj = given if isinstance(given, Unstructured) else Unstructured(given)
    if not (obj.kind and obj.name):
        raise InvalidInput(f"{name} has no kind or no name: pass complete objects")
    return obj
