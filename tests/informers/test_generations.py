"""G4, failure modes 7 and 8: a CRD that is created again is another resource, even with the same name."""

from __future__ import annotations

from typing import Any

import pytest
import trio

import dynkube
from dynkube import ABSENT, LIVE, SYNCING, Client
from dynkube_testing import APIServer
from tests.informers.folding import Subscription
from tests.informers.kit import CRDS, WIDGETS, crd, names, quiet, widget

NAME = "widgets.example.com"


def gizmos() -> dict[str, Any]:
    """A CRD with the same name and plural for another kind."""
    body = crd()
    body["spec"]["names"] |= {"kind": "Gizmo", "singular": "gizmo", "listKind": "GizmoList"}
    return body


ANOTHER = {
    "the same": (crd(), widget("a", at=2)),
    "cluster-scoped": (crd(scope="Cluster"), widget("a", namespace="", at=2)),
    "with more versions": (crd(served=["v2", "v1"]), widget("a", at=2)),
    "of another kind": (gizmos(), widget("a", kind="Gizmo", at=2)),
}


@pytest.mark.scenario("F7", "F6", "G4", "P7")
@pytest.mark.parametrize("connection", ["watching", "cut", "silent"])
@pytest.mark.parametrize("after", ANOTHER)
async def test_7_objects_of_the_old_crd_are_deleted_and_those_of_the_new_one_added(
    server: APIServer, client: Client, after: str, connection: Any
) -> None:
    server.create(crd())
    for name in ("a", "b"):
        server.create(widget(name, at=1))
    async with client.informer(WIDGETS, indexes={"at": "{.spec.at}"}) as widgets:
        subscription = Subscription(widgets)
        await widgets.wait_state(LIVE)
        before = {obj.uid for obj in widgets}

        if connection != "watching":
            server.end_watches(how=connection)
        replace_crd(server, *ANOTHER[after])
        await trio.sleep(300)

        assert [obj["spec"] for obj in widgets] == [obj["spec"] for obj in subscription.folded.values()] == [{"at": 2}]
        assert not before & {obj.uid for obj in widgets}
        assert (subscription.wrong, widgets.state.phase) == ([], LIVE)
        assert (widgets.by_index("at", "1"), names(widgets.by_index("at", "2"))) == ([], ["a"])


def replace_crd(server: APIServer, crd_body: dict[str, Any], obj: dict[str, Any]) -> None:
    """Delete the CRD and create another with one object, so fast that no client sees the state in between."""
    server.delete(CRDS, NAME)
    server.create(crd_body)
    server.create(obj)
    server.compact()


@pytest.mark.scenario("F7")
async def test_7_a_crd_with_another_plural_is_another_resource(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("a"))
    async with client.informer(WIDGETS) as widgets, client.informer("thingies.v1.example.com") as thingies:
        old, new = Subscription(widgets), Subscription(thingies)
        await widgets.wait_state(LIVE)
        await thingies.wait_state(ABSENT)

        server.delete(CRDS, NAME)
        renamed = crd("thingies")
        renamed["spec"]["names"] |= {"kind": "Widget", "singular": "widget", "listKind": "WidgetList"}
        server.create(renamed)
        server.create(widget("a"))
        await trio.sleep(10)

        assert (widgets.state.phase, old.folded) == (ABSENT, {})
        assert (thingies.state.phase, names(new.folded.values())) == (LIVE, ["a"])
        assert (old.wrong, new.wrong) == ([], [])


@pytest.mark.scenario("F7", "G4")
async def test_7_late_events_of_the_old_crd_are_not_taken_for_those_of_the_new_one(
    server: APIServer, client: Client
) -> None:
    async with client.informer(WIDGETS) as widgets:
        subscription = Subscription(widgets)
        for _ in range(50):  # the order in which the tasks read the two streams varies
            server.create(crd())
            await widgets.wait_state(LIVE)

            server.create(widget("late"))
            server.end_watches("widgets")
            server.delete(CRDS, NAME)
            fault = server.fail(resource="widgets", status=503)
            server.create(crd())
            await quiet()

            assert (widgets.state.phase, widgets.list(), subscription.folded) == (SYNCING, [], {})
            fault.remove()
            server.delete(CRDS, NAME)
            await widgets.wait_state(ABSENT)
        assert subscription.wrong == []


@pytest.mark.scenario("F7", "P6")
async def test_7_an_informer_entered_before_the_list_of_the_new_crd_waits_for_it(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        server.delete(CRDS, NAME)
        await widgets.wait_state(ABSENT)
        fault = server.fail(resource="widgets", status=503)
        server.create(crd())
        server.create(widget("a"))
        await widgets.wait_state(SYNCING)

        async with client.informer(WIDGETS) as later:
            await quiet()
            assert not later.has_synced

            fault.remove()
            await later.wait_synced()
            assert names(later.list()) == ["a"]


@pytest.mark.scenario("F8", "P7")
@pytest.mark.parametrize("streaming", [True, False])
async def test_8_no_version_from_before_the_new_crd_is_sent(streaming: bool) -> None:
    async with APIServer(watch_list=streaming) as server, dynkube.connect(transport=server.transport()) as client:
        server.create(crd())
        async with client.informer(WIDGETS) as widgets:
            await widgets.wait_state(LIVE)
            for number in range(3):
                server.create(widget(f"w{number}"))
                await trio.sleep(100)
                server.forget_requests()
                server.delete(CRDS, NAME)
                server.create(crd())
                born = server.revision
                await widgets.wait_state(LIVE)
                await trio.sleep(700)

                requests = [r.params for r in server.requests if r.resource and r.resource.resource == "widgets"]
                assert "resourceVersion" not in requests[0], "the most recent state, not any cached one"
                assert all(int(params.get("resourceVersion", born)) >= born for params in requests)
                assert len(requests) >= 2


@pytest.mark.scenario("F8", "P3")
async def test_8_versions_may_start_again_with_the_new_crd(server: APIServer) -> None:
    """Custom resources may be stored in a separate etcd, which may be new as well."""
    settings = dynkube.InformerSettings(streaming_lists=False)
    server.create(crd())
    server.create(widget("a", at=1))
    client = dynkube.connect(transport=server.transport(), settings=settings)
    async with client, client.informer(WIDGETS) as widgets:
        subscription = Subscription(widgets)
        await widgets.wait_state(LIVE)

        server.delete(CRDS, NAME)
        await widgets.wait_state(ABSENT)
        server.fail(resource="widgets", verb="watch", status=503)
        server.fail(resource="widgets", verb="list", status=200, body=listed("2", widget("a", at=2)))
        server.create(crd())
        await subscription.wait_for(("default", "a"))

        assert [(obj.resource_version, obj["spec"]) for obj in widgets] == [("2", {"at": 2})]
        assert (subscription.wrong, list(subscription.folded.values())) == ([], widgets.list())


def listed(version: str, obj: dict[str, Any]) -> dict[str, Any]:
    """A list of one object; both have this resourceVersion."""
    obj = {**obj, "metadata": {**obj["metadata"], "uid": "young", "resourceVersion": version}}
    return {"kind": "WidgetList", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": version}} | {
        "items": [obj]
    }
