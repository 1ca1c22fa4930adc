"""``FieldPath``: the path of one field, in readable and in FieldsV1 notation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import total_ordering
from typing import Any, TypeAlias

from dynkube.errors import InvalidInput
from dynkube.fields._items import value_at
from dynkube.fields._path_parse import parse_steps
from dynkube.fields._steps import Field, ItemIndex, ItemKey, Ordering, Step
from dynkube.meta import JSON, Missing


@total_ordering
class FieldPath:
    """A path into an object: ``.spec.containers[name="web"].image``.

    Immutable, hashable and ordered as the API server orders fields. ``str()`` of it can be parsed by :meth:`parse`::

        .spec.replicas
        .metadata.labels["app.kubernetes.io/name"]           a name with special characters is quoted
        .spec.ports[containerPort=80,protocol="TCP"]         a list item by its keys
        .metadata.finalizers[="example.com/protect"]         a list item by its value, if the list is a set
        .spec.args[0]                                        a list item by its index

    Args:
        steps: The steps, outermost first; empty for the whole object. Use :meth:`parse` for strings.

    Raises:
        InvalidInput: An element is not a step.
    """

    __slots__ = ("_hash", "steps")

    steps: tuple[Step, ...]
    _hash: int

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        if isinstance(steps, str):
            raise InvalidInput(f"FieldPath() takes steps, not a string: use FieldPath.parse({steps!r})")
        steps = tuple(steps)
        for step in steps:
            if not isinstance(step, Step):
                raise InvalidInput(f"a step must be a Field, ItemKey, ItemValue or ItemIndex, not {step!r}")
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "_hash", hash(steps))

    @classmethod
    def parse(cls, text: PathLike, *, among: Iterable[FieldPath] = ()) -> FieldPath:
        """Parse a path as written by people, or as printed by the API server.

        Servers print paths in the causes of a conflict.

        The first dot may be omitted. In brackets, names and strings may be in single quotes, and the value of a key
        without quotes unless it is a number, a boolean or null: ``[name=web]``.

        Args:
            text: The path; a :class:`FieldPath` is returned unchanged.
            among: Candidates. Servers do not quote names with dots, so that
                ``.metadata.labels.app.kubernetes.io/name`` is ambiguous: if one of these paths is printed like
                that, it is returned. Otherwise each dot is parsed as the start of a step.

        Raises:
            InvalidInput: The path is malformed; the message shows the position.
        """
        if isinstance(text, FieldPath):
            return text
        if not isinstance(text, str):
            raise InvalidInput(f"a path must be a string like '.spec.replicas' or a FieldPath, not {text!r}")
        for path in among:
            if path.as_server() == text:
                return path
        return cls(parse_steps(text))

    def __truediv__(self, step: Step | str | int | Mapping[str, JSON]) -> FieldPath:
        """Append a step.

        It is a name (taken literally), an index, the keys of an item, or a :class:`Step`.
        """
        if isinstance(step, str):
            step = Field(step)
        elif isinstance(step, int):
            step = ItemIndex(step)
        elif isinstance(step, Mapping):
            step = ItemKey(step)
        return FieldPath((*self.steps, step))

    @property
    def parent(self) -> FieldPath:
        """The path without its last step; the parent of the empty path is the empty path."""
        return FieldPath(self.steps[:-1])

    @property
    def order(self) -> Ordering:
        """Sort key; faster in ``sorted()`` than comparing paths."""
        return tuple(step.order for step in self.steps)

    def is_within(self, other: FieldPath) -> bool:
        """Whether this path is equal to ``other`` or below it."""
        return self.steps[: len(other.steps)] == other.steps

    def find(self, obj: Mapping[str, Any]) -> Any | Missing:
        """Return the value at this path of an object, or :data:`~dynkube.meta.MISSING`.

        A list item is found by its keys. Items of applied objects may omit a key that has a default (``protocol`` of a
        port), and the default is known only to the server. So if no item has all keys, the first item is returned in
        which some keys match and the others are missing.
        """
        return value_at(obj, self.steps)

    def as_server(self) -> str:
        """Format the path as the API server prints it: like ``str()``, but names of fields are never quoted.

        Values of list items are escaped as in JSON, which differs from the server's output for the few characters that
        Go escapes in another way.
        """
        return "".join(f".{step.name}" if isinstance(step, Field) else str(step) for step in self.steps)

    def __str__(self) -> str:
        return "".join(map(str, self.steps)) or "."

    def __repr__(self) -> str:
        return f"FieldPath.parse({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return self.steps == other.steps if isinstance(other, FieldPath) else NotImplemented

    def __lt__(self, other: FieldPath) -> bool:
        if not isinstance(other, FieldPath):
            return NotImplemented
        return self.order < other.order

    def __hash__(self) -> int:
        return self._hash

    def __len__(self) -> int:
        return len(self.steps)

    def __bool__(self) -> bool:
        return True  # otherwise the empty path, which is valid, would be false due to its length

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("FieldPath is immutable: create a new one with / or FieldPath.parse()")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("FieldPath is immutable: create a new one with / or FieldPath.parse()")

    def __reduce__(self) -> tuple[type[FieldPath], tuple[tuple[Step, ...]]]:
        return FieldPath, (self.steps,)


PathLike: TypeAlias = str | FieldPath
"""A path as a string or parsed; accepted by all functions that take paths."""
