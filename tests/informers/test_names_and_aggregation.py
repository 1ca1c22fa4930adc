"""Failure modes 11 and 12: resources without a CRD, and names that several groups use."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest
import trio

from dynkube import ABSENT, GVR, LIVE, UNKNOWN, Client
from dynkube.errors import NoMatch
from dynkube_testing import APIServer, Kind, Refuse
from tests.informers.folding import Subscription
from tests.informers.kit import CRDS, WIDGETS, Recorder, crd, names, pod, quiet, widget

AGGREGATED = Kind(gvr=GVR("example.com", "v1", "widgets"), kind="Widget", namespaced=True)


@pytest.mark.scenario("F11", "G23")
async def test_11_an_aggregated_api_needs_no_crd(server: APIServer, client: Client) -> None:
    server.register(AGGREGATED)
    server.create(widget("a"))
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)

        assert (names(widgets.list()), trio.current_time()) == (["a"], 0)


@pytest.mark.scenario("F11", "F15", "F32")
async def test_11_an_aggregated_api_that_is_down_from_the_start_is_unknown(server: APIServer, client: Client) -> None:
    server.register(AGGREGATED)
    server.create(widget("a"))
    server.set_available("example.com/v1", available=False)
    async with client.informer(WIDGETS) as widgets:
        await trio.sleep(100)
        assert (widgets.state.phase, widgets.state.reason, widgets.has_synced) == (UNKNOWN, "DiscoveryFailed", False)

        server.set_available("example.com/v1", available=True)
        with trio.fail_after(61):
            await widgets.wait_state(LIVE)
        assert names(widgets.list()) == ["a"]


@pytest.mark.scenario("F11", "F15", "F32")
async def test_11_many_aggregated_apis_that_are_down_from_the_start_are_unknown(
    server: APIServer, client: Client
) -> None:
    groups = [f"{letter}.example.com" for letter in "abcdef"]
    for group in groups:
        server.register(Kind(gvr=GVR(group, "v1", "widgets"), kind="Widget", namespaced=True))
        server.set_available(f"{group}/v1", available=False)
    async with AsyncExitStack() as stack:
        informers = [await stack.enter_async_context(client.informer(f"widgets.v1.{group}")) for group in groups]
        await trio.sleep(100)
        states = [informer.state for informer in informers]

    assert [(state.phase, state.reason) for state in states] == [(UNKNOWN, "DiscoveryFailed")] * len(groups)


@pytest.mark.scenario("F11", "P7")
async def test_11_an_aggregated_api_may_replace_a_crd_and_a_crd_replace_it(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("custom"))
    async with client.informer(WIDGETS) as widgets:
        subscription = Subscription(widgets)
        await widgets.wait_state(LIVE)

        server.delete(CRDS, "widgets.example.com")
        await widgets.wait_state(ABSENT)
        server.register(AGGREGATED)
        server.create(widget("aggregated"))
        with trio.fail_after(1):  # by its APIService
            await widgets.wait_state(LIVE)
        assert names(widgets.list()) == ["aggregated"]

        server.delete("widgets", "aggregated")
        server.unregister(AGGREGATED.gvr)
        await widgets.wait_state(ABSENT)
        server.create(crd())
        server.create(widget("custom-again"))
        with trio.fail_after(1):
            await widgets.wait_state(LIVE)
        await quiet()
        assert (names(subscription.folded.values()), subscription.wrong) == (["custom-again"], [])


@pytest.mark.scenario("F11")
async def test_11_an_aggregated_api_that_returns_is_found_although_apiservices_cannot_be_watched(
    server: APIServer, client: Client
) -> None:
    server.inject(Refuse(403), resource="apiservices")
    server.register(AGGREGATED)
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        server.unregister(AGGREGATED.gvr)
        await widgets.wait_state(ABSENT)

        server.register(AGGREGATED)
        server.create(widget("a"))
        with trio.fail_after(31):  # one interval of polling
            await widgets.wait_state(LIVE)

        assert names(widgets.list()) == ["a"]


@pytest.mark.scenario("F11")
async def test_11_other_crds_of_a_group_do_not_affect_its_aggregated_resources(
    server: APIServer, client: Client
) -> None:
    server.create(crd("gadgets"))
    server.register(Kind(gvr=GVR("example.com", "v1beta1", "widgets"), kind="Widget", namespaced=True))
    recorder = Recorder()
    async with client.informer("widgets.v1beta1.example.com") as widgets, client.informer(WIDGETS) as others:
        recorder.attach(widgets)
        await widgets.wait_state(LIVE)
        assert (await others.wait_state(ABSENT)).reason == "CRDNotFound"

        server.delete(CRDS, "gadgets.example.com")
        server.create(widget("a") | {"apiVersion": "example.com/v1beta1"})
        await trio.sleep(700)

        assert (await recorder.drain(), widgets.state.phase) == (["add/a"], LIVE)


def short(plural: str, group: str) -> dict[str, object]:
    """A CRD with the short name ``wd``."""
    body = crd(plural, group=group)
    body["spec"]["names"]["shortNames"] = ["wd"]
    return body


@pytest.mark.scenario("F12")
async def test_12_a_plain_name_means_the_first_of_two_groups_and_a_full_name_its_own(
    server: APIServer, client: Client
) -> None:
    for group in ("b.example", "a.example"):
        server.create(short("widgets", group))
        server.create(widget(f"of-{group[0]}") | {"apiVersion": f"{group}/v1"})
    requested = ("widgets", "wd", "Widget", "widgets.b.example", "widgets.v1.b.example")

    found = []
    for name in requested:
        async with client.informer(name) as informer:
            await informer.wait_synced()
            found.append(names(informer.list()))

    assert found == [["of-a"]] * 3 + [["of-b"]] * 2


@pytest.mark.scenario("F12")
async def test_12_an_informer_keeps_the_resource_to_which_its_name_was_resolved(
    server: APIServer, client: Client
) -> None:
    server.create(short("widgets", "b.example"))
    server.create(widget("of-b") | {"apiVersion": "b.example/v1"})
    async with client.informer("wd") as before:
        await before.wait_state(LIVE)

        server.create(short("widgets", "a.example"))
        await trio.sleep(10)
        async with client.informer("wd") as after:
            await after.wait_synced()
            assert (str(before.gvr), str(after.gvr)) == ("widgets.v1.b.example", "widgets.v1.a.example")
        server.delete(CRDS, "widgets.b.example")
        await before.wait_state(ABSENT)

        assert before.state.reason == "CRDNotFound"


@pytest.mark.scenario("F12")
async def test_12_the_core_group_wins_over_an_aggregated_group_with_the_same_name(
    server: APIServer, client: Client
) -> None:
    server.register(Kind(gvr=GVR("metrics.k8s.io", "v1beta1", "pods"), kind="PodMetrics", namespaced=True))
    server.create(pod("core"))
    metrics = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics"}
    server.create(metrics | {"metadata": {"name": "measured", "namespace": "default"}})

    found = []
    for name in ("pods", "pods.v1", "po", "pods.metrics.k8s.io", "PodMetrics"):
        async with client.informer(name) as informer:
            await informer.wait_synced()
            found.append(names(informer.list()))

    assert found == [["core"]] * 3 + [["measured"]] * 2


@pytest.mark.scenario("F12")
async def test_12_a_prefix_of_a_group_does_not_match_it(server: APIServer, client: Client) -> None:
    server.create(crd(group="widgets.example.com"))
    server.create(crd(group="example.com.widgets.org"))
    async with client.informer(WIDGETS) as widgets:
        assert (await widgets.wait_state(ABSENT)).reason == "CRDNotFound"

    with pytest.raises(NoMatch):
        await client.resource(GVR("example.com", "v1", "widgets")).list()
