"""Named indexes: objects by the values that a function returns for them.

As in client-go's Indexer, an index is updated before handlers are called. Unlike client-go's, it remembers the values
of each object. So a function that returns other values later, because it depends on more than the object, leaves no
stale entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, TypeAlias

import msgspec

from dynkube._guard import attempt_with
from dynkube.errors import InvalidInput
from dynkube.informers._cache.persistent_map import MapEditor, PersistentMap, dropped, empty
from dynkube.informers._slices import Slices, batches
from dynkube.meta import JSONPath, Unstructured
from dynkube.meta._object import Key

IndexFunc: TypeAlias = Callable[[Unstructured], Iterable[str]]
"""Returns the index values of an object as strings, in a list or other iterable; ``None`` values are ignored."""

Change: TypeAlias = tuple[Key, Unstructured | None, Unstructured | None]
"""A change of one object: key, state before and state after, each ``None`` if there is no object."""

_Source: TypeAlias = Callable[[Unstructured], Iterable[object]]
"""Like ``IndexFunc``, but the values may also be numbers and booleans: a JSONPath may return them, and so may a
function that is not type-checked."""

_Filed: TypeAlias = PersistentMap[str, Unstructured]
_Editor: TypeAlias = MapEditor[str, Unstructured]

_NOTHING: Final[_Filed] = empty()
_SETS: Final = 1024
_FEW: Final = 32  # objects; storing these takes some microseconds
_MANY: Final = 512  # objects; freeing what an index had for these takes some milliseconds


class _Values(msgspec.Struct, gc=False, frozen=True):
    """The values of an object; a Struct, as the garbage collector visits a dict that got a new tuple."""

    each: tuple[str, ...] = ()


_NO_VALUES: Final = _Values()


def index_func(source: str | IndexFunc, *, metadata_only: bool = False) -> _Source:
    """Return a function as it is, and a JSONPath as an index function.

    Args:
        source: the function or the JSONPath.
        metadata_only: whether the objects have only metadata.

    Raises:
        InvalidJSONPath: the path does not parse.
        InvalidInput: the objects have only metadata, and the path selects something else.
    """
    if callable(source):
        return source
    path = JSONPath.compile(source)
    if metadata_only:
        check_in_metadata(path)
    return lambda obj: path.find_json(obj.json)


def check_in_metadata(path: JSONPath) -> None:
    """Reject a path that selects nothing in objects that have only metadata.

    Raises:
        InvalidInput: it selects in another top-level field.
    """
    if path.root not in (None, "apiVersion", "kind", "metadata"):
        raise InvalidInput(
            f"the JSONPath {path.text!r} selects nothing, as the informer has only metadata: "
            "use a field in metadata, or an informer without metadata_only"
        )


def printed(value: object) -> str:
    """Return a value as a string, booleans as in JSON."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


