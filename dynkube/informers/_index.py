"""Named indexes: from a value that a function finds in an object to the objects that have it.

As in client-go's Indexer, an index is up to date before any handler hears of a change. Unlike there,
the values an object was filed under are remembered, so a function that gives another answer later
(because it reads outside state) leaves no stale entry behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, TypeAlias

from dynkube._guard import attempt_with
from dynkube.errors import InvalidInput
from dynkube.informers._persistent import MapEditor, PersistentMap, empty
from dynkube.informers._slices import Slices, batches
from dynkube.meta import JSONPath, Key, Unstructured

IndexFunc: TypeAlias = Callable[[Unstructured], Iterable[str]]
"""From an object to the values it is found under, as text; none leaves it out of the index, and so does ``None``."""

Change: TypeAlias = tuple[Key, Unstructured | None, Unstructured | None]
"""One object's change: its key, before, after."""

_Source: TypeAlias = Callable[[Unstructured], Iterable[object]]
"""The same from a JSONPath, or from a function that no type checker saw: numbers too, and booleans."""

_Filed: TypeAlias = PersistentMap[Key, Unstructured]

_NOTHING: Final[_Filed] = empty()
_TUPLES: Final = 1024


def index_func(source: str | IndexFunc) -> _Source:
    """An index function from what a user passes: a function, or a JSONPath whose matches are the values."""
    if callable(source):
        return source
    path = JSONPath.compile(source)

    return lambda obj: path.find_json(obj.json)


def printed(value: object) -> str:
    """A value as text, booleans as JSON has them."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


class Index:
    """One index. The owner's task writes, any thread reads."""

    __slots__ = ("_entries", "_filed", "_func", "_next", "_on_error", "_staged", "_tuples", "built", "name")

    def __init__(self, name: str, func: _Source, on_error: Callable[[Exception, Unstructured], None]) -> None:
        self.name: str = name
        self.built: bool = False
        """Whether every object of the cache has been filed; until then readers scan (see ``scan``)."""
        self._func = func
        self._on_error = on_error
        self._filed: dict[Key, tuple[str, ...]] = {}
        self._tuples: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._entries: PersistentMap[str, _Filed] = empty()
        self._staged: dict[str, MapEditor[Key, Unstructured]] = {}  # by value, what is being changed
        self._next: PersistentMap[str, _Filed] | None = None  # what ``publish`` will show

    def lookup(self, value: str) -> list[Unstructured]:
        """The objects filed under ``value``, in no particular order."""
        return list((self._entries.get(value) or _NOTHING).values())

    def scan(self, objects: Iterable[Unstructured], value: str) -> list[Unstructured]:
        """What ``lookup`` will give once the index is built, found the slow way."""
        return [obj for obj in objects if value in self._values(obj)]

    def stage(self, changes: Sequence[Change]) -> None:
        """File a batch of changes; readers see it once it was prepared and published."""
        filed = self._filed
        for key, _, after in changes:
            before = filed.get(key, ())
            values = self._shared(self._values(after)) if after is not None else ()
            for value in before:
                if value not in values:
                    self._edited(value).remove(key)
            if after is not None:
                for value in values:
                    self._edited(value).put(key, after)
            if values:
                filed[key] = values
            elif before:
                del filed[key]

    def _shared(self, values: tuple[str, ...]) -> tuple[str, ...]:
        """One tuple for all objects that are filed under the same."""
        if len(self._tuples) >= _TUPLES:  # where each object has values of its own, nothing is gained
            self._tuples.clear()
        return self._tuples.setdefault(values, values)

    def _edited(self, value: str) -> MapEditor[Key, Unstructured]:
        edited = self._staged.get(value)
        if edited is None:
            edited = self._staged[value] = (self._entries.get(value) or _NOTHING).edit()
        return edited

    def prepare(self) -> Iterator[None]:
        """Work out what ``publish`` will show, in steps: there may be as many values as objects."""
        staged, entries = self._staged, self._entries.edit()
        for some in batches(staged.items()):
            for value, edited in some:
                if edited:
                    entries.put(value, edited.done())
                elif entries.get(value) is not None:
                    entries.remove(value)
            yield
        if staged and self._staged is staged:  # else it was cleared between two steps
            self._staged, self._next = {}, entries.done()

    def publish(self) -> None:
        """Show readers what was prepared, all at once."""
        if self._next is not None:
            self._entries, self._next = self._next, None

    def clear(self) -> None:
        """Forget all objects, and file none again."""
        self._func = lambda obj: ()
        self._filed, self._tuples, self._staged, self._entries, self._next = {}, {}, {}, empty(), None

    def _values(self, obj: Unstructured) -> tuple[str, ...]:
        return attempt_with(self._found, obj, (), partial(self._failed, obj))

    def _found(self, obj: Unstructured) -> tuple[str, ...]:
        return tuple(dict.fromkeys(printed(value) for value in _listed(self._func(obj)) if value is not None))

    def _failed(self, obj: Unstructured, exc: Exception) -> None:
        self._on_error(exc, obj)


async def prepare(indexes: Sequence[Index], changes: Iterable[Change], slices: Slices) -> None:
    """Work out what publishing ``indexes`` will show once ``changes`` are filed in each of them."""
    for some in batches(changes) if indexes else ():
        for index in indexes:
            index.stage(some)
            if slices.over:
                await slices.breathe()
    for index in indexes:
        for _ in index.prepare():
            await slices.breathe()


def _listed(values: Iterable[object]) -> Iterable[object]:
    if isinstance(values, str):  # iterable too, and nobody wants each letter
        raise InvalidInput(f"an index function returned the text {values!r}: return a list of values, [{values!r}]")
    return values
