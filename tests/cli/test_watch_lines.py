"""The lines of ``dynkube watch`` as text, JSON and names, in virtual time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from dynkube import ABSENT, LIVE, Added, Client, Informer, State, Unstructured
from dynkube.cli._follow import Reporter, follow
from dynkube.cli._lines import JSONLines, Lines, Names
from dynkube.cli._watch import Query, read_query
from dynkube_testing import APIServer
from tests.cli.kit import Sink, noon
from tests.informers.kit import CRDS, WIDGETS, crd, quiet, widget

ABSENT_LINE = "12:00:01  ABSENT    CRDNotFound: no CRD widgets.example.com is installed"


@asynccontextmanager
async def following(client: Client, reporter: Reporter, query: Query | None = None) -> AsyncIterator[Informer]:
    async with (query or Query(resource=WIDGETS)).informer(client) as informer, trio.open_nursery() as nursery:
        await informer.wait_state(ABSENT, LIVE)
        nursery.start_soon(follow, informer, reporter)
        await quiet()
        yield informer
        nursery.cancel_scope.cancel()


async def test_states_are_printed_with_their_reason_and_events_with_their_object(
    server: APIServer, client: Client
) -> None:
    sink = Sink()

    async with following(client, Lines(sink, noon)) as widgets:
        server.create(crd())
        await widgets.wait_state(LIVE)
        server.create(widget("a", size=1))
        await quiet()
        server.update({**server.get("widgets", "a"), "spec": {"size": 2}})
        await quiet()
        server.delete("widgets", "a")
        await quiet()

    assert sink.lines == [
        ABSENT_LINE,
        "12:00:01  SYNCING   Listing",
        "12:00:01  LIVE      Watching",
        "12:00:01  ADDED     default/a",
        "12:00:01  MODIFIED  default/a  spec.size",
        "12:00:01  DELETED   default/a",
    ]


async def test_deleting_the_crd_prints_deleted_objects_and_the_state_absent(server: APIServer, client: Client) -> None:
    sink = Sink()
    server.create(crd())
    server.create(widget("a"))

    async with following(client, Lines(sink, noon)) as widgets:
        sink.lines.clear()
        server.delete(CRDS, "widgets.example.com")
        await widgets.wait_state(ABSENT)
        await quiet()

    assert sorted(sink.lines) == [ABSENT_LINE, "12:00:01  DELETED   default/a"]


async def test_another_reason_for_the_same_phase_is_printed_within_a_second(server: APIServer, client: Client) -> None:
    sink = Sink()
    blocked = crd()
    blocked["spec"]["versions"][0]["name"] = "v2"

    async with following(client, Lines(sink, noon)):
        server.create(blocked)
        await trio.sleep(1.1)

    assert sink.lines == [
        ABSENT_LINE,
        "12:00:01  ABSENT    VersionNotServed: CRD widgets.example.com does not serve v1, only v2",
    ]


async def test_namespace_selectors_and_filter_restrict_the_events(server: APIServer, client: Client) -> None:
    sink = Sink()
    server.create(crd())
    query = read_query(
        WIDGETS, namespace="default", selector="app=web", field="metadata.name!=left-out", filter_text="{.spec.size}=2"
    )

    async with following(client, Lines(sink, noon), query):
        server.create(widget("small", labels={"app": "web"}, size=1))
        server.create(widget("large", labels={"app": "web"}, size=2))
        server.create(widget("left-out", labels={"app": "web"}, size=2))
        server.create(widget("other", labels={"app": "db"}, size=2))
        server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        server.create(widget("elsewhere", "shop", labels={"app": "web"}, size=2))
        await quiet()

    assert sink.lines[1:] == ["12:00:01  ADDED     default/large"]


async def test_as_json_each_event_is_an_object_and_states_are_not_in_the_output(
    server: APIServer, client: Client
) -> None:
    out, notes = Sink(), Sink()
    server.create(crd())

    async with following(client, JSONLines(out, Lines(notes, noon))):
        server.create(widget("a", size=1))
        await quiet()
        server.delete("widgets", "a")
        await quiet()

    events = [json.loads(line) for line in out.lines]
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [
        ("ADDED", "a"),
        ("DELETED", "a"),
    ]
    assert events[0]["object"]["spec"] == {"size": 1}
    assert notes.lines == ["12:00:01  LIVE      Watching"]


async def test_multi_line_json_of_a_server_is_printed_on_one_line() -> None:
    out = Sink()

    await JSONLines(out, Lines(Sink())).event(Added(Unstructured(b'{\n "kind": "A",\n "spec": {"x": "\\n"}\n}')))

    assert out.lines == ['{"type":"ADDED","object":{"kind":"A","spec":{"x":"\\n"}}}']


async def test_as_names_each_event_is_a_name_in_the_format_of_kubectl(server: APIServer, client: Client) -> None:
    out, notes = Sink(), Sink()
    server.create(crd())

    async with following(client, Names(out, Lines(notes, noon))):
        server.create(widget("a"))
        await quiet()
    await Names(out, Lines(notes)).event(
        Added(Unstructured({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}}))
    )

    assert out.lines == ["widget.example.com/a", "pod/b"]


async def test_control_characters_from_a_cluster_are_replaced() -> None:
    sink = Sink()
    lines = Lines(sink, noon)

    await lines.state(State(ABSENT, "Odd", "a\x1b[2Jb\nc"))
    await lines.event(Added(Unstructured({"metadata": {"name": "[red]x\x07"}})))

    assert sink.lines == ["12:00:01  ABSENT    Odd: a\ufffd[2Jb\ufffdc", "12:00:01  ADDED     [red]x\ufffd"]
