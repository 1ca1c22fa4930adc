"""K18-K21, K29, K30 and G1-G4: informers of resources whose CRDs are created, filtered, changed and deleted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

import dynkube
from dynkube import ABSENT, LIVE, Client, Unstructured
from tests.contract.cluster import Cluster
from tests.contract.informers.kit import CONFIGS, Recorder, names, put, put_widget, resource, wait_live, wait_reason
from tests.contract.objects import CRDS, JSONObject, version


@pytest.mark.scenario("K18")
@pytest.mark.parametrize("steps", [0, 8, 20])
@pytest.mark.one_collection("counts the watches of one list")
async def test_a_crd_created_while_its_informer_starts_is_followed_once(
    cluster: Cluster, client: Client, steps: int
) -> None:
    async def define_soon() -> None:
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        await cluster.create_crd()

    recorder = Recorder()
    async with client.informer(resource(cluster)) as widgets:
        recorder.attach(widgets)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(define_soon)
            await wait_live(widgets)
        await put_widget(cluster, "a")

        assert await recorder.take(1) == ["add/a"]
        followed = widgets.statistics()
        assert followed.watches - followed.failures == 1


@pytest.mark.scenario("K19")
@pytest.mark.one_collection("counts the watches of one list")
async def test_informers_of_an_existing_a_missing_and_a_later_crd(cluster: Cluster, client: Client) -> None:
    await cluster.create_crd()
    widget, gadget = client.informer(resource(cluster)), client.informer(resource(cluster, "gadgets"))
    async with widget, gadget:
        await wait_live(widget)
        await gadget.wait_state(ABSENT)

        async with client.informer(resource(cluster), namespace=cluster.namespace) as known:
            assert (await known.wait_state(LIVE)).reason == "Watching"

        await cluster.create_crd(cluster.crd("gadgets", "Gadget"))
        await wait_live(gadget)
        followed = gadget.statistics()
        assert followed.watches - followed.failures == 1


def recent(obj: Unstructured) -> bool:
    return obj.annotations.get("bundle-version", "v0") >= "v1.1"


def bundled(crd: JSONObject, bundle: str) -> JSONObject:
    return {**crd, "metadata": {**crd["metadata"], "annotations": {"bundle-version": bundle}}}


@pytest.mark.scenario("K20")
async def test_a_filtered_crd_is_followed_when_its_annotation_passes_the_filter(
    cluster: Cluster, connect: Callable[..., Client]
) -> None:
    await cluster.create_crd(bundled(cluster.crd(), "v1.0"))
    settings = dynkube.InformerSettings(crd_filter=recent)
    async with connect(settings=settings) as client, client.informer(resource(cluster)) as widgets:
        assert (await widgets.wait_state(ABSENT)).reason == "CRDFiltered"

        raised = {"metadata": {"annotations": {"bundle-version": "v1.1"}}}
        await cluster.patch(CRDS, f"widgets.{cluster.group}", raised)

        assert (await widgets.wait_state(LIVE)).reason == "Watching"


@pytest.mark.scenario("K21")
async def test_the_crd_filter_can_be_any_function(cluster: Cluster, connect: Callable[..., Client]) -> None:
    def wanted(obj: Unstructured) -> bool:
        return obj.name.startswith("meters.") or (not obj.name.startswith("virtuals.") and recent(obj))

    for plural, bundle in (("meters", "v1.0"), ("gateways", "v1.1"), ("virtuals", "v1.1"), ("policies", "v1.0")):
        await cluster.create_crd(bundled(cluster.crd(plural, plural.capitalize()), bundle))
    settings = dynkube.InformerSettings(crd_filter=wanted)
    async with connect(settings=settings) as client:
        for plural in ("meters", "gateways"):
            async with client.informer(resource(cluster, plural)) as informer:
                await wait_live(informer)
        for plural in ("virtuals", "policies"):
            async with client.informer(resource(cluster, plural)) as informer:
                assert (await informer.wait_state(ABSENT)).reason == "CRDFiltered"


@pytest.mark.scenario("K29", "F1")
async def test_without_a_crd_an_informer_syncs_and_stays_empty(cluster: Cluster, client: Client) -> None:
    mark = Recorder()
    async with client.informer(resource(cluster)) as widgets, client.informer(CONFIGS) as configs:
        mark.attach(configs)
        await widgets.wait_synced()
        for number in range(5):
            await put(cluster, f"mark{number}")
            await mark.until(f"add/mark{number}")
            assert (widgets.list(), widgets.get("a", namespace=cluster.namespace)) == ([], None)


@pytest.mark.scenario("K30")
async def test_a_filter_applies_when_the_crd_is_created_later(cluster: Cluster, client: Client) -> None:
    recorder = Recorder()
    async with client.informer(resource(cluster), filter=lambda obj: obj.namespace == cluster.namespace) as widgets:
        recorder.attach(widgets)
        await cluster.create_crd()
        await put_widget(cluster, "a")
        await cluster.create("widgets", cluster.widget("b"), namespace="default")
        await wait_live(widgets)
        await put_widget(cluster, "mark")

        assert sorted(await recorder.take(2)) == ["add/a", "add/mark"]
        assert names(widgets.list()) == ["a", "mark"]
    await cluster.delete("widgets", "b", namespace="default")


@pytest.mark.scenario("G1", "F2", "P8")
async def test_a_crd_with_names_in_use_is_absent_until_they_are_free(cluster: Cluster, client: Client) -> None:
    await cluster.create_crd()
    rival = cluster.crd("rivals", "Widget")
    async with client.informer(resource(cluster, "rivals")) as rivals:
        await rivals.wait_synced()
        await cluster.create(CRDS, rival)
        assert (await wait_reason(rivals, "NamesNotAccepted")).phase is ABSENT
        assert (rivals.statistics().lists, rivals.statistics().watches) == (0, 0)

        await cluster.delete_crd()

        assert (await rivals.wait_state(LIVE)).reason == "Watching"


@pytest.mark.scenario("G2", "F4", "P8")
async def test_a_version_is_absent_until_it_is_served(cluster: Cluster, client: Client) -> None:
    def served(*served: str) -> list[JSONObject]:
        return [version(name, storage=name == "v1beta1", served=name in served) for name in ("v1beta1", "v1")]

    crd = cluster.crd(versions=served("v1beta1"))
    await cluster.create_crd(crd)
    await cluster.create("widgets", cluster.widget("a", api_version="v1beta1"))
    recorder = Recorder()
    async with client.informer(resource(cluster)) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        message = f"CRD widgets.{cluster.group} does not serve v1, only v1beta1"
        assert (widgets.state.reason, widgets.state.message) == ("VersionNotServed", message)

        await cluster.patch(CRDS, f"widgets.{cluster.group}", {"spec": {"versions": served("v1beta1", "v1")}})
        await wait_live(widgets)
        assert await recorder.take(1) == ["add/a"]

        await cluster.patch(CRDS, f"widgets.{cluster.group}", {"spec": {"versions": served("v1beta1")}})
        await widgets.wait_state(ABSENT)
        assert (await recorder.take(1), widgets.list()) == (["delete/a"], [])


@pytest.mark.scenario("G3", "P7")
@pytest.mark.reads_bodies
async def test_a_deleted_crd_deletes_its_objects_and_is_followed_again_when_recreated(
    cluster: Cluster, client: Client
) -> None:
    await cluster.create_crd()
    recorder = Recorder()
    async with client.informer(resource(cluster), indexes={"n": "{.spec.n}"}) as widgets:
        recorder.attach(widgets)
        for name in ("a", "b"):
            await put_widget(cluster, name, n=1)
        await recorder.take(2)

        await cluster.delete_crd()
        await widgets.wait_state(ABSENT)
        assert sorted(await recorder.take(2)) == ["delete/a", "delete/b"]
        assert (widgets.list(), widgets.by_index("n", "1")) == ([], [])

        await cluster.create_crd()
        await put_widget(cluster, "c", n=1)
        await wait_live(widgets)
        assert await recorder.take(1) == ["add/c"]
        assert names(widgets.by_index("n", "1")) == ["c"]


@pytest.mark.scenario("G4", "F7", "P7")
async def test_a_replaced_crd_causes_deletes_and_adds(cluster: Cluster, client: Client) -> None:
    await cluster.create_crd()
    await put_widget(cluster, "a")
    recorder = Recorder()
    async with client.informer(resource(cluster)) as widgets:
        recorder.attach(widgets)
        assert await recorder.take(1) == ["add/a"]

        await cluster.delete_crd()
        await cluster.create_crd()
        await put_widget(cluster, "a")
        await put_widget(cluster, "b")

        assert (await recorder.take(1), sorted(await recorder.take(2))) == (["delete/a"], ["add/a", "add/b"])
        assert names(widgets.list()) == ["a", "b"]


@pytest.mark.scenario("P7", "F7")
@pytest.mark.one_collection("follows a cluster-scoped resource")
async def test_a_crd_can_be_recreated_with_another_scope(cluster: Cluster, client: Client) -> None:
    await cluster.create_crd()
    await put_widget(cluster, "a")
    recorder = Recorder()
    async with client.informer(resource(cluster)) as widgets:
        recorder.attach(widgets)
        assert await recorder.take(1) == ["add/a"]

        await cluster.delete_crd()
        await widgets.wait_state(ABSENT)
        await cluster.create_crd(cluster.crd(scope="Cluster"))
        await wait_live(widgets)
        await put_widget(cluster, "wide")

        assert await recorder.take(2) == ["delete/a", "add/wide"]
        assert widgets.get("wide") is not None
