"""``force`` with paths: takes over the fields at these paths and no others."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import Change, Client, FieldPath, Unstructured, fields_of
from dynkube.errors import ApplyConflict, Conflict
from tests.contract.cluster import Cluster


def config(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


@pytest.fixture
async def options(cluster: Cluster, client: Client) -> dict[str, Any]:
    """Namespace and field manager; another manager owns ``a`` and ``b`` there."""
    maps = client.resource("configmaps")
    await maps.apply(config(a="1", b="1"), namespace=cluster.namespace, field_manager="first")
    return {"namespace": cluster.namespace, "field_manager": "me"}


async def test_fields_at_the_forced_paths_are_taken_over(client: Client, options: dict[str, Any]) -> None:
    applied = await client.resource("configmaps").apply(config(a="2", b="1"), force=[".data.a"], **options)

    assert (applied["data"], applied.change) == ({"a": "2", "b": "1"}, Change.CHANGED)
    assert set(map(str, fields_of(applied, "first"))) == {".data.b"}
    assert set(map(str, fields_of(applied, "me"))) == {".data.a", ".data.b"}


async def test_other_fields_are_conflicts_and_nothing_is_written(client: Client, options: dict[str, Any]) -> None:
    maps = client.resource("configmaps")

    with pytest.raises(ApplyConflict) as caught:
        await maps.apply(config(a="2", b="2"), force=[FieldPath.parse(".data.a")], **options)

    (conflict,) = caught.value.conflicts
    assert (conflict.path, conflict.manager, conflict.ours, conflict.live) == (".data.b", "first", "2", "1")
    assert (await maps.get("a", namespace=options["namespace"]))["data"] == {"a": "1", "b": "1"}


async def test_a_path_includes_the_fields_below_it(client: Client, options: dict[str, Any]) -> None:
    applied = await client.resource("configmaps").apply(config(a="2", b="2"), force=[".data"], **options)

    assert applied["data"] == {"a": "2", "b": "2"}
    assert not fields_of(applied, "first")


async def test_a_dry_run_writes_nothing(client: Client, options: dict[str, Any]) -> None:
    maps = client.resource("configmaps")

    tried = await maps.apply(config(a="2"), force=[".data.a"], dry_run=True, **options)

    assert (tried["data"]["a"], tried.change) == ("2", Change.CHANGED)
    assert (await maps.get("a", namespace=options["namespace"]))["data"] == {"a": "1", "b": "1"}


async def test_without_a_conflict_paths_have_no_effect(client: Client, options: dict[str, Any]) -> None:
    applied = await client.resource("configmaps").apply(config(c="1"), force=[".data.a"], **options)

    assert applied["data"] == {"a": "1", "b": "1", "c": "1"}
    assert ".data.a" in fields_of(applied, "first")


async def test_an_empty_list_of_paths_forces_nothing(client: Client, options: dict[str, Any]) -> None:
    with pytest.raises(ApplyConflict):
        await client.resource("configmaps").apply(config(a="2"), force=[], **options)


async def test_a_resource_version_given_by_the_caller_is_a_precondition(
    client: Client, options: dict[str, Any]
) -> None:
    maps = client.resource("configmaps")
    first = await maps.get("a", namespace=options["namespace"])
    await maps.patch("a", {"data": {"c": "1"}}, namespace=options["namespace"])
    stale = Unstructured(config(a="2")).transform(["metadata", "resourceVersion"], first.resource_version)

    with pytest.raises(Conflict, match="the object has been modified"):
        await maps.apply(stale, force=[".data.a"], **options)


async def test_fields_with_wrong_paths_in_an_old_servers_response_are_not_taken_over(
    cluster: Cluster, client: Client
) -> None:
    """v1.20 returns two conflicts of ``image`` instead of ``args`` and ``image``."""
    deployments = client.resource("deployments")

    def deployment(**fields: Any) -> dict[str, Any]:
        containers = [{"name": "web", **fields}]
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}

    await deployments.apply(deployment(args=["a"], image="web:1"), namespace=cluster.namespace, field_manager="first")
    image = '.spec.template.spec.containers[name="web"].image'

    with pytest.raises(ApplyConflict) as caught:
        await deployments.apply(deployment(args=["b"], image="web:2"), namespace=cluster.namespace, force=[image])

    assert [each.path for each in caught.value.conflicts] == ['.spec.template.spec.containers[name="web"].args']


async def test_without_any_owner_only_fields_at_the_paths_are_taken_over(
    client: Client, options: dict[str, Any]
) -> None:
    maps, where = client.resource("configmaps"), options["namespace"]
    await maps.release_fields(
        "a", ".", "first", namespace=where
    )  # all fields now count as written before the first apply

    with pytest.raises(ApplyConflict) as caught:
        await maps.apply(config(a="2", b="2"), force=[".data.a"], **options)

    (conflict,) = caught.value.conflicts
    assert (conflict.path, conflict.ours, conflict.live) == (".data.b", "2", "1")
    assert (await maps.get("a", namespace=where))["data"] == {"a": "1", "b": "1"}


async def test_without_any_owner_a_name_with_a_dot_is_not_taken_for_a_path(
    client: Client, options: dict[str, Any]
) -> None:
    maps, where = client.resource("configmaps"), options["namespace"]
    await maps.apply(config(**{"a.b": "1"}), namespace=where, field_manager="first")
    await maps.release_fields("a", ".", "first", namespace=where)

    with pytest.raises(ApplyConflict):
        await maps.apply(config(**{"a.b": "2"}), force=[".data.a"], **options)
    applied = await maps.apply(config(**{"a.b": "2"}), force=['.data["a.b"]'], **options)

    assert applied["data"]["a.b"] == "2"
