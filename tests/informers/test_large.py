"""A large collection does not hold the event loop: work on all of its objects pauses in between."""

from __future__ import annotations

from itertools import count

import pytest
import trio

from dynkube import Unstructured
from dynkube.informers._cache.cache import Cache, add_page
from dynkube.informers._cache.index import Index
from dynkube.informers._cache.store import ListedObjects
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
    index = Index("uid", lambda obj: [obj.uid], fail)
    for some in batches(OBJECTS):
        index.stage([(obj.key, None, obj) for obj in some])
    return index


def test_an_index_of_as_many_values_as_objects_is_prepared_in_steps_and_published_at_once() -> None:
    index = staged()

    steps = [len(index.lookup("u1")) + len(index.lookup("u999")) for _ in index.prepare()]
    before = index.lookup("u1")
    index.publish()

    assert (set(steps), len(steps) >= PAUSES, before) == ({0}, True, [])
    assert (index.lookup("u1"), index.lookup("u999")) == ([OBJECTS[1]], [OBJECTS[999]])


def test_an_index_that_is_cleared_during_its_preparation_is_empty() -> None:
    index = staged()

    for _ in index.prepare():
        index.clear()
    index.publish()

    assert index.lookup("u1") == []


@pytest.mark.parametrize("gone", [False, True], ids=["taking in", "emptying"])
async def test_a_cache_pauses_while_a_list_is_added_and_while_it_is_emptied(gone: bool) -> None:
    cache, listed, pauses = Cache(), ListedObjects(), count()
    slices = Slices(lambda: next(pauses), budget=1000)
    await add_page(listed, OBJECTS, slices if not gone else Slices(trio.current_time))
    if gone:
        cache.publish(await cache.replace(listed.done(), "1000", Slices(trio.current_time)))
        assert len((await cache.emptied(slices)).changes) == 1000

    assert len(listed) == 1000
    assert next(pauses) >= PAUSES
