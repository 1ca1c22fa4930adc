"""K8, K9, K23, K24: informers on existing resources."""

from __future__ import annotations

import pytest

from dynkube import ABSENT, Client, Unstructured
from tests.contract.cluster import Cluster
from tests.contract.informers.kit import CONFIGS, Recorder, change, names, put, resource, wait_live


def small(obj: Unstructured) -> bool:
    return int(obj["data"]["value"]) < 100


@pytest.mark.scenario("K8")
@pytest.mark.reads_bodies
async def test_updates_that_change_the_result_of_a_filter_are_adds_and_deletes(
    cluster: Cluster, client: Client
) -> None:
    recorder = Recorder()
    async with client.informer(CONFIGS, namespace=cluster.namespace, filter=small) as configs:
        recorder.attach(configs)
        await wait_live(configs)

        await put(cluster, "1", value="1")
        assert await recorder.take(1) == ["add/1"]
        assert names(configs.list(namespace=cluster.namespace)) == names(configs.list()) == ["1"]

        await change(cluster, "1", value="2")
        assert await recorder.take(1) == ["update/1"]
        assert [obj["data"] for obj in configs] == [{"value": "2"}]

        await put(cluster, "3", value="100")
        await put(cluster, "2", value="10")
        assert await recorder.take(1) == ["add/2"]
        assert (names(configs.list()), configs.get("3")) == (["1", "2"], None)

        await change(cluster, "3", value="5")
        assert await recorder.take(1) == ["add/3"]

        await change(cluster, "3", value="150")
        assert await recorder.take(1) == ["delete/3"]
        assert configs.get("3") is None


@pytest.mark.scenario("K8")
@pytest.mark.reads_bodies
async def test_deletes_of_hidden_objects_call_no_handler(cluster: Cluster, client: Client) -> None:
    for name, value in (("1", "1"), ("2", "10"), ("3", "100")):
        await put(cluster, name, value=value)
    recorder = Recorder()
    async with client.informer(CONFIGS, namespace=cluster.namespace, filter=small) as configs:
        recorder.attach(configs)
        await configs.wait_synced()
        assert sorted(await recorder.take(2)) == ["add/1", "add/2"]

        for name in ("3", "2", "1"):
            await cluster.delete("configmaps", name)

        assert await recorder.take(2) == ["delete/2", "delete/1"]
        assert configs.list() == []


@pytest.mark.scenario("K9")
async def test_a_removed_handler_is_not_called_and_the_others_continue(cluster: Cluster, client: Client) -> None:
    await put(cluster, "1")
    one, two, stays = Recorder(), Recorder(), Recorder()
    async with client.informer(CONFIGS, namespace=cluster.namespace) as configs:
        first, second = one.attach(configs), two.attach(configs)
        stays.attach(configs)
        assert [await recorder.take(1) for recorder in (one, two, stays)] == [["add/1"]] * 3

        second.remove()
        await change(cluster, "1", n="1")
        await stays.take(1)
        assert (await one.take(1), two.untaken) == (["update/1"], [])

        first.remove()
        await change(cluster, "1", n="2")
        await stays.take(1)
        assert (one.untaken, two.untaken) == ([], [])


@pytest.mark.scenario("K23")
async def test_a_client_without_informers_can_list(cluster: Cluster, client: Client) -> None:
    await cluster.create_crd()
    await cluster.create("widgets", cluster.widget("x"))

    assert names(await client.resource(resource(cluster)).list()) == ["x"]
    assert {"default", "kube-system", cluster.namespace} <= set(names(await client.resource("namespaces").list()))


@pytest.mark.scenario("K24")
async def test_an_informer_of_a_new_crd_syncs(cluster: Cluster, client: Client) -> None:
    await cluster.create_crd(cluster.crd("gadgets", "Gadget"))

    async with client.informer(resource(cluster, "gadgets")) as gadgets:
        await gadgets.wait_synced()

        assert gadgets.list() == []


async def test_a_singular_resource_name_is_absent_with_a_hint(client: Client) -> None:
    async with client.informer("pod.v1") as pods:
        state = await pods.wait_state(ABSENT)

        assert state.reason == "NotServed"
        assert "did you mean pods.v1? (resources are named in the plural)" in state.message
