"""With an alpha feature gate, kube-apiserver selects the same objects for a hash shard as the client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import dynkube
from dynkube import GVR, FieldSelector, HashShard, LabelSelector
from dynkube.client._listwatch import ListWatch
from dynkube.errors import ControlPlaneError
from dynkube_testing import ControlPlane

CONFIGS = GVR("", "v1", "configmaps")
NAMES = {f"c{number}" for number in range(40)}

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def sharding_plane(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    folder, gates = tmp_path_factory.mktemp("sharding") / "plane", {"feature-gates": "ShardedListAndWatch=true"}
    try:
        with ControlPlane(assets, folder=folder, keep=False, api_server_flags=gates) as plane:
            yield plane
    except ControlPlaneError as exc:
        if "unrecognized feature gate" not in str(exc):
            raise
        pytest.skip("shardSelector came with 1.36")


async def test_kube_apiserver_selects_the_same_objects_for_each_shard(sharding_plane: ControlPlane) -> None:
    async with dynkube.connect(kubeconfig=sharding_plane.kubeconfig()) as client:
        for name in NAMES:
            config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
            await client.resource("configmaps").create(config)
        for count in (1, 2, 3, 7):
            shards = [HashShard(index, count) for index in range(count)]
            listed = [await objects_of(client, shard) for shard in shards]
            assert sorted(obj.name for part in listed for obj in part) == sorted(NAMES)
            assert all(shard.matches(obj) for shard, part in zip(shards, listed, strict=True) for obj in part)


async def objects_of(client: dynkube.Client, shard: HashShard) -> dynkube.UnstructuredList:
    """List the objects of a shard, without the client's own filter."""
    rest, labels, fields = client._layers()[0].rest, LabelSelector(), FieldSelector()
    source = ListWatch(rest, CONFIGS, namespace="default", label_selector=labels, field_selector=fields)
    return await source.read(await rest.request(replace(source.list_request(), params={"shardSelector": str(shard)})))
