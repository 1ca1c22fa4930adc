"""Informers of a set of namespaces: names, names that change, labels; and rights that come and go."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import trio

import dynkube
from dynkube import ABSENT, LIVE, Client, Informer, NamespaceSet
from dynkube.errors._evidence import CONFIRMATION
from tests.contract.access.kit import binding, role, rule, user_of
from tests.contract.cluster import Cluster
from tests.contract.events import GIVE_UP
from tests.contract.informers.kit import (
    CONFIGS,
    Recorder,
    add_namespace,
    drop_namespace,
    label_namespace,
    names,
    put,
    put_widget,
    resource,
    wait_live,
)

pytestmark = pytest.mark.one_collection("they choose the namespaces themselves")

READ = rule("list watch", "configmaps")
OURS = {"made-by": "test"}  # labels of the objects: some real servers add others
QUICK = dynkube.InformerSettings(access_interval=0.1)


async def add_namespaces(cluster: Cluster, count: int) -> list[str]:
    """Create namespaces that have one object each, named like the namespace."""
    added = [await add_namespace(cluster, f"s{number}", of=cluster.namespace) for number in range(count)]
    for namespace in added:
        await put(cluster, namespace, namespace=namespace, labels=OURS)
    return added


async def grant(cluster: Cluster, user: str, *namespaces: str) -> None:
    """Give a user the right to list and watch ConfigMaps in namespaces."""
    for namespace in namespaces:
        await cluster.create("roles", role("reader", READ), namespace=namespace)
        await cluster.create("rolebindings", binding("reader", "Role", "reader", user), namespace=namespace)


async def revoke(cluster: Cluster, *namespaces: str) -> None:
    """Take the right away."""
    for namespace in namespaces:
        await cluster.delete("rolebindings", "reader", namespace=namespace)
        await cluster.delete("roles", "reader", namespace=namespace)


async def may_list(client: Client, namespaces: list[str]) -> list[str]:
    """Return the objects that the user may list, according to the server."""
    found: list[str] = []
    for namespace in namespaces:
        if await client.auth_can_i("list", CONFIGS, namespace=namespace):
            found += names(await client.resource(CONFIGS).list(namespace=namespace, label_selector=OURS))
    return sorted(found)


async def until(informer: Informer, condition: Callable[[], bool]) -> None:
    """Wait until a condition holds after a change of the informer."""
    with trio.fail_after(GIVE_UP + CONFIRMATION.rights):
        while not condition():
            await informer._progress("change")


async def test_the_content_is_what_the_user_may_list_while_rights_come_and_go(
    cluster: Cluster, connect: Callable[..., Client]
) -> None:
    ten, user, recorder = await add_namespaces(cluster, 10), user_of(cluster), Recorder()
    await grant(cluster, user, *ten[:3])
    async with (
        connect(user=user, settings=QUICK) as client,
        client.informer(CONFIGS, label_selector=OURS, namespaces=ten) as configs,
    ):
        recorder.attach(configs)
        for change, expected in (
            (None, ten[:3]),
            (partial(grant, cluster, user, ten[7]), [*ten[:3], ten[7]]),
            (partial(revoke, cluster, *ten[:2]), [ten[2], ten[7]]),
        ):
            if change is not None:
                await change()
            await until(configs, lambda: names(configs.list()) == expected)  # noqa: B023  # awaited in this iteration
            assert await may_list(client, ten) == expected

        assert {name for name, each in configs.namespaces.items() if each.state.phase is LIVE} == {ten[2], ten[7]}
        assert {each.state.reason for each in configs.namespaces.values()} == {"Watching", "Forbidden"}
        await configs.wait_synced()
        adds, deletes = [f"add/{name}" for name in (*ten[:3], ten[7])], [f"delete/{name}" for name in ten[:2]]
        assert sorted(recorder.untaken) == sorted([*adds, *deletes])


async def test_without_any_right_the_informer_is_absent_and_synced(
    cluster: Cluster, connect: Callable[..., Client]
) -> None:
    two = await add_namespaces(cluster, 2)
    async with (
        connect(user=user_of(cluster)) as client,
        client.informer(CONFIGS, label_selector=OURS, namespaces=two) as configs,
    ):
        with trio.fail_after(GIVE_UP):
            await configs.wait_synced()

        assert (configs.list(), configs.state.phase, configs.state.reason) == ([], ABSENT, "Forbidden")
        assert configs.state.message.startswith(f"forbidden: {two[0]}, {two[1]} (2 of 2 namespaces): ")


async def test_names_that_are_added_and_removed_add_and_delete_their_objects(cluster: Cluster, client: Client) -> None:
    first, second, third = await add_namespaces(cluster, 3)
    chosen, recorder = NamespaceSet([first, second]), Recorder()
    async with client.informer(CONFIGS, label_selector=OURS, namespaces=chosen) as configs:
        await configs.wait_synced()
        recorder.attach(configs)
        assert sorted(await recorder.take(2)) == [f"add/{first}", f"add/{second}"]

        chosen.replace([second, third])
        assert sorted(await recorder.take(2)) == [f"add/{third}", f"delete/{first}"]
        assert names(configs.list()) == [second, third]
        await wait_live(configs)

        await configs.wait_for(await put(cluster, "marker", namespace=second, labels=OURS))
        assert await recorder.take(1) == ["add/marker"]
        assert set(configs.namespaces) == {second, third}


async def test_namespaces_come_and_go_with_their_labels(cluster: Cluster, client: Client) -> None:
    first, second = await add_namespaces(cluster, 2)
    await label_namespace(cluster, first, team=cluster.namespace)
    async with client.informer(CONFIGS, label_selector=OURS, namespaces={"team": cluster.namespace}) as configs:
        await configs.wait_synced()
        assert names(configs.list()) == [first]

        await label_namespace(cluster, second, team=cluster.namespace)
        await until(configs, lambda: names(configs.list()) == [first, second])

        await label_namespace(cluster, first, team=None)
        await until(configs, lambda: names(configs.list()) == [second])

        await drop_namespace(cluster, second)
        await until(configs, lambda: names(configs.list()) == [] and not configs.namespaces)
        assert (configs.state.phase, configs.state.message) == (LIVE, "no namespace is selected")


async def test_a_namespace_that_does_not_exist_is_empty_until_it_is_created(cluster: Cluster, client: Client) -> None:
    later = f"{cluster.namespace}-later"
    async with client.informer(CONFIGS, label_selector=OURS, namespaces=[cluster.namespace, later]) as configs:
        await configs.wait_synced()
        await wait_live(configs)

        await add_namespace(cluster, "later")
        created = await put(cluster, "a", namespace=later, labels=OURS)
        with trio.fail_after(GIVE_UP):
            await configs.wait_for(created)
        assert names(configs.list()) == names(configs.list(namespace=later)) == ["a"]
        found = configs.get("a", namespace=later)
        assert found is not None
        assert found.uid == created.uid


async def test_a_resource_that_is_installed_later_is_listed_in_each_namespace(cluster: Cluster, client: Client) -> None:
    await add_namespace(cluster, "other")
    both = [cluster.namespace, f"{cluster.namespace}-other"]
    recorder = Recorder()
    async with client.informer(resource(cluster), namespaces=both) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        assert (widgets.state.phase, dict(widgets.namespaces)) == (ABSENT, {})

        await cluster.create_crd()
        await put_widget(cluster, "a")
        assert await recorder.take(1) == ["add/a"]
        await wait_live(widgets)
        assert {name: each.objects for name, each in widgets.namespaces.items()} == dict(zip(both, (1, 0), strict=True))

        await cluster.delete_crd()
        assert await recorder.take(1) == ["delete/a"]
        await until(widgets, lambda: widgets.state.phase is ABSENT)
