"""``FieldSet``: a set of fields, decoded from and encoded to FieldsV1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import Any

from dynkube._displayable import Displayable
from dynkube.errors import InvalidInput, InvalidObject
from dynkube.fields._path import FieldPath, PathLike
from dynkube.fields._steps import Step
from dynkube.meta import JSONObject


class FieldSet(Displayable, AbstractSet[FieldPath]):
    """An immutable set of field paths.

    It has the operators of sets (``|``, ``&``, ``-``, ``<=``).

    A path in the set does not imply the paths below it: ``.metadata.labels`` and ``.metadata.labels.app`` are two
    fields, as in FieldsV1. Iteration is in the API server's order. ``in`` also accepts strings::

        ".spec.replicas" in fields_of(obj, "autoscaler")

    Args:
        paths: The fields.

    Raises:
        InvalidInput: A path is malformed, or is the whole object, which cannot be owned.
    """

    __slots__ = ("_paths", "_sorted")

    _paths: frozenset[FieldPath]
    _sorted: tuple[FieldPath, ...] | None

    def __init__(self, paths: Iterable[PathLike] = ()) -> None:
        if isinstance(paths, str):
            raise InvalidInput(f"FieldSet() takes paths, not a string: use FieldSet([{paths!r}])")
        self._paths = frozenset(map(FieldPath.parse, paths))
        self._sorted = None
        if FieldPath() in self._paths:
            raise InvalidInput("'.' (the whole object) cannot be owned: pass fields of it, like '.spec'")

    @classmethod
    def from_fields_v1(cls, encoded: Mapping[str, Any]) -> FieldSet:
        """Decode ``managedFields[].fieldsV1``.

        Raises:
            InvalidObject: A key is not a path element, or its value is not an object.
        """
        paths = []
        pending: list[tuple[tuple[Step, ...], Mapping[str, Any]]] = [((), encoded)]
        while pending:
            steps, node = pending.pop()
            if not isinstance(node, Mapping):
                raise InvalidObject(f"FieldsV1 has {node!r} at {FieldPath(steps)}, expected an object")
            if steps and (not node or "." in node):
                paths.append(FieldPath(steps))
            for key, below in node.items():
                if key != ".":
                    pending.append(((*steps, Step.from_wire(key)), below))
        return cls(paths)

    def to_fields_v1(self) -> JSONObject:
        """Encode as ``managedFields[].fieldsV1``, in the API server's order."""
        root: dict[str, Any] = {}
        for path in self:
            node = root
            for step in path.steps:
                node = node.setdefault(step.wire, {})
            node["."] = {}
        pending = list(root.values())
        while pending:  # the dot is written only if there are other keys
            node = pending.pop()
            below = [child for key, child in node.items() if key != "."]
            if not below:
                node.clear()
            pending.extend(below)
        return root

    def union(self, *others: AbstractSet[Any]) -> FieldSet:
        """Return the fields in this set or in one of ``others``."""
        return self._of(self._paths.union(*map(_paths_of, others)))

    def leaves(self) -> FieldSet:
        """Return the fields without descendants in the set."""
        inner = {FieldPath(path.steps[:length]) for path in self._paths for length in range(1, len(path.steps))}
        return self._of(self._paths - inner)

    def within(self, *paths: PathLike) -> FieldSet:
        """Return the fields at or below one of ``paths``."""
        is_within = _below(paths)
        return self._of(each for each in self._paths if is_within(each))

    def without(self, *paths: PathLike) -> FieldSet:
        """Return the fields not at or below any of ``paths``.

        The operator ``-``, in contrast, keeps descendants.
        """
        is_within = _below(paths)
        return self._of(each for each in self._paths if not is_within(each))

    # ── set operators; the other operand may have paths as strings ───────────────────────────

    def __or__(self, other: AbstractSet[Any]) -> FieldSet:
        return self._of(self._paths | _paths_of(other))

    def __and__(self, other: AbstractSet[Any]) -> FieldSet:
        return self._of(self._paths & _paths_of(other))

    def __sub__(self, other: AbstractSet[Any]) -> FieldSet:
        return self._of(self._paths - _paths_of(other))

    def __xor__(self, other: AbstractSet[Any]) -> FieldSet:
        return self._of(self._paths ^ _paths_of(other))

    def __ror__(self, other: AbstractSet[Any]) -> FieldSet:
        return self | other

    def __rand__(self, other: AbstractSet[Any]) -> FieldSet:
        return self & other

    def __rxor__(self, other: AbstractSet[Any]) -> FieldSet:
        return self ^ other

    def __rsub__(self, other: AbstractSet[Any]) -> FieldSet:
        return self._of(_paths_of(other) - self._paths)

    @classmethod
    def _of(cls, paths: Iterable[FieldPath]) -> FieldSet:
        """Create a set from parsed paths."""
        self = cls.__new__(cls)
        self._paths = frozenset(paths)
        self._sorted = None
        return self

    def __contains__(self, path: object) -> bool:
        return (FieldPath.parse(path) if isinstance(path, str) else path) in self._paths

    def __iter__(self) -> Iterator[FieldPath]:
        if self._sorted is None:
            self._sorted = tuple(sorted(self._paths, key=attrgetter("order")))
        return iter(self._sorted)

    def __len__(self) -> int:
        return len(self._paths)

    def __hash__(self) -> int:
        return hash(self._paths)

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def __repr__(self) -> str:
        return f"FieldSet({[str(path) for path in self]!r})"


def _paths_of(other: AbstractSet[Any]) -> frozenset[FieldPath]:
    return other._paths if isinstance(other, FieldSet) else frozenset(map(FieldPath.parse, other))


def _below(paths: Iterable[PathLike]) -> Callable[[FieldPath], bool]:
    """Return a predicate for paths at or below one of ``paths``, however many."""
    parents = {FieldPath.parse(path).steps for path in paths}
    lengths = sorted({len(steps) for steps in parents})
    return lambda path: any(path.steps[:length] in parents for length in lengths)
