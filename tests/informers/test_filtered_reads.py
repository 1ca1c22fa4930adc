"""Reads through a filter evaluate it only where needed, and keep no deleted object alive."""

from __future__ import annotations

import sys
from collections import Counter
from random import Random

import pytest

from dynkube import Client, JSONPathFilter, LabelFilter, NamespaceFilter, PredicateFilter, Unstructured
from dynkube.informers import Informer
from dynkube.informers._cache.store import EMPTY, Snapshot
from dynkube.informers._filters.filters import BoundFilter
from dynkube.informers._views.applied_filter import AppliedFilter
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, crd, names, namespace, quiet, replace, widget


class CountingPredicate:
    """A predicate that counts its calls for each object."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.accepted = {"a", "b", "new"}

    def __call__(self, obj: Unstructured) -> bool:
        self.calls[obj.name] += 1
        return obj.name in self.accepted

    def take_calls(self) -> dict[str, int]:
        calls, self.calls = dict(self.calls), Counter()
        return calls


@pytest.fixture(autouse=True)
def widgets_are_served(server: APIServer) -> None:
    server.create(crd())
    for name in ("a", "b", "c"):
        server.create(widget(name))


@pytest.mark.scenario("P1")
async def test_an_object_only_filter_is_evaluated_on_changed_objects(server: APIServer, client: Client) -> None:
    predicate = CountingPredicate()
    async with client.informer(WIDGETS, filter=PredicateFilter(predicate, object_only=True)) as widgets:
        await widgets.wait_synced()
        for _ in range(3):
            assert (names(widgets.list()), len(widgets), names(widgets)) == (["a", "b"], 2, ["a", "b"])
        assert max(predicate.take_calls().values()) == 2

        server.delete("widgets", "b")
        server.create(widget("new"))
        replace(server, widget("c", n=1))
        await quiet()

        assert (names(widgets.list()), len(widgets), names(widgets)) == (["a", "new"], 2, ["a", "new"])
        assert predicate.take_calls() == {"new": 1, "c": 1}


@pytest.mark.scenario("K17", "P1")
async def test_a_filter_on_other_state_is_evaluated_at_each_read(client: Client) -> None:
    predicate = CountingPredicate()
    async with client.informer(WIDGETS, filter=predicate) as widgets:
        await widgets.wait_synced()
        assert [names(widgets) for _ in range(3)] == [["a", "b"]] * 3
        predicate.accepted = {"c"}

        assert (names(widgets), len(widgets)) == (["c"], 1)


async def test_an_object_only_filter_is_evaluated_again_after_refresh_filter(client: Client) -> None:
    predicate = CountingPredicate()
    chosen = PredicateFilter(predicate, object_only=True)
    async with client.informer(WIDGETS, filter=chosen) as widgets:
        await widgets.wait_synced()
        assert [names(widgets) for _ in range(3)] == [["a", "b"]] * 3
        predicate.accepted = {"c"}
        assert names(widgets) == ["a", "b"]

        chosen.refresh_filter()

        assert names(widgets) == ["c"]


def version_of(objects: dict[str, int], before: Snapshot = EMPTY) -> Snapshot:
    """Return a version of a cache with these objects instead of those of the same name."""
    editor = before.edit()
    for name, number in objects.items():
        obj = Unstructured(widget(name, n=number))
        editor.put(obj.key, obj)
    return editor.done()


def applied(predicate: CountingPredicate) -> AppliedFilter:
    bound = BoundFilter(predicate, object_only=True)
    return AppliedFilter(PredicateFilter(predicate), bound, lambda what, exc, obj=None: pytest.fail(what))


async def test_results_of_a_read_are_kept_if_the_cache_changes_meanwhile() -> None:
    predicate = CountingPredicate()
    shows = applied(predicate)
    first = version_of({"a": 1, "b": 1, "c": 1})
    second = version_of({"c": 2, "new": 1}, first)
    shows.known(first, lambda: first)

    read = shows.known(first, lambda: second)  # the cache has changed when the filter was evaluated
    predicate.take_calls()
    later = shows.known(second, lambda: second)

    assert (read is not None and names(read), later is not None and names(later)) == (["a", "b"], ["a", "b", "new"])
    assert predicate.take_calls() == {"c": 1, "new": 1}


async def test_results_that_another_read_stored_before_the_filter_was_refreshed_are_not_used() -> None:
    predicate = CountingPredicate()
    shows = applied(predicate)
    cache = version_of({"a": 1, "c": 1})
    shows.known(cache, lambda: cache)
    shows.known(cache, lambda: cache)
    stale = shows._results

    predicate.accepted = {"c"}
    shows.forget()
    shows._results = stale  # by a read on another thread that began before
    later = shows.known(cache, lambda: cache)

    assert later is not None
    assert names(later) == ["c"]


async def test_results_are_not_carried_over_to_a_version_that_is_very_different() -> None:
    predicate = CountingPredicate()
    shows = applied(predicate)
    small = version_of({"a": 1, "c": 1})
    large = version_of({f"w{number}": 1 for number in range(20_000)})
    shows.known(small, lambda: small)
    shows.known(small, lambda: large)

    assert shows._results is None
    for version in (large, small):
        shows.known(version, lambda version=version: version)  # type: ignore[misc]
    kept = shows._results
    assert kept is not None
    assert kept.at(large) is None


async def test_results_of_a_read_are_dropped_if_the_filter_is_refreshed_meanwhile() -> None:
    predicate = CountingPredicate()
    shows = applied(predicate)
    cache = version_of({"a": 1, "c": 1})

    def refreshed() -> Snapshot:
        predicate.accepted = {"c"}
        shows.forget()
        return cache

    shows.known(cache, lambda: cache)
    shows.known(cache, refreshed)  # another thread refreshes the filter before the results are stored

    later = shows.known(cache, lambda: cache)
    assert later is not None
    assert names(later) == ["c"]


async def test_a_deleted_object_is_not_kept_alive(server: APIServer, client: Client) -> None:
    async with client.informer(WIDGETS, filter=PredicateFilter(CountingPredicate(), object_only=True)) as widgets:
        await widgets.wait_synced()
        [kept] = [obj.json for obj in (widgets.list(), widgets.list(), widgets.list())[2] if obj.name == "a"]

        server.delete("widgets", "a")
        await quiet()

        alone = bytes(bytearray(kept))
        assert sys.getrefcount(kept) == sys.getrefcount(alone), "something refers to the object, which has the bytes"


@pytest.mark.scenario("P1")
@pytest.mark.parametrize(
    "chosen",
    [
        LabelFilter("team=x"),
        ~JSONPathFilter("{.spec.n}", equals="1"),
        LabelFilter("team=x") & PredicateFilter(lambda obj: obj["spec"].get("n") == 1),
        LabelFilter("team=x") | NamespaceFilter("team=x"),
    ],
    ids=repr,
)
async def test_reads_agree_with_the_filter_after_any_changes(
    server: APIServer, client: Client, chosen: LabelFilter
) -> None:
    random = Random(5)
    server.create(namespace("other", {"team": "x"}))

    def check(widgets: Informer) -> None:
        each = [obj for obj in widgets._snapshot if widgets._view.accepts(obj)]
        assert sorted(map(id, widgets.list())) == sorted(map(id, each))
        assert len(widgets) == len(each)
        for where in ("default", "other"):
            found = [obj for obj in each if obj.namespace == where]
            assert sorted(map(id, widgets.list(namespace=where))) == sorted(map(id, found))

    async with client.informer(WIDGETS, filter=chosen) as widgets:
        await widgets.wait_synced()
        for _ in range(200):
            where, name = random.choice(["default", "other"]), f"w{random.randrange(6)}"
            there = widgets.get(name, namespace=where) or any(
                (obj.namespace, obj.name) == (where, name) for obj in widgets._snapshot
            )
            obj = widget(name, where, {"team": random.choice("xy")}, n=random.randrange(3))
            if not there:
                server.create(obj)
            elif random.random() < 0.5:
                server.delete("widgets", name, where)
            else:
                replace(server, obj)
            await quiet()
            for _ in range(random.randrange(3)):
                check(widgets)


async def test_the_repr_of_an_informer_shows_its_filter(client: Client) -> None:
    async with client.informer(WIDGETS) as whole, client.informer(WIDGETS, filter=LabelFilter("a=b")) as widgets:
        await widgets.wait_synced()
        await whole.wait_synced()

        assert repr(whole) == f"<Informer {WIDGETS} LIVE objects=3>"
        assert repr(widgets) == f"<Informer {WIDGETS} LIVE objects=3 filter=LabelFilter('a=b')>"
