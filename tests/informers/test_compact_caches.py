"""Informers that store objects compressed: the same reads, events, filters and indexes."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from random import Random

import pytest

import dynkube
from dynkube import Client, Informer, JSONPathFilter
from dynkube.errors import ConfigError, InvalidInput
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, Recorder, crd, quiet, replace, widget

COUNT = 200


@pytest.fixture
async def widgets(server: APIServer) -> AsyncIterator[Informer]:
    """An informer with a compact cache, of 200 objects that resemble each other."""
    server.create(crd())
    for number in range(COUNT):
        server.create(widget(f"w{number:03}", size=number % 3, text="the same in all of them, " * 20))
    settings = dynkube.InformerSettings(random=Random(7), compact=True)
    async with dynkube.connect(transport=server.transport(), settings=settings) as client:
        informer = client.informer(WIDGETS, indexes={"size": "{.spec.size}"})
        async with informer:
            await informer.wait_synced()
            yield informer


def stored(informer: Informer) -> int:
    """Return how many bytes the bodies in the cache take."""
    return sum(len(obj._raw) for obj in informer)


async def test_a_compact_cache_stores_most_objects_compressed(widgets: Informer, server: APIServer) -> None:
    assert sum(obj._common.codec is not None for obj in widgets) == COUNT - 63
    assert stored(widgets) < sum(len(obj.json) for obj in widgets) / 2
    assert [obj["spec"] for obj in widgets] == [server.get("widgets", obj.name, "default")["spec"] for obj in widgets]


async def test_filters_and_indexes_read_compressed_objects(widgets: Informer) -> None:
    assert len(widgets.by_index("size", "1")) == 67

    widgets.set_filter(JSONPathFilter("{.spec.size}", equals="2"))

    assert {obj["spec"]["size"] for obj in widgets} == {2}
    assert len(widgets) == 66


async def test_handlers_get_the_changes_of_compressed_objects(widgets: Informer, server: APIServer) -> None:
    recorder = Recorder()
    recorder.attach(widgets)
    assert len(await recorder.drain()) == COUNT

    replace(server, widget("w150", size=9))
    server.delete("widgets", "w151", "default")

    assert await recorder.drain() == ["update/w150", "delete/w151"]
    assert widgets.by_index("size", "9") == [widgets.get("w150")]


async def test_an_identical_list_after_a_failure_causes_no_events(widgets: Informer, server: APIServer) -> None:
    recorder = Recorder()
    recorder.attach(widgets)
    await recorder.drain()

    server.compact()
    server.end_watches("widgets", how="clean")

    assert await recorder.drain() == []
    assert len(widgets) == COUNT


async def test_one_informer_may_have_a_compact_cache_of_its_own(server: APIServer, client: Client) -> None:
    server.create(crd())

    async with (
        client.informer(WIDGETS),
        client.informer(WIDGETS, compact=False),
        client.informer(WIDGETS, compact=True),
    ):
        await quiet()

        assert sorted(status.users for status in client.informers()) == [1, 2]


def test_a_missing_package_is_reported_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)  # importing it raises ImportError

    with pytest.raises(ConfigError, match=r"requires the package zstandard: pip install 'dynkube\[compact\]'"):
        dynkube.InformerSettings(compact=True)


async def test_a_setting_that_is_no_bool_is_rejected(client: Client) -> None:
    with pytest.raises(InvalidInput, match="compact must be True or False, not 1"):
        client.informer(WIDGETS, compact=1)  # type: ignore[arg-type]  # on purpose
