"""K18-K21, K29, K30 and G1-G4: what the CRD watch makes of CRDs."""

from __future__ import annotations

import pytest
import trio

import dynkube
from dynkube import ABSENT, LIVE, Client, Unstructured
from dynkube.testing import APIServer
from tests.informers.kit import CRDS, WIDGETS, Recorder, crd, names, quiet, widget


@pytest.mark.parametrize("steps", range(0, 30, 2))
async def test_k18_a_crd_created_while_its_informer_starts_is_followed_once(
    server: APIServer, client: Client, steps: int
) -> None:
    async def create_soon() -> None:
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        server.create(crd())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(create_soon)
        async with client.informer(WIDGETS) as widgets:
            await widgets.wait_state(LIVE)
            await quiet()

            assert widgets.statistics().watches == 1
            assert len([watch for watch in server.open_watches if watch.resource.resource == "widgets"]) == 1


async def test_k19_known_absent_and_late_crds(server: APIServer, client: Client) -> None:
    server.create(crd("virtuals"))
    virtual, gadget = client.informer("virtuals.v1.example.com"), client.informer("gadgets.v1.example.com")
    async with virtual, gadget:
        await virtual.wait_state(LIVE)
        await gadget.wait_state(ABSENT)

        async with client.informer("virtuals.v1.example.com", namespace="default") as known:
            assert (await known.wait_state(LIVE)).reason == "Watching"

        server.create(crd("gadgets"))
        await gadget.wait_state(LIVE)
        await quiet()
        assert gadget.statistics().watches == 1


def recent(obj: Unstructured) -> bool:
    return obj.annotations.get("bundle-version", "v0") >= "v1.1"


async def test_k20_a_crd_below_the_minimum_version_counts_when_it_is_raised(server: APIServer) -> None:
    settings = dynkube.InformerSettings(crd_filter=recent)
    server.create(crd(annotations={"bundle-version": "v1.0"}))
    client = dynkube.connect(transport=server.transport(), settings=settings)
    async with client, client.informer(WIDGETS) as widgets:
        assert (await widgets.wait_state(ABSENT)).reason == "CRDFiltered"

        server.update(crd(annotations={"bundle-version": "v1.1"}))

        assert (await widgets.wait_state(LIVE)).reason == "Watching"


def wanted(obj: Unstructured) -> bool:
    if obj["spec"]["group"] == "telemetry.istio.io" or obj.name == "wasmplugins.extensions.istio.io":
        return True
    return not obj["spec"]["group"].endswith(".istio.io") and recent(obj)


async def test_k21_crds_are_chosen_by_any_rule(server: APIServer) -> None:
    known = [("wasmplugins", "extensions.istio.io"), ("meters", "telemetry.istio.io"), ("gateways", "net.example.com")]
    unknown = [("virtuals", "networking.istio.io"), ("policies", "net.example.com")]
    for plural, group in known + unknown:
        version = "v1.0" if plural == "policies" else "v1.1"
        server.create(crd(plural, group=group, annotations={"bundle-version": version}))
    settings = dynkube.InformerSettings(crd_filter=wanted)
    async with dynkube.connect(transport=server.transport(), settings=settings) as client:
        for plural, group in known:
            async with client.informer(f"{plural}.v1.{group}") as informer:
                await informer.wait_state(LIVE)
        for plural, group in unknown:
            async with client.informer(f"{plural}.v1.{group}") as informer:
                assert (await informer.wait_state(ABSENT)).reason == "CRDFiltered"


async def test_k29_without_a_crd_it_syncs_empty_and_stays_so(server: APIServer, client: Client) -> None:
    async with client.informer(WIDGETS) as widgets:
        with trio.fail_after(1):
            await widgets.wait_synced()
        for _ in range(5):
            await trio.sleep(60)
            assert (widgets.list(), widgets.get("a", namespace="default")) == ([], None)


