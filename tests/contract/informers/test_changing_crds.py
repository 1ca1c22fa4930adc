"""Failure modes 2, 4, 5 and 10: CRDs that are changed, migrated or terminating while an informer follows them."""

from __future__ import annotations

import pytest
import trio

from dynkube import ABSENT, LIVE, Client, Unstructured
from dynkube.errors import Forbidden, MethodNotAllowed
from tests.contract.cluster import Cluster
from tests.contract.events import GIVE_UP
from tests.contract.informers.kit import Recorder, names, put_widget, resource, wait_live
from tests.contract.objects import CRDS, JSONObject, conditions, version
from tests.informers.folding import Subscription

HOLD = "example.com/hold"


@pytest.mark.scenario("F2")
async def test_2_a_name_conflict_of_an_established_crd_does_not_affect_its_informer(
    cluster: Cluster, client: Client
) -> None:
    await cluster.create_crd(cluster.crd("gadgets", "Gadget", names=named("gadgets", "Gadget", "wd")))
    defined = await cluster.create_crd()
    await put_widget(cluster, "a")
    recorder = Recorder()
    async with client.informer(resource(cluster)) as widgets:
        recorder.attach(widgets)
        await wait_live(widgets)

        edited = await cluster.patch(
            CRDS, defined["metadata"]["name"], {"spec": {"names": named("widgets", "Widget", "wd")}}
        )
        await cluster.wait_for(CRDS, edited, lambda found: conditions(found)["NamesAccepted"][0] == "False")
        await put_widget(cluster, "b")

        assert await recorder.take(2) == ["add/a", "add/b"]
        assert widgets.state.phase is LIVE


def named(plural: str, kind: str, short: str) -> JSONObject:
    return {"plural": plural, "kind": kind, "shortNames": [short]}


def versions(*names: str, stored: str, served: tuple[str, ...] | None = None) -> list[JSONObject]:
    return [version(name, storage=name == stored, served=served is None or name in served) for name in names]


@pytest.mark.scenario("F4")
async def test_4_a_new_preferred_version_does_not_affect_an_informer_with_a_version(
    cluster: Cluster, client: Client
) -> None:
    defined = await cluster.create_crd(cluster.crd(versions=versions("v1beta1", stored="v1beta1")))
    await cluster.create("widgets", cluster.widget("a", api_version="v1beta1"))
    recorder = Recorder()
    async with client.informer(resource(cluster, version="v1beta1")) as old:
        recorder.attach(old)
        assert await recorder.take(1) == ["add/a"]
        async with client.informer(f"widgets.{cluster.group}") as preferred:
            assert str(preferred.gvr) == resource(cluster, version="v1beta1")

        more = versions("v1beta1", "v1", stored="v1beta1")
        await cluster.patch(CRDS, defined["metadata"]["name"], {"spec": {"versions": more}})
        async with client.informer(resource(cluster)) as new:
            await wait_live(new)
        await cluster.until_served("widgets")
        await cluster.create("widgets", cluster.widget("b", api_version="v1beta1"))

        assert await recorder.take(1) == ["add/b"]
        assert {obj.api_version for obj in old} == {f"{cluster.group}/v1beta1"}

        async def means_the_new_one() -> bool:
            async with client.informer(f"widgets.{cluster.group}") as preferred:
                return preferred.gvr == new.gvr

        await cluster.until(means_the_new_one)


@pytest.mark.scenario("F4")
async def test_4_an_informer_without_a_version_changes_to_the_new_preferred_version(
    cluster: Cluster, client: Client
) -> None:
    defined = await cluster.create_crd(cluster.crd(versions=versions("v1beta1", stored="v1beta1")))
    await cluster.create("widgets", cluster.widget("a", api_version="v1beta1"))
    recorder = Recorder()
    async with client.informer(f"widgets.{cluster.group}") as widgets:
        recorder.attach(widgets)
        assert await recorder.take(1) == ["add/a"]
        assert {obj.api_version for obj in widgets} == {f"{cluster.group}/v1beta1"}

        more = versions("v1beta1", "v1", stored="v1beta1")
        await cluster.patch(CRDS, defined["metadata"]["name"], {"spec": {"versions": more}})
        assert await recorder.take(1) == ["update/a"]
        await cluster.create("widgets", cluster.widget("b", api_version="v1beta1"))
        assert await recorder.take(1) == ["add/b"]

        assert str(widgets.gvr) == resource(cluster)
        assert {obj.api_version for obj in widgets} == {f"{cluster.group}/v1"}


