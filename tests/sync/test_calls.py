"""Verbs, pages and watches of the blocking client."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import dynkube.sync
from dynkube.errors import ClosedError, DeadlineExceeded, InvalidInput, NotFound
from dynkube_testing import serve_in_thread
from tests.sync.kit import CONFIGMAPS, config_map, name_of

pytestmark = pytest.mark.real_time


def test_a_verb_returns_the_result_of_the_async_one(k: dynkube.sync.Client) -> None:
    created = k.resource(CONFIGMAPS).create(config_map("one", a="1"))

    assert k.resource(CONFIGMAPS).get("one", namespace="default") == created


def test_a_verb_raises_the_error_of_the_async_one(k: dynkube.sync.Client) -> None:
    with pytest.raises(NotFound, match='configmaps "none" not found'):
        k.resource(CONFIGMAPS).get("none")


def test_iterate_returns_the_objects_of_all_pages(k: dynkube.sync.Client) -> None:
    maps = k.resource(CONFIGMAPS)
    for name in ("a", "b", "c"):
        maps.create(config_map(name))

    objects = maps.iterate(page_size=2)

    assert [obj.name for obj in objects] == ["a", "b", "c"]
    assert objects.resource_version


def test_a_watch_returns_existing_and_new_objects(k: dynkube.sync.Client) -> None:
    maps = k.resource(CONFIGMAPS)
    maps.create(config_map("there"))

    with maps.watch(namespace="default") as events:
        first = next(events)
        maps.create(config_map("new"))
        second = next(events)

    assert (name_of(first), name_of(second)) == ("there", "new")


def test_after_a_timeout_the_next_event_can_be_requested_again(k: dynkube.sync.Client) -> None:
    maps = k.resource(CONFIGMAPS)

    with maps.watch(namespace="default") as events:
        with pytest.raises(DeadlineExceeded, match=r"no event within 0\.01 s"):
            events.next(0.01)
        maps.create(config_map("late"))

        assert name_of(next(events)) == "late"


def test_a_watch_that_was_not_entered_raises(k: dynkube.sync.Client) -> None:
    with pytest.raises(ClosedError, match="use it inside 'with"):
        next(k.resource(CONFIGMAPS).watch())


def test_a_watch_that_was_not_entered_has_nothing_pending(k: dynkube.sync.Client) -> None:
    watch = k.resource(CONFIGMAPS).watch()

    assert (watch.pending, watch.restarts, watch.last_error) == (0, 0, None)


def test_a_watch_that_was_not_entered_can_be_closed(k: dynkube.sync.Client) -> None:
    k.resource(CONFIGMAPS).watch().close()


def test_a_watch_without_references_ends(k: dynkube.sync.Client) -> None:
    watch = k.resource(CONFIGMAPS).watch().__enter__()
    held = watch._held

    del watch
    gc.collect()

    k._thread.call(held._ended.wait)
    assert held.ended


async def test_a_call_inside_a_trio_run_is_rejected(k: dynkube.sync.Client) -> None:
    with pytest.raises(InvalidInput, match=r"would block the trio run that calls it: use dynkube\.connect"):
        k.resource(CONFIGMAPS).list()


@pytest.mark.parametrize("timeout", [-1, float("nan"), "5", None])
def test_an_invalid_timeout_is_rejected(k: dynkube.sync.Client, timeout: Any) -> None:
    with k.resource(CONFIGMAPS).watch() as events, pytest.raises(InvalidInput, match="timeout must be a number"):
        events.next(timeout)


def test_apply_all_applies_many_objects(k: dynkube.sync.Client) -> None:
    report = k.apply_all([config_map("one"), config_map("two")])

    assert report.summary.startswith("2 created")


def test_a_subresource_is_read(k: dynkube.sync.Client) -> None:
    namespace = k.resource("namespaces").subresource("status").get("default")

    assert namespace["status"] == {"phase": "Active"}


def test_a_closed_client_raises_with_a_hint(k: dynkube.sync.Client) -> None:
    maps = k.resource(CONFIGMAPS)
    k.close()

    with pytest.raises(ClosedError, match=r"dynkube\.sync\.connect"):
        _ = k.namespace
    with pytest.raises(ClosedError, match="client is closed"):
        maps.list()


def test_closing_twice_is_allowed(k: dynkube.sync.Client) -> None:
    k.close()
    k.close()


def test_two_clients_can_be_used_side_by_side(k: dynkube.sync.Client) -> None:
    with serve_in_thread() as other, dynkube.sync.connect(url=other.url) as second:
        second.resource(CONFIGMAPS).create(config_map("theirs"))

        assert [len(client.resource(CONFIGMAPS).list(namespace="default")) for client in (k, second)] == [0, 1]
