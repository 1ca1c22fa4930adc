"""K33-K35 and G13, G15: filters by the labels of namespaces, which change."""

from __future__ import annotations

import pytest

from dynkube import Client, NamespaceFilter
from tests.contract.cluster import Cluster
from tests.contract.informers.kit import CONFIGS, Recorder, add_namespace, drop_namespace, label_namespace, names, put


@pytest.fixture
async def labels(cluster: Cluster) -> dict[str, str]:
    """The labels of all objects: s1 and s2 in the namespace with suffix a, s3 in b and s4 in c."""
    labels = {"of": cluster.namespace}
    for suffix, contents in (("a", ["s1", "s2"]), ("b", ["s3"]), ("c", ["s4"])):
        namespace = await add_namespace(cluster, suffix, name=f"{cluster.namespace}-{suffix}")
        for name in contents:
            await put(cluster, name, namespace=namespace, labels=labels)
    return labels


@pytest.mark.scenario("K33", "F34")
async def test_objects_are_added_and_deleted_when_the_labels_of_their_namespace_change(
    cluster: Cluster, client: Client, labels: dict[str, str]
) -> None:
    recorder, where = Recorder(), f"{cluster.namespace}-a"
    either = NamespaceFilter(f"discover={cluster.namespace}", f"name={cluster.namespace}-c")
    async with client.informer(CONFIGS, label_selector=labels, filter=either) as configs:
        recorder.attach(configs)
        await configs.wait_synced()
        assert await recorder.take(1) == ["add/s4"]

        await label_namespace(cluster, where, discover=cluster.namespace)
        assert sorted(await recorder.take(2)) == ["add/s1", "add/s2"]
        assert names(configs.list()) == ["s1", "s2", "s4"]

        await label_namespace(cluster, where, discover=None)
        assert sorted(await recorder.take(2)) == ["delete/s1", "delete/s2"]
        assert names(configs.list()) == ["s4"]


@pytest.mark.scenario("K34")
async def test_each_change_of_the_filter_adds_and_deletes_the_difference(
    cluster: Cluster, client: Client, labels: dict[str, str]
) -> None:
    a, b = f"name={cluster.namespace}-a", f"name={cluster.namespace}-b"
    changes = [
        (NamespaceFilter(a), ["delete/s3", "delete/s4"], ["s1", "s2"]),
        (NamespaceFilter(b), ["add/s3", "delete/s1", "delete/s2"], ["s3"]),
        (NamespaceFilter(a, b), ["add/s1", "add/s2"], ["s1", "s2", "s3"]),
        (None, ["add/s4"], ["s1", "s2", "s3", "s4"]),
    ]
    recorder = Recorder()
    async with client.informer(CONFIGS, label_selector=labels) as configs:
        recorder.attach(configs)
        await configs.wait_synced()
        await recorder.take(4)

        for chosen, events, listed in changes:
            configs.set_filter(chosen)
            assert sorted(await recorder.take(len(events))) == events
            assert names(configs.list()) == listed
        assert recorder.untaken == []


@pytest.mark.scenario("K35")
async def test_namespaces_that_match_any_selector_are_added(cluster: Cluster, client: Client) -> None:
    recorder, of = Recorder(), f"of={cluster.namespace}"
    either = NamespaceFilter(f"env=prod,{of}", f"team,team notin (legacy),{of}")
    async with client.informer("namespaces.v1", filter=either) as namespaces:
        recorder.attach(namespaces)
        await namespaces.wait_synced()
        choices: list[tuple[str, dict[str, str]]] = [("a", {"env": "prod"}), ("b", {"team": "x"})]
        choices += [("c", {"team": "legacy"}), ("d", {}), ("e", {"env": "prod"})]
        a, b, c, _, e = [await add_namespace(cluster, key, of=cluster.namespace, **more) for key, more in choices]
        assert await recorder.take(3) == [f"add/{a}", f"add/{b}", f"add/{e}"]

        namespaces.set_filter(NamespaceFilter(f"team=legacy,{of}"))

        assert sorted(await recorder.take(4)) == [f"add/{c}", f"delete/{a}", f"delete/{b}", f"delete/{e}"]


@pytest.mark.scenario("G13")
async def test_a_filter_changed_and_changed_back_causes_no_events(
    cluster: Cluster, client: Client, labels: dict[str, str]
) -> None:
    recorder = Recorder()
    one, other = NamespaceFilter(f"name={cluster.namespace}-a"), NamespaceFilter(f"name={cluster.namespace}-b")
    async with client.informer(CONFIGS, label_selector=labels, filter=one) as configs:
        recorder.attach(configs)
        await configs.wait_synced()
        await recorder.take(2)

        for chosen in (other, one, other, one):
            configs.set_filter(chosen)
        await put(cluster, "mark", namespace=f"{cluster.namespace}-a", labels=labels)

        assert await recorder.take(1) == ["add/mark"]
        assert names(configs.list()) == ["mark", "s1", "s2"]


@pytest.mark.scenario("G15")
async def test_objects_are_deleted_once_if_their_namespace_is_deleted_first(
    cluster: Cluster, client: Client, labels: dict[str, str]
) -> None:
    recorder, where = Recorder(), f"{cluster.namespace}-a"
    either = NamespaceFilter(f"name={where}", f"name={cluster.namespace}-c")
    async with client.informer(CONFIGS, label_selector=labels, filter=either) as configs:
        recorder.attach(configs)
        await configs.wait_synced()
        await recorder.take(3)

        await drop_namespace(cluster, where)
        await put(cluster, "mark", namespace=f"{cluster.namespace}-c", labels=labels)

        assert sorted(await recorder.take(3)) == ["add/mark", "delete/s1", "delete/s2"]
        assert names(configs.list()) == ["mark", "s4"]