class Index:
    """One index; written by the owner's task, read by any thread."""

    __slots__ = ("_edited", "_entries", "_filed", "_func", "_large", "_next", "_on_error", "_sets", "_staged", "built")

    def __init__(self, func: _Source, on_error: Callable[[Exception, Unstructured], None]) -> None:
        self.built: bool = False
        """Whether every object of the cache is indexed; until then readers use ``scan``."""
        self._func = func
        self._on_error = on_error
        self._filed: MapEditor[str, _Values] = empty().edit()  # a large dict blocks while it doubles
        self._sets: dict[tuple[str, ...], _Values] = {}
        self._entries: PersistentMap[str, _Filed] = empty()
        self._edited: MapEditor[str, _Filed] | None = None  # the next entries, except those in ``_large``
        self._large: dict[str, _Editor] = {}  # the edited entries of many objects, by value
        self._next: PersistentMap[str, _Filed] | None = None  # prepared for ``publish``
        self._staged = 0  # objects since the last ``publish``

    def lookup(self, value: str) -> list[Unstructured]:
        """Return the objects indexed under ``value``, in no particular order."""
        return list((self._entries.get(value) or _NOTHING).values())

    def scan(self, objects: Iterable[Unstructured], value: str) -> list[Unstructured]:
        """Return the same as ``lookup``, by evaluating all objects."""
        return [obj for obj in objects if value in self._values(obj)]

    def stage(self, changes: Sequence[tuple[str, Unstructured | None]]) -> None:
        """Stage a batch of changes; readers see them after ``prepare`` and ``publish``.

        Args:
            changes: the key of each object, as returned by :func:`key_text`, and its new state.
        """
        filed = self._filed
        self._staged += len(changes)
        some: dict[str, _Editor] = {}
        for key, after in changes:
            before = filed.get(key) or _NO_VALUES
            values = self._shared(self._values(after)) if after is not None else _NO_VALUES
            for value in before.each:
                if value not in values.each:
                    self._objects(value, some).remove(key)
            if after is not None:
                for value in values.each:
                    self._objects(value, some).put(key, after)
            if values is before:
                continue
            if values.each:
                filed.put(key, values)
            elif before.each:
                filed.remove(key)
        # Stored at once, unless they are many: there may be as many values as objects, and a dict with an editor for
        # each blocks the event loop while it doubles, when the garbage collector visits it, and when it is freed.
        for value, objects in some.items():
            if len(objects) > _FEW:
                self._large[value] = objects
            elif self._edited is not None:
                _store(self._edited, value, objects)

    def _shared(self, values: tuple[str, ...]) -> _Values:
        """Return one object for all objects with the same values, to save memory."""
        known = self._sets.get(values)
        if known is None:
            if len(self._sets) >= _SETS:  # bounds the memory if each object has its own values
                self._sets.clear()
            known = self._sets[values] = _Values(values)
        return known

    def _objects(self, value: str, some: dict[str, _Editor]) -> _Editor:
        """Return the objects of a value to edit them; adds them to ``some``, unless they are among the large ones."""
        objects = self._large.get(value)
        if objects is None:
            objects = some.get(value)
        if objects is None:
            if self._edited is None:
                self._edited = self._entries.edit()
            objects = some[value] = (self._edited.get(value) or _NOTHING).edit()
        return objects

    def prepare(self) -> Iterator[None]:
        """Prepare ``publish``; an iterator, so that the caller can yield between steps."""
        entries = self._edited
        if entries is None:  # nothing was staged
            return
        for value, objects in self._large.items():
            yield from objects.freeze()
            _store(entries, value, objects)
            yield
        yield from entries.freeze()
        filed = self._filed
        yield from filed.freeze()
        if self._edited is entries:  # if not, the index was cleared between two steps
            self._filed = filed.done().edit()  # not as dicts, which the garbage collector would visit
            self._edited, self._large, self._next = None, {}, entries.done()

    def publish(self) -> Iterable[None]:
        """Make the prepared version visible to readers, in one assignment.

        Returns:
            An iterator that frees the version before in short steps, if much of it was replaced; else nothing.
        """
        if self._next is None:
            return ()
        before, self._entries, self._next = self._entries, self._next, None
        staged, self._staged = self._staged, 0
        return dropped((before,)) if staged > _MANY else ()

    def clear(self) -> Iterator[None]:
        """Remove all objects; objects that are staged later are not indexed.

        Returns:
            An iterator that frees what the index had in short steps.
        """
        self._func = lambda obj: ()
        before: list[PersistentMap[str, _Filed] | PersistentMap[str, _Values]] = [self._entries]
        if not self._filed.changed:  # otherwise it is freed at once, as preparing it takes as long
            before.append(self._filed.done())
        self._filed, self._sets, self._entries = empty().edit(), {}, empty()
        self._edited, self._large, self._next = None, {}, None
        return dropped(iter(before))

    def _values(self, obj: Unstructured) -> tuple[str, ...]:
        return attempt_with(self._found, obj, (), partial(self._failed, obj))

    def _found(self, obj: Unstructured) -> tuple[str, ...]:
        return tuple(dict.fromkeys(printed(value) for value in _listed(self._func(obj)) if value is not None))

    def _failed(self, obj: Unstructured, exc: Exception) -> None:
        self._on_error(exc, obj)


def _store(entries: MapEditor[str, _Filed], value: str, objects: _Editor) -> None:
    if objects:
        entries.put(value, objects.done())
    elif entries.get(value) is not None:
        entries.remove(value)


def key_text(key: Key) -> str:
    """Return a key as a string that no other key has.

    The garbage collector visits a dict that got a new tuple as a key.
    """
    namespace, name = key
    return f"{len(namespace)}:{namespace}{name}"


async def prepare(indexes: Sequence[Index], changes: Iterable[Change], slices: Slices) -> None:
    """Stage ``changes`` in each of ``indexes``, and prepare them for ``publish``."""
    for some in batches(changes) if indexes else ():
        staged = [(key_text(key), after) for key, _, after in some]  # one text for all indexes
        for index in indexes:
            index.stage(staged)
            if slices.over:
                await slices.checkpoint_if_due()
    for index in indexes:
        await slices.run(index.prepare())


def _listed(values: Iterable[object]) -> Iterable[object]:
    if isinstance(values, str):  # a string is iterable too, so each letter would become a value
        raise InvalidInput(f"an index function returned the string {values!r}: return a list of values, [{values!r}]")
    return values
