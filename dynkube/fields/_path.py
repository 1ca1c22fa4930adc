"""``FieldPath``: the way to one field of an object, as a person writes it and as managedFields does."""

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
    """One path into an object: ``.spec.containers[name="web"].image``.

    Immutable, hashable and ordered as the API server orders fields. ``str()`` is text that :meth:`parse` reads::

        .spec.replicas
        .metadata.labels["app.kubernetes.io/name"]           a name that is no plain word is quoted
        .spec.ports[containerPort=80,protocol="TCP"]         a list item by its key fields
        .metadata.finalizers[="example.com/protect"]         a list item by its value, where the list is a set
        .spec.args[0]                                        a list item by its position

    Args:
        steps: The steps, outermost first; none for the whole object. To read text use :meth:`parse`.

    Raises:
        InvalidInput: They are no steps.
    """

    __slots__ = ("_hash", "steps")

    steps: tuple[Step, ...]
    _hash: int

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        if isinstance(steps, str):
            raise InvalidInput(f"a path is made of steps; to read text write FieldPath.parse({steps!r})")
        steps = tuple(steps)
        for step in steps:
            if not isinstance(step, Step):
                raise InvalidInput(f"a path is made of Field, ItemKey, ItemValue and ItemIndex, not {step!r}")
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "_hash", hash(steps))

    @classmethod
    def parse(cls, text: PathLike, *, among: Iterable[FieldPath] = ()) -> FieldPath:
        """Read a path as a person writes it, or as the API server prints it in the causes of a conflict.

        The first dot may be left out. In brackets, names and texts may be in single quotes, and the value of a key
        without any unless it reads as a number, a boolean or null: ``[name=web]``.

        Args:
            text: The path; one that is read already is returned as it is.
            among: Paths that may be meant. Servers do not quote names with dots in them, so that
                ``.metadata.labels.app.kubernetes.io/name`` has several readings: where one of these paths is
                printed like that, it is the one. Otherwise each dot is read as the start of a step.

        Raises:
            InvalidInput: It does not parse; the message points at the character.
        """
        if isinstance(text, FieldPath):
            return text
        if not isinstance(text, str):
            raise InvalidInput(f"a path is text like '.spec.replicas', or a FieldPath, not {text!r}")
        for path in among:
            if path.as_server() == text:
                return path
        return cls(parse_steps(text))

    def __truediv__(self, step: Step | str | int | Mapping[str, JSON]) -> FieldPath:
        """One step further: a name (taken as it is), a position, the key fields of an item, or a step."""
        if isinstance(step, str):
            step = Field(step)
        elif isinstance(step, int):
            step = ItemIndex(step)
        elif isinstance(step, Mapping):
            step = ItemKey(step)
        return FieldPath((*self.steps, step))

    @property
    def parent(self) -> FieldPath:
        """The path without its last step; that of the whole object is its own parent."""
        return FieldPath(self.steps[:-1])

    @property
    def order(self) -> Ordering:
        """What it is sorted by; quicker as a key of ``sorted()`` than comparing paths."""
        return tuple(step.order for step in self.steps)

    def is_within(self, other: FieldPath) -> bool:
        """Whether it is ``other`` or lies below it."""
        return self.steps[: len(other.steps)] == other.steps

    def find(self, obj: Mapping[str, Any]) -> Any | Missing:
        """The value at this path of an object, or :data:`~dynkube.meta.MISSING`.

        A list item is found by its keys, also where it leaves some of them out: applied objects do so with keys that
        have a default (``protocol`` of a port). What the default is only the server knows; so an item that has all
        keys comes before one that has some, and the first of these is taken.
        """
        return value_at(obj, self.steps)

    def as_server(self) -> str:
        """How the API server prints it: as ``str()``, but names are never quoted.

        Differs from the server's own text where a value has characters that Go escapes otherwise than JSON.
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
        return True  # it has a length, and that of the whole object is a path as well

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a FieldPath cannot be changed: make a new one, with / or FieldPath.parse")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a FieldPath cannot be changed: make a new one, with / or FieldPath.parse")

    def __reduce__(self) -> tuple[type[FieldPath], tuple[tuple[Step, ...]]]:
        return FieldPath, (self.steps,)


PathLike: TypeAlias = str | FieldPath
"""A path as text or as read: what functions that take paths accept."""