async def test_k30_a_static_filter_holds_when_the_crd_comes(server: APIServer, client: Client) -> None:
    async with client.informer(WIDGETS, filter=lambda obj: obj.namespace == "default") as widgets:
        server.create(crd())
        server.create(widget("a", "default"))
        server.create(widget("b", "kube-system"))

        await widgets.wait_state(LIVE)
        for _ in range(5):
            await trio.sleep(2)
            assert names(widgets.list()) == ["a"]


async def test_g1_a_crd_that_is_not_established_is_absent_and_not_listed() -> None:
    async with APIServer(establish_delay=30) as server, dynkube.connect(transport=server.transport()) as client:
        server.create(crd())
        async with client.informer(WIDGETS) as widgets:
            assert (await widgets.wait_state(ABSENT)).reason == "NotEstablished"
            await trio.sleep(20)
            assert not [request for request in server.requests if "widgets" in request.path.split("/")]

            await widgets.wait_state(LIVE)

            assert 30 <= trio.current_time() < 31


async def test_g2_a_version_that_is_not_served_is_absent_until_it_is(server: APIServer, client: Client) -> None:
    server.create(crd(served=["v1beta1"]))
    server.create({**widget("a"), "apiVersion": "example.com/v1beta1"})
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        assert (widgets.state.reason, widgets.state.message) == (
            "VersionNotServed",
            "CRD widgets.example.com does not serve v1, only v1beta1",
        )

        server.update(crd(served=["v1beta1", "v1"]))
        await widgets.wait_state(LIVE)
        assert await recorder.drain() == ["add/a"]

        server.update(crd(served=["v1beta1"]))
        await widgets.wait_state(ABSENT)
        assert (await recorder.drain(), widgets.list()) == (["delete/a"], [])


async def test_g3_a_crd_that_goes_takes_its_objects_and_comes_back_by_itself(server: APIServer, client: Client) -> None:
    server.create(crd())
    recorder = Recorder()
    async with client.informer(WIDGETS, indexes={"n": "{.spec.n}"}) as widgets:
        recorder.attach(widgets)
        for name in ("a", "b"):
            server.create(widget(name, n=1))
        await widgets.wait_state(LIVE)
        await quiet()
        await recorder.drain()

        server.delete(CRDS, "widgets.example.com")
        await widgets.wait_state(ABSENT)
        assert sorted(await recorder.drain()) == ["delete/a", "delete/b"]
        assert (widgets.list(), widgets.by_index("n", "1")) == ([], [])
        server.forget_requests()
        await trio.sleep(3600)
        assert not [request for request in server.requests if "widgets" in request.path.split("/")]

        server.create(crd())
        server.create(widget("c", n=1))
        await widgets.wait_state(LIVE)
        assert await recorder.drain() == ["add/c"]
        assert names(widgets.by_index("n", "1")) == ["c"]


async def test_g4_a_crd_replaced_by_another_of_its_name_gives_deletes_and_adds(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("a"))
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        assert await recorder.drain() == ["add/a"]

        server.delete(CRDS, "widgets.example.com")
        server.create(crd())
        server.create(widget("a"))
        server.create(widget("b"))

        await widgets.wait_state(LIVE)
        assert sorted(await recorder.drain()) == ["add/a", "add/b", "delete/a"]
        assert names(widgets.list()) == ["a", "b"]


async def test_p7_it_comes_back_with_another_scope(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("a"))
    recorder = Recorder()
    async with client.informer(WIDGETS) as widgets:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        await recorder.drain()

        server.delete(CRDS, "widgets.example.com")
        await widgets.wait_state(ABSENT)
        server.create(crd(scope="Cluster"))
        await widgets.wait_state(LIVE)
        wide = widget("wide")
        del wide["metadata"]["namespace"]
        server.create(wide)

        assert await recorder.drain() == ["delete/a", "add/wide"]
        assert widgets.get("wide") is not None
