"""K12-K17, G14, G16, G17, G19: filters that are changed, and indexes, which apply the filter."""

from __future__ import annotations

import pytest

from dynkube import Client, JSONPathFilter, LabelFilter, NamespaceFilter, PredicateFilter, Unstructured
from tests.contract.cluster import Cluster
from tests.contract.informers.kit import (
    CONFIGS,
    Recorder,
    add_namespace,
    change,
    drop_namespace,
    label_namespace,
    names,
    put,
    put_widget,
    resource,
    wait_live,
)


@pytest.mark.scenario("K12", "G16")
async def test_a_namespace_filter_on_namespaces_uses_their_labels(cluster: Cluster, client: Client) -> None:
    recorder = Recorder()
    only = NamespaceFilter(f"selected={cluster.namespace}")
    async with client.informer("namespaces.v1", filter=only) as namespaces:
        recorder.attach(namespaces)
        await namespaces.wait_synced()

        selected = await add_namespace(cluster, "selected", selected=cluster.namespace)
        await add_namespace(cluster, "other")
        assert await recorder.take(1) == [f"add/{selected}"]

        await drop_namespace(cluster, selected)
        events = await recorder.until(f"delete/{selected}")
        assert set(events[:-1]) <= {f"update/{selected}"}, "an object being deleted may change"
        assert (namespaces.list(), recorder.untaken) == ([], [])


@pytest.mark.scenario("K13")
async def test_a_filter_is_changed_on_informers_with_and_without_a_resource(cluster: Cluster, client: Client) -> None:
    selected = await add_namespace(cluster, "selected", team=cluster.namespace)
    events, removed = Recorder(), Recorder()
    labels = {"of": cluster.namespace}
    plain, late = client.informer(CONFIGS, label_selector=labels), client.informer(resource(cluster))
    async with plain, late:
        events.attach(plain)
        events.attach(late)
        other = removed.attach(plain)
        await put(cluster, "d1", labels=labels)
        assert (await events.take(1), await removed.take(1)) == (["add/d1"], ["add/d1"])

        other.remove()
        await put(cluster, "d2", namespace=selected, labels=labels)
        assert (await events.take(1), len(plain)) == (["add/d2"], 2)

        for informer in (plain, late):
            informer.set_filter(NamespaceFilter(f"team={cluster.namespace}"))
        assert (await events.take(1), len(plain)) == (["delete/d1"], 1)

        await cluster.create_crd()
        await put_widget(cluster, "name3")
        await cluster.create("widgets", cluster.widget("name4"), namespace=selected)
        await wait_live(late)
        assert (await events.take(1), removed.untaken) == (["add/name4"], [])


@pytest.mark.scenario("K13")
async def test_a_filter_change_does_not_call_a_removed_handler(cluster: Cluster, client: Client) -> None:
    await put(cluster, "a")
    gone, stays = Recorder(), Recorder()
    async with client.informer(CONFIGS, namespace=cluster.namespace, filter=LabelFilter("a=b")) as configs:
        handle = gone.attach(configs)
        stays.attach(configs)
        await configs.wait_synced()

        handle.remove()
        configs.set_filter(None)

        assert (await stays.take(1), gone.untaken) == (["add/a"], [])
        assert names(configs.list()) == ["a"]


@pytest.mark.scenario("K14")
async def test_cluster_scoped_objects_pass_a_namespace_filter(cluster: Cluster, client: Client) -> None:
    recorder = Recorder()
    labels = {"of": cluster.namespace}
    only = NamespaceFilter("nothing=matches")
    async with client.informer("nodes.v1", label_selector=labels, filter=only) as nodes:
        recorder.attach(nodes)
        await nodes.wait_synced()

        await cluster.create("nodes", {"metadata": {"name": cluster.namespace, "labels": labels}})

        assert await recorder.take(1) == [f"add/{cluster.namespace}"]


@pytest.mark.scenario("K15", "G17", "P5")
async def test_a_handler_can_list_and_change_filters_and_handlers(cluster: Cluster, client: Client) -> None:
    await put(cluster, "random")
    seen: list[list[str]] = []
    late = Recorder()

    def on_add(obj: Unstructured) -> None:
        seen.append(names(configs.list()))
        late.attach(configs)
        configs.set_filter(None)

    only = NamespaceFilter("selected=yes")
    async with client.informer(CONFIGS, namespace=cluster.namespace, filter=only) as configs:
        handle = configs.add_handler(on_add=on_add)
        await configs.wait_synced()
        assert seen == []

        await label_namespace(cluster, cluster.namespace, selected="yes")

        assert (await late.take(1), seen, handle.has_synced) == (["add/random"], [["random"]], True)