@pytest.mark.scenario("F5", "P7")
async def test_5_objects_of_a_terminating_crd_are_followed_until_they_are_deleted(
    cluster: Cluster, client: Client
) -> None:
    defined = await cluster.create_crd()
    await put_widget(cluster, "a")
    await cluster.create("widgets", cluster.widget("held", metadata={"name": "held", "finalizers": [HOLD]}))
    recorder = Recorder()
    async with client.informer(resource(cluster)) as widgets:
        recorder.attach(widgets)
        assert sorted(await recorder.take(2)) == ["add/a", "add/held"]
        await wait_live(widgets)

        await cluster.delete(CRDS, defined["metadata"]["name"])
        assert sorted(await recorder.take(2)) == ["delete/a", "update/held"]
        with pytest.raises((Forbidden, MethodNotAllowed)):
            await put_widget(cluster, "late")
        assert (names(widgets.list()), widgets.state.phase) == (["held"], LIVE)

        await cluster.patch("widgets", "held", {"metadata": {"finalizers": None}})
        await widgets.wait_state(ABSENT)
        assert (await recorder.take(1), recorder.untaken, widgets.list()) == (["delete/held"], [], [])


@pytest.mark.scenario("F5")
async def test_5_an_informer_started_on_a_terminating_crd_shows_the_remaining_objects(
    cluster: Cluster, client: Client
) -> None:
    defined = await cluster.create_crd()
    await cluster.create("widgets", cluster.widget("held", metadata={"name": "held", "finalizers": [HOLD]}))
    await cluster.delete(CRDS, defined["metadata"]["name"])
    recorder = Recorder()
    async with client.informer(resource(cluster)) as widgets:
        recorder.attach(widgets)
        await wait_live(widgets)
        assert await recorder.until("add/held") == ["add/held"]

        await cluster.patch("widgets", "held", {"metadata": {"finalizers": None}})
        await widgets.wait_state(ABSENT)

        assert (await recorder.until("delete/held"))[-1] == "delete/held"
        assert (widgets.list(), widgets.has_synced) == ([], True)


@pytest.mark.scenario("F10", "P9")
@pytest.mark.reads_bodies
async def test_10_a_storage_migration_is_one_update_of_each_object(cluster: Cluster, client: Client) -> None:
    defined = await cluster.create_crd(cluster.crd(versions=versions("v1", "v2", stored="v1")))
    for number in range(10):
        await put_widget(cluster, f"w{number}", n=number)
    async with client.informer(resource(cluster), indexes={"n": "{.spec.n}"}) as widgets:
        subscription = Subscription(widgets)
        await wait_live(widgets)
        before = {obj.name: obj["spec"] for obj in widgets}

        moved = versions("v1", "v2", stored="v2")
        async with cluster.watch("widgets.v1") as events:  # it ends when the server uses the changed CRD
            await cluster.patch(CRDS, defined["metadata"]["name"], {"spec": {"versions": moved}})
            await events.rest()
        await cluster.until_served("widgets.v1")
        for name in before:
            await widgets.wait_for(Unstructured(await cluster.update("widgets", await cluster.get("widgets", name))))
        with trio.fail_after(GIVE_UP):
            while subscription.event_counts.total() < 20:
                await subscription.wait_event()

        assert {obj.name: obj["spec"] for obj in widgets} == before
        assert [names(widgets.by_index("n", str(number))) for number in (0, 9)] == [["w0"], ["w9"]]
        assert (set(subscription.event_counts.values()), subscription.wrong) == ({2}, [])
