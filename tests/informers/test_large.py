"""A large collection does not hold the event loop: work on all of its objects pauses in between."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from itertools import count

import pytest
import trio

from dynkube import Unstructured
from dynkube.informers._cache.cache import Cache, add_page, forgotten
from dynkube.informers._cache.index import Index, key_text
from dynkube.informers._cache.persistent_map import MapEditor, PersistentMap
from dynkube.informers._cache.store import EMPTY, ListedObjects, Snapshot
from dynkube.informers._slices import Slices, batches

OBJECTS = [
    Unstructured({"metadata": {"name": f"n{number}", "uid": f"u{number}", "resourceVersion": str(number + 1)}})
    for number in range(1000)
]
PAUSES = 1000 // 64


def fail(exc: Exception, obj: Unstructured) -> None:
    raise exc


def staged() -> Index:
    """An index under construction, in which each object has its own value."""
    index = Index(lambda obj: [obj.uid], fail)
    for some in batches(OBJECTS):
        index.stage([(key_text(obj.key), obj) for obj in some])
    return index


def test_an_index_of_as_many_values_as_objects_is_prepared_in_steps_and_published_at_once() -> None:
    index = staged()

    steps = [len(index.lookup("u1")) + len(index.lookup("u999")) for _ in index.prepare()]
    before = index.lookup("u1")
    index.publish()

    assert (set(steps), len(steps) >= PAUSES, before) == ({0}, True, [])
    assert (index.lookup("u1"), index.lookup("u999")) == ([OBJECTS[1]], [OBJECTS[999]])


def test_an_index_of_as_many_values_as_objects_keeps_no_editor_for_each() -> None:
    tracked = len(gc.get_objects())

    index = staged()

    assert len(gc.get_objects()) - tracked < len(OBJECTS) // 2
    assert index.lookup("u1") == []


def test_what_an_index_had_is_freed_in_steps() -> None:
    index, texts = indexed([bytes(bytearray(obj.json)) for obj in OBJECTS])
    in_use = references(texts)

    index.stage([(key_text(obj.key), None) for obj in OBJECTS])
    list(index.prepare())
    freed = [in_use - references(texts) for _ in index.publish()]

    assert (freed[0] < 1000, freed[-1], len(freed) > 3, freed) == (True, 1000, True, sorted(freed))


def test_a_cleared_index_is_freed_in_steps() -> None:
    index, texts = indexed([bytes(bytearray(obj.json)) for obj in OBJECTS])
    in_use = references(texts)

    freed = [in_use - references(texts) for _ in index.clear()]

    assert (freed[0] < 1000, freed[-1], len(freed) > 3, freed) == (True, 1000, True, sorted(freed))
    assert index.lookup("u1") == []


def indexed(texts: list[bytes]) -> tuple[Index, list[bytes]]:
    index = Index(lambda obj: [obj.uid], fail)
    for some in batches(map(Unstructured, texts)):
        index.stage([(key_text(obj.key), obj) for obj in some])
    list(index.prepare())
    index.publish()
    return index, texts


def test_an_index_that_is_cleared_during_its_preparation_is_empty() -> None:
    index = staged()

    for _ in index.prepare():
        index.clear()
    index.publish()

    assert index.lookup("u1") == []


async def test_a_page_is_added_with_pauses() -> None:
    listed, pauses = ListedObjects(), count()

    await add_page(listed, OBJECTS, Slices(lambda: next(pauses), budget=1000))

    assert len(listed) == 1000
    assert next(pauses) >= PAUSES


def test_a_version_of_many_namespaces_is_prepared_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    editor, stored = EMPTY.edit(), count_stored(monkeypatch)
    for obj in in_namespaces(1000):
        editor.put(obj.key, obj)

    most, before = 0, 0
    for _ in editor.freeze():
        most, before = max(most, len(stored) - before), len(stored)

    assert (most <= 64, len(stored)) == (True, 1000)
    assert len(editor.done()) == len(stored) == 1000


def test_a_version_without_changes_costs_nothing_for_each_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = snapshot_of(in_namespaces(1000))
    editor, stored = snapshot.edit(), count_stored(monkeypatch)
    for obj in in_namespaces(1000):
        editor.get(obj.key)

    same = editor.done()

    assert (len(same), list(same.changes_since(snapshot)), stored) == (1000, [], [])


def in_namespaces(number: int) -> Iterator[Unstructured]:
    return (Unstructured({"metadata": {"name": "one", "namespace": f"n{each}"}}) for each in range(number))


def count_stored(monkeypatch: pytest.MonkeyPatch) -> list[MapEditor[str, Unstructured]]:
    stored: list[MapEditor[str, Unstructured]] = []
    done = MapEditor.done

    def record_done(self: MapEditor[str, Unstructured]) -> PersistentMap[str, Unstructured]:
        stored.append(self)
        return done(self)

    monkeypatch.setattr(MapEditor, "done", record_done)
    return stored


async def test_a_list_replaces_another_one_with_pauses() -> None:
    cache, listed, pauses = Cache(), ListedObjects(), count()
    await add_page(listed, OBJECTS, Slices(trio.current_time))
    cache.publish(await cache.replace(listed.done(), "1000", Slices(trio.current_time)))

    version = await cache.replace(ListedObjects().done(), "2000", Slices(lambda: next(pauses), budget=1000))

    assert len(version.changes) == 1000
    assert next(pauses) >= PAUSES


async def test_the_changes_of_a_cache_that_is_filled_or_emptied_are_not_a_list() -> None:
    cache, listed = Cache(), ListedObjects()
    await add_page(listed, OBJECTS, Slices(trio.current_time))

    filled = await cache.replace(listed.done(), "1000", Slices(trio.current_time))
    cache.publish(filled)
    emptied = cache.emptied()

    assert len(filled.changes) == len(emptied.changes) == 1000
    assert {(key, before) for key, before, _ in filled.changes} == {(obj.key, None) for obj in OBJECTS}
    assert {(key, after) for key, _, after in emptied.changes} == {(obj.key, None) for obj in OBJECTS}
    assert not isinstance(filled.changes, list | tuple)


def test_the_objects_of_a_version_are_freed_in_steps() -> None:
    texts = [bytes(bytearray(obj.json)) for obj in OBJECTS]
    snapshot = snapshot_of(map(Unstructured, texts))
    in_use = references(texts)

    release = snapshot.release()
    del snapshot
    freed = [in_use - references(texts) for _ in release]

    assert freed == sorted(freed)
    assert (freed[0] < 1000, freed[-1], len(freed) > 3) == (True, 1000, True)


def references(texts: list[bytes]) -> int:
    return sum(sys.getrefcount(text) for text in texts)


def snapshot_of(objects: Iterable[Unstructured]) -> Snapshot:
    listed = ListedObjects()
    for obj in objects:
        listed.add(obj)
    return listed.done()


def test_the_changes_of_a_list_are_freed_in_steps() -> None:
    changes = [(obj.key, obj, None) for obj in OBJECTS]

    left = [len(changes) for _ in forgotten(changes)]

    assert left == sorted(left, reverse=True)
    assert (left[0] > 900, left[-1]) == (True, 0)


def test_what_only_a_list_has_is_freed_in_steps() -> None:
    texts = [bytes(bytearray(obj.json)) for obj in OBJECTS]
    listed = ListedObjects()
    for text in texts:
        listed.add(Unstructured(text))
    in_use = references(texts)

    freed = [in_use - references(texts) for _ in listed.release()]

    assert (freed[0] < 1000, freed[-1], len(freed) > 3, len(listed)) == (True, 1000, True, 1000)