def account_and_node(obj: Unstructured) -> list[str]:
    data = obj["data"]
    return [f"{data['account']}/{data['node']}"] if "account" in data else []


@pytest.mark.scenario("K16")
@pytest.mark.reads_bodies
async def test_an_index_is_updated_with_its_objects(cluster: Cluster, client: Client) -> None:
    index = {"who": account_and_node}
    async with client.informer(CONFIGS, namespace=cluster.namespace, indexes=index) as configs:
        await configs.wait_synced()
        assert configs.by_index("who", "sa/n1") == []

        await put(cluster, "neither", node="n1")
        for name, account in (("p1", "sa"), ("p2", "sa2"), ("p3", "sa")):
            await configs.wait_for(await put(cluster, name, account=account, node="n1"))
        assert names(configs.by_index("who", "sa/n1")) == ["p1", "p3"]
        assert names(configs.by_index("who", "sa2/n1")) == ["p2"]

        await configs.wait_for(await change(cluster, "p1", account="new"))
        assert names(configs.by_index("who", "sa/n1")) == ["p3"]
        assert names(configs.by_index("who", "new/n1")) == ["p1"]

        for name in ("p1", "p2", "p3"):
            await cluster.delete("configmaps", name)
        await configs.wait_for(await put(cluster, "mark"))
        assert [configs.by_index("who", f"{who}/n1") for who in ("sa", "sa2", "new")] == [[], [], []]


@pytest.mark.scenario("K17", "P1")
@pytest.mark.reads_bodies
async def test_an_index_applies_the_filter_at_the_time_of_reading(cluster: Cluster, client: Client) -> None:
    a, b = await add_namespace(cluster, "a"), await add_namespace(cluster, "b")
    labels, current = {"of": cluster.namespace}, a
    for where, name, node in ((a, "pod", "one"), (a, "pod2", "two"), (b, "pod", "one"), (b, "pod2", "three")):
        await put(cluster, name, namespace=where, labels=labels, node=node)
    configs = client.informer(
        CONFIGS,
        label_selector=labels,
        indexes={"node": "{.data.node}"},
        filter=lambda obj: obj.namespace == current,
    )
    async with configs:
        await configs.wait_synced()

        def found() -> list[list[str]]:
            return [[o.namespace for o in configs.by_index("node", node)] for node in ("one", "two", "three")]

        assert found() == [[a], [a], []]
        current = b
        assert found() == [[b], [], [b]]
        current = "c"
        assert found() == [[], [], []]


@pytest.mark.scenario("G19", "F34")
async def test_refresh_filter_adds_and_deletes_the_objects_whose_result_has_changed(
    cluster: Cluster, client: Client
) -> None:
    for name in ("a", "b", "c"):
        await put(cluster, name)
    wanted = {"a", "b"}
    chosen = PredicateFilter(lambda obj: obj.name in wanted)
    recorder = Recorder()
    async with client.informer(CONFIGS, namespace=cluster.namespace, filter=chosen) as configs:
        recorder.attach(configs)
        await configs.wait_synced()
        assert sorted(await recorder.take(2)) == ["add/a", "add/b"]

        wanted = {"b", "c"}
        chosen.refresh_filter()

        assert sorted(await recorder.take(2)) == ["add/c", "delete/a"]


@pytest.mark.scenario("G14")
@pytest.mark.reads_bodies
async def test_a_combined_filter_hides_objects_that_one_part_hides(cluster: Cluster, client: Client) -> None:
    for name, team, more in (("a", "x", {}), ("b", "x", {"suspend": "yes"}), ("c", "y", {}), ("d", "x", {})):
        await put(cluster, name, labels={"team": team}, **more)
    recorder = Recorder()
    both = NamespaceFilter("selected=yes") & LabelFilter("team=x") & ~JSONPathFilter("{.data.suspend}")
    async with client.informer(CONFIGS, namespace=cluster.namespace, filter=both) as configs:
        recorder.attach(configs)
        await configs.wait_synced()

        await label_namespace(cluster, cluster.namespace, selected="yes")

        assert sorted(await recorder.take(2)) == ["add/a", "add/d"]
        await put(cluster, "mark", labels={"team": "x"})
        assert await recorder.take(1) == ["add/mark"]
        assert names(configs.list()) == ["a", "d", "mark"]
