"""Events and descriptions of objects of any kind."""

from __future__ import annotations

from typing import Any

import pytest

import dynkube
from dynkube import Client, Unstructured
from dynkube.errors import InvalidInput, NotFound
from dynkube.inspection._event_list import joined_events
from dynkube_testing import APIServer, User
from tests.informers.kit import crd, widget
from tests.workloads.kit import owned_by, workload


def event(name: str, about: Unstructured, minute: int, message: str = "m", **more: Any) -> dict[str, Any]:
    """Return an Event about an object."""
    time = f"2026-05-06T12:{minute:02}:00Z"
    involved = {"kind": about.kind, "namespace": about.namespace, "name": about.name, "uid": about.uid}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": about.namespace or "default"},
        "involvedObject": involved,
        "type": "Normal",
        "reason": "Seen",
        "message": message,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
        **more,
    }


@pytest.fixture
async def web(client: Client) -> Unstructured:
    return await client.resource("deploy").create(workload())


@pytest.fixture
async def pod(client: Client, web: Unstructured) -> Unstructured:
    """A pod of a ReplicaSet of the Deployment."""
    template = workload()["spec"]["template"]
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    made = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-1"}, "spec": spec}
    replica_set = await client.resource("rs").create(owned_by(web, made))
    metadata = {"name": "web-1-x", "labels": {"app": "web"}}
    child = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    return await client.resource("pods").create(owned_by(replica_set, child))


async def test_events_are_sorted_by_time_and_joined(client: Client, server: APIServer, web: Unstructured) -> None:
    server.create(event("c", web, 9, "late", type="Warning"))
    server.create(event("a", web, 1, "again", count=2))
    server.create(event("b", web, 5, "again", count=3))

    events = await client.events_for("deploy", "web")

    assert [(each.message, each.count, each.type) for each in events] == [
        ("again", 5, "Normal"),
        ("late", 1, "Warning"),
    ]
    assert [each.first and each.first.minute for each in events] == [1, 9]
    assert [each.last and each.last.minute for each in events] == [5, 9]
    assert [each.message for each in events.warnings] == ["late"]


async def test_events_of_one_second_are_in_the_order_in_which_they_were_stored(
    client: Client, server: APIServer, web: Unstructured
) -> None:
    for name in ("c", "a", "b"):
        server.create(event(name, web, 1, name))

    assert [each.message for each in await client.events_for("deploy", "web")] == ["c", "a", "b"]


async def test_fractions_of_a_second_are_used_where_there_are_some(
    client: Client, server: APIServer, web: Unstructured
) -> None:
    fractions = {"a": "2026-05-06T12:01:00.700000Z", "c": "2026-05-06T12:01:00.200000Z"}
    more = {"reportingComponent": "example.com/c", "reportingInstance": "c-1", "action": "Look"}
    for name, time in fractions.items():
        server.create(event(name, web, 1, name, eventTime=time, **more))
    server.create(event("b", web, 1, "b", series={"count": 2, "lastObservedTime": "2026-05-06T12:01:00.500000Z"}))

    assert [each.message for each in await client.events_for("deploy", "web")] == ["c", "b", "a"]


async def test_an_event_prints_as_a_sentence(client: Client, server: APIServer, web: Unstructured) -> None:
    server.create(event("a", web, 1, "line\x1b[2J", count=2, type="Warning", reason="Slow"))

    (found,) = await client.events_for("deploy", "web")

    assert str(found) == "Warning Slow deployment/web: line\N{REPLACEMENT CHARACTER}[2J (2 times)"


async def test_a_series_has_its_own_count_and_time(client: Client, server: APIServer, web: Unstructured) -> None:
    series = {"count": 40, "lastObservedTime": "2026-05-06T12:30:00.000000Z"}
    times: dict[str, Any] = {
        "eventTime": "2026-05-06T12:10:00.000000Z",
        "firstTimestamp": None,
        "lastTimestamp": None,
        "count": None,
    }
    reporting = {"reportingComponent": "example.com/c", "reportingInstance": "c-1", "action": "Look"}
    server.create(event("a", web, 0, series=series, **times, **reporting))

    (found,) = await client.events_for(web)

    assert (found.count, found.source) == (40, "example.com/c")
    assert (found.first and found.first.minute, found.last and found.last.minute) == (10, 30)


async def test_events_of_an_earlier_object_of_the_same_name_are_left_out(
    client: Client, server: APIServer, web: Unstructured
) -> None:
    earlier = web.transform(["metadata", "uid"], "another")
    server.create(event("a", earlier, 1, "earlier"))
    server.create(event("b", web, 2, "now"))

    assert [each.message for each in await client.events_for("deploy", "web")] == ["now"]
    assert [each.message for each in await client.events_for(earlier)] == ["earlier"]


