"""Updates with unchanged objects: they write only if the stored form would change."""

from __future__ import annotations

from tests.contract.cluster import Cluster
from tests.contract.events import types_and_names
from tests.contract.objects import CRDS, JSONObject, version
from tests.contract.schemas.kit import STRING, fields, serve, update_field_schema


async def _revisions(cluster: Cluster, resource: str = "widgets", times: int = 3) -> list[str]:
    """Return the resourceVersion after each of several updates without changes."""
    found = []
    for _ in range(times):
        body = await cluster.get(resource, "w")
        found.append((await cluster.update(resource, body))["metadata"]["resourceVersion"])
    return found


async def test_an_update_without_changes_writes_nothing(cluster: Cluster) -> None:
    await serve(cluster, STRING)
    created = await cluster.create("widgets", cluster.widget(spec={"f": "x"}))

    assert set(await _revisions(cluster)) == {created["metadata"]["resourceVersion"]}


async def test_an_update_without_changes_writes_nothing_after_a_change_of_a_description(cluster: Cluster) -> None:
    await serve(cluster, STRING)
    created = await cluster.create("widgets", cluster.widget(spec={"f": "x"}))
    await update_field_schema(cluster, {**STRING, "description": "another"})

    assert set(await _revisions(cluster)) == {created["metadata"]["resourceVersion"]}


async def test_the_next_write_stores_a_new_default(cluster: Cluster) -> None:
    await serve(cluster, fields(a=STRING))
    created = await cluster.create("widgets", cluster.widget(spec={"f": {"a": "x"}}))
    await update_field_schema(cluster, fields(a=STRING, g={**STRING, "default": "d"}))

    first, *others = await _revisions(cluster)

    assert first != created["metadata"]["resourceVersion"]
    assert set(others) == {first}
    assert (await cluster.get("widgets", "w"))["metadata"]["generation"] == 1


async def test_the_second_write_stores_a_default_status(cluster: Cluster) -> None:
    schema = fields(status={**fields(phase=STRING), "default": {"phase": "New"}})
    served = version(schema={"openAPIV3Schema": schema}, subresources={"status": {}})
    await cluster.create_crd(cluster.crd(versions=[served]))

    async with cluster.watch("widgets") as events:
        created = await cluster.create("widgets", cluster.widget())
        first, *others = await _revisions(cluster)
        await cluster.create("widgets", cluster.widget("mark"))
        assert types_and_names(await events.until("mark")) == [("ADDED", "w"), ("MODIFIED", "w"), ("ADDED", "mark")]

    assert created["status"] == {"phase": "New"}
    assert first != created["metadata"]["resourceVersion"]
    assert set(others) == {first}


async def test_an_update_without_changes_stores_the_object_in_a_new_storage_version(cluster: Cluster) -> None:
    def versions(stored: str) -> list[JSONObject]:
        return [version(name, storage=name == stored) for name in ("v1", "v2")]

    defined = await cluster.create_crd(cluster.crd(versions=versions("v1")))
    created = await cluster.create("widgets.v1", cluster.widget(spec={"a": 1}))
    async with cluster.watch("widgets.v1") as events:
        await cluster.patch(CRDS, defined["metadata"]["name"], {"spec": {"versions": versions("v2")}})
        await events.rest()
    await cluster.until_served("widgets.v1")

    first, *others = await _revisions(cluster, "widgets.v1")

    assert first != created["metadata"]["resourceVersion"]
    assert set(others) == {first}
    assert (await cluster.get("widgets.v1", "w"))["spec"] == {"a": 1}
