"""The effect of lists and watch events on the cached objects: pure, without a server."""

from __future__ import annotations

from random import Random
from time import perf_counter

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from dynkube.informers._cache.cache import Cache
from dynkube.informers._cache.store import ListedObjects
from dynkube.informers._slices import Slices
from dynkube.meta import Deleted, Modified, Unstructured

pytestmark = pytest.mark.scenario("F17", "P3")


def obj(name: str, version: int | str, uid: str = "1", content: str = "") -> Unstructured:
    return Unstructured(
        {"metadata": {"name": name, "uid": uid, "resourceVersion": str(version)}, "data": {"content": content}}
    )


def received(*objects: Unstructured) -> ListedObjects:
    listed = ListedObjects()
    for each in objects:
        listed.add(each)
    return listed


def replace(cache: Cache, version: int | str, *objects: Unstructured) -> list[tuple[str, str]]:
    """Apply a list, and return the content of each changed object before and after."""

    async def work() -> list[tuple[str, str]]:
        result = await cache.replace(received(*objects).done(), str(version), Slices(perf_counter))
        cache.publish(result)
        return [(content_of(before), content_of(after)) for _, before, after in result.changes]

    return trio.run(work)


def content_of(state: Unstructured | None) -> str:
    return "" if state is None else str(state["data"]["content"])


def test_an_older_version_of_an_object_in_a_newer_list_is_one_update() -> None:
    cache = Cache()
    replace(cache, 20, obj("a", 20, content="second"))

    changes = replace(cache, 30, obj("a", 10, content="first"))

    assert changes == [("second", "first")]
    assert cache.resource_version == "30"


def test_after_a_list_with_older_versions_events_are_compared_with_those() -> None:
    cache = Cache()
    replace(cache, 20, obj("a", 20, content="second"))
    replace(cache, 30, obj("a", 10, content="first"))

    cache.publish(cache.apply([Modified(obj("a", 31, content="third"))]))

    assert [each["data"]["content"] for each in cache.snapshot] == ["third"]


def test_an_event_that_is_older_than_the_listed_version_is_a_replay() -> None:
    cache = Cache()
    replace(cache, 20, obj("a", 25, uid="2", content="from a later page"))

    replayed = cache.apply([Modified(obj("a", 22)), Deleted(obj("a", 23))])

    assert replayed.changes == []


def test_an_empty_batch_of_events_changes_nothing() -> None:
    cache = Cache()
    replace(cache, 20, obj("a", 20))

    same = cache.apply([])

    assert (same.changes, same.snapshot, same.resource_version) == ([], cache.snapshot, "20")


def test_the_same_version_is_an_unchanged_object_while_revisions_increase() -> None:
    cache = Cache()
    replace(cache, 20, obj("a", 10, content="x"))

    assert replace(cache, 30, obj("a", 10, content="x, in another order")) == []


@pytest.mark.parametrize(
    "listed", [15, 40], ids=["before anything was written", "after more was written than was lost"]
)
def test_the_same_version_may_be_another_state_after_revisions_went_back(listed: int) -> None:
    cache = Cache()
    replace(cache, 20, obj("a", 12, content="lost"), obj("b", 5, content="kept"))

    cache.versions_reused()
    changes = replace(cache, listed, obj("a", 12, content="written again"), obj("b", 5, content="kept"))

    assert changes == [("lost", "written again")]
    assert replace(cache, 50, obj("a", 12, content="the same"), obj("b", 5)) == [], "only the first list is compared"


STATES = st.builds(obj, st.sampled_from("abcd"), st.integers(1, 50), st.sampled_from("12"))


@given(cached=st.lists(STATES), listed=st.lists(STATES), versions=st.tuples(st.integers(1, 60), st.integers(1, 60)))
def test_a_list_is_authoritative_for_any_versions_of_its_objects(
    cached: list[Unstructured], listed: list[Unstructured], versions: tuple[int, int]
) -> None:
    cache = Cache()
    replace(cache, versions[0], *cached)

    replace(cache, versions[1], *listed)

    assert set(cache.snapshot) == set(received(*listed).done())


def test_of_two_states_in_one_list_the_newer_one_is_kept_in_any_order() -> None:
    states = [obj("a", 9), obj("a", 10, content="newest"), obj("a", 2)]
    for seed in range(6):
        [kept] = received(*Random(seed).sample(states, 3)).done()

        assert kept["data"]["content"] == "newest"


def test_of_two_objects_with_one_name_the_one_created_later_is_kept() -> None:
    [kept] = received(obj("a", 30, uid="created again"), obj("a", 20, uid="deleted since")).done()

    assert kept.uid == "created again"


def test_if_versions_cannot_be_compared_the_object_listed_last_is_kept() -> None:
    [kept] = received(obj("a", "x9", content="first"), obj("a", "x1", content="last")).done()

    assert kept["data"]["content"] == "last"


@pytest.mark.parametrize(("version", "left"), [(10, 1), (12, 0), (15, 0)])
def test_a_deletion_in_a_streaming_list_removes_objects_that_are_not_newer(version: int, left: int) -> None:
    listed = received(obj("a", 12))

    listed.remove(obj("a", version))

    assert len(listed) == len(listed.done()) == left