async def test_events_about_the_same_kind_of_another_group_are_left_out(client: Client, server: APIServer) -> None:
    made = widget("w")
    for name in ("one", "two"):
        made = {**widget("w"), "apiVersion": f"{name}.example.com/v1"}
        assert (await client.apply_all([crd(group=f"{name}.example.com"), made])).ok
        about = event(name, Unstructured(made), 1)
        about["involvedObject"]["apiVersion"] = f"{name}.example.com/v0"
        server.create(about)
    server.create(event("old", Unstructured(made), 2, "without a group"))

    found = await client.events_for("widgets.one.example.com", "w")
    below = await client.events_for("widgets.one.example.com", "w", owned=True)

    assert [(each.object.name, each.count) for each in found] == [("one", 1), ("old", 1)]
    assert [each.object.name for each in below] == ["one", "old"]
    assert len(joined_events(await client.resource("events").list())) == 3


async def test_events_of_a_node_have_its_name_as_uid(client: Client, server: APIServer) -> None:
    server.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    node = await client.resource("nodes").get("n1")
    server.create(event("a", node.transform(["metadata", "uid"], "n1"), 1, "from the kubelet"))

    assert [each.message for each in await client.events_for("node", "n1")] == ["from the kubelet"]


async def test_events_of_what_an_object_owns_are_found(
    client: Client, server: APIServer, web: Unstructured, pod: Unstructured
) -> None:
    server.create(event("a", web, 1, "scaled"))
    server.create(event("b", pod, 2, "pulled"))
    server.create(event("c", pod.transform(["metadata", "uid"], "stranger"), 3, "another pod"))

    own = await client.events_for("deploy", "web")
    all_of_them = await client.events_for("deploy", "web", owned=True)

    assert [each.message for each in own] == ["scaled"]
    assert [each.message for each in all_of_them] == ["scaled", "pulled"]
    assert str(all_of_them).splitlines()[0].split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "COUNT", "MESSAGE"]


async def test_a_description_shows_the_object_what_it_owns_and_the_events(
    client: Client, server: APIServer, web: Unstructured, pod: Unstructured
) -> None:
    server.create(event("b", pod, 2, "pulled", type="Warning", reason="Slow"))

    description = await client.describe("deploy", "web")

    assert description.owned is not None
    assert [each.kind for _, each in description.owned.walk()] == ["Deployment", "ReplicaSet", "Pod"]
    text = str(description)
    for expected in ("apps/v1 Deployment", "default/web", "ReplicaSet/web-1", "Pod/web-1-x", "Slow", "pod/web-1-x"):
        assert expected in text
    assert "events</span>" in description._repr_html_()


async def test_a_custom_resource_is_described_by_the_columns_of_its_crd(client: Client, server: APIServer) -> None:
    definition = crd()
    columns = [{"name": "Colour", "type": "string", "jsonPath": ".spec.colour", "priority": 1}]
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = columns
    server.create(definition)
    server.create(widget("a", colour="green"))

    description = await client.describe("widgets", "a")

    assert description.columns["Colour"] == "green"
    assert "Colour  green" in str(description)


async def test_values_of_a_secret_are_masked(client: Client, server: APIServer) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"password": "hunter2"}}
    await client.resource("secrets").create(secret)

    described = await client.describe("secret", "s")

    assert "hunter2" not in str(described) + described._repr_html_()
    assert "aHVudGVyMg" not in str(described) + described._repr_html_()


async def test_what_may_not_be_read_is_noted() -> None:
    async with APIServer(rbac=True) as server:
        server.grant("alice", verbs=["get"], resource="configmaps")
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}})
        async with dynkube.connect(transport=server.transport(User("alice"))) as client:
            described = await client.describe("cm", "a")

    assert described.object.name == "a"
    assert any("its events could not be read" in note for note in described.notes)
    assert described.owned is not None
    (note,) = described.owned.notes
    assert note.startswith("the user may not list these resources (403 Forbidden), so objects of them may be missing: ")
    assert {"pods", "deployments.apps", "configmaps"} <= set(note.partition(": ")[2].split(", "))


async def test_a_description_causes_no_warnings_of_the_server(
    client: Client, web: Unstructured, caplog: pytest.LogCaptureFixture
) -> None:
    await client.describe("deploy", "web")

    assert caplog.messages == []


async def test_an_object_or_a_name_is_required(client: Client, web: Unstructured) -> None:
    with pytest.raises(InvalidInput, match="no name for 'deploy': pass a resource and a name"):
        await client.describe("deploy")
    with pytest.raises(InvalidInput, match="has a name and a namespace of its own"):
        await client.events_for(web, "web")
    with pytest.raises(NotFound):
        await client.describe("deploy", "none")
