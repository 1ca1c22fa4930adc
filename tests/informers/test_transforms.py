"""Transforms: by default informers drop managedFields; without a transform they keep everything."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dynkube import Client, Informer, Unstructured, connect, drop_managed_fields
from dynkube_testing import APIServer

CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "default"},
    "data": {"x": "y"},
}
CONFIGS = "configmaps.v1."


@pytest.fixture
async def tracking() -> AsyncIterator[Client]:
    """A client of a server that tracks field ownership."""
    async with APIServer(managed_fields=True) as server, connect(transport=server.transport()) as client:
        yield client


async def cached(informer: Informer) -> Unstructured:
    """Return the only cached object in the namespace default."""
    async with informer:
        await informer.wait_synced()
        [found] = [obj for obj in informer if obj.namespace == "default"]
        return found


async def test_managed_fields_are_not_cached(tracking: Client) -> None:
    written = await tracking.resource("configmaps").create(CONFIG)
    assert "managedFields" in written["metadata"]

    config = await cached(tracking.informer(CONFIGS))

    assert config == drop_managed_fields(written)
    assert "managedFields" not in config["metadata"]


async def test_managed_fields_are_dropped_by_the_decoder_only(
    tracking: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("dynkube.informers._cache.transform.cut_managed_fields")
    await tracking.resource("configmaps").create(CONFIG)

    assert "managedFields" not in (await cached(tracking.informer(CONFIGS)))["metadata"]


async def test_a_transform_that_raises_is_reported_and_the_object_is_kept_as_it_was_received(
    tracking: Client, caplog: pytest.LogCaptureFixture
) -> None:
    written = await tracking.resource("configmaps").create(CONFIG)

    def transform(obj: Unstructured) -> Unstructured:
        raise LookupError(obj.name)

    async with tracking.informer(CONFIGS, namespace="default", transform=transform) as informer:
        await informer.wait_synced()

        assert informer.list() == [written]
        assert informer.statistics().last_error == f"transform on {written!r}: LookupError: a"
    assert [record.levelname for record in caplog.records if "transform on" in record.getMessage()] == ["ERROR"]


async def test_without_a_transform_objects_are_cached_as_they_were_received(tracking: Client) -> None:
    written = await tracking.resource("configmaps").create(CONFIG)

    assert await cached(tracking.informer(CONFIGS, transform=None)) == written
