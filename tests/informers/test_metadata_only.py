"""Informers that receive only the metadata of objects."""

from __future__ import annotations

import json
import logging
import pickle
from random import Random

import httpx2
import pytest

import dynkube
from dynkube import ABSENT, GVR, LIVE, REMOVE, Added, Client, JSONPathFilter, LabelFilter, NamespaceFilter, Unstructured
from dynkube.errors import InvalidInput, InvalidObject
from dynkube.informers._availability.crd_summary import judge_crd
from dynkube.meta._wire.events import decode_watch_line
from dynkube.meta._wire.lists import ListDecoder
from dynkube.meta._wire.metadata_only import MetadataReader
from dynkube.meta._wire.objects import ObjectDecoder
from dynkube_testing import APIServer
from tests.informers.kit import CRDS, WIDGETS, Recorder, crd, namespace, quiet, replace, widget

PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


class IgnoringServer(httpx2.AsyncBaseTransport):
    """Passes requests to a server, without what they accept besides JSON; records what that was."""

    def __init__(self, server: APIServer, *, ignoring: bool = True) -> None:
        self._under = server.transport()
        self._ignoring = ignoring
        self.accepted: set[str] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if "widgets" in request.url.path:
            self.accepted.add(request.headers["accept"])
            if self._ignoring:
                request.headers["accept"] = "application/json"
        return await self._under.handle_async_request(request)

    async def aclose(self) -> None:
        await self._under.aclose()


def connected(wire: httpx2.AsyncBaseTransport, *, streaming: bool = True) -> Client:
    settings = dynkube.InformerSettings(random=Random(7), streaming_lists=streaming)
    return dynkube.connect(transport=wire, settings=settings)


async def first(server: APIServer, client: Client) -> Unstructured:
    """Return an object from an informer with only metadata."""
    server.create(crd())
    server.create(widget("a", labels={"app": "x"}, size=1))
    async with client.informer(WIDGETS, metadata_only=True) as widgets:
        await widgets.wait_synced()
        return widgets.list()[0]


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("ignoring", [True, False])
async def test_objects_have_their_kind_and_metadata_whether_the_server_supports_it_or_not(
    server: APIServer, streaming: bool, ignoring: bool
) -> None:
    wire, recorder = IgnoringServer(server, ignoring=ignoring), Recorder()
    server.create(crd())
    server.create(widget("a", labels={"app": "x"}, size=1))
    async with connected(wire, streaming=streaming) as client, client.informer(WIDGETS, metadata_only=True) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        server.create(widget("b", size=2))
        replace(server, widget("a", labels={"app": "y"}, size=1))
        await quiet()
        server.delete("widgets", "b", "default")

        assert sorted(await recorder.drain()) == ["add/a", "add/b", "delete/b", "update/a"]
        stored = {**server.get("widgets", "a", "default")["metadata"]}
        stored.pop("managedFields", None)
        expected = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": stored}
        assert [obj.to_dict() for obj in widgets] == [expected]
    assert wire.accepted == ({PARTIAL} if streaming else {PARTIAL, PARTIAL_LIST})


async def test_a_server_that_sends_whole_objects_is_logged_once(
    server: APIServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.create(crd())
    for number in range(5):
        server.create(widget(f"w{number}"))

    async with connected(IgnoringServer(server)) as client, client.informer(WIDGETS, metadata_only=True) as widgets:
        await widgets.wait_synced()

    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warnings == [
        f"informer {WIDGETS}: the server ignores that only metadata is requested; the rest is removed here"
    ]


async def test_an_object_without_the_requested_field_says_why(server: APIServer, client: Client) -> None:
    obj = await first(server, client)

    assert obj.metadata_only
    assert (obj.get("spec"), "spec" in obj) == (None, False)
    assert repr(obj) == f"<Widget example.com/v1 default/a rv={obj.resource_version}, metadata only>"
    with pytest.raises(KeyError, match=r"spec: <Widget .*> comes from an informer with metadata_only=True"):
        obj["spec"]


async def test_such_an_object_cannot_be_written_back(server: APIServer, client: Client) -> None:
    obj = await first(server, client)
    copies = (obj, obj.evolve(a=1), obj.transform(["metadata", "labels", "app"], REMOVE), Unstructured(obj))

    for changed in (*copies, pickle.loads(pickle.dumps(obj))):  # our own data
        for write in (client.resource(WIDGETS).update, client.resource(WIDGETS).create, client.resource(WIDGETS).apply):
            with pytest.raises(InvalidObject, match="would lose everything else when written: get the whole object"):
                await write(changed)
    assert server.get("widgets", "a", "default")["spec"] == {"size": 1}


async def test_filters_by_labels_and_indexes_by_metadata_work(server: APIServer, client: Client) -> None:
    server.create(crd())
    for name, app in (("a", "x"), ("b", "y"), ("c", "x")):
        server.create(widget(name, labels={"app": app}))
    indexes = {"app": "{.metadata.labels.app}"}
    async with client.informer(WIDGETS, metadata_only=True, filter=LabelFilter("app=x"), indexes=indexes) as widgets:
        await widgets.wait_synced()

        assert [obj.name for obj in widgets.by_index("app", "x")] == ["a", "c"]
        widgets.set_filter(JSONPathFilter("{.metadata.name}", equals="b"))
        assert [obj.name for obj in widgets] == ["b"]


async def test_a_filter_of_namespaces_applies_to_their_metadata(server: APIServer, client: Client) -> None:
    for name in ("one", "two"):
        server.create(namespace(name, labels={"team": name}))

    async with client.informer("namespaces.v1", metadata_only=True, filter=NamespaceFilter("team=one")) as namespaces:
        await namespaces.wait_synced()

        assert [obj.name for obj in namespaces] == ["one"]


@pytest.mark.parametrize("path", ["{.spec.size}", "{.status.conditions[*].type}"])
async def test_paths_outside_of_metadata_are_rejected(server: APIServer, client: Client, path: str) -> None:
    message = "selects nothing, as the informer has only metadata: use a field in metadata, or an informer without"
    with pytest.raises(InvalidInput, match=message):
        client.informer(WIDGETS, metadata_only=True, indexes={"size": path})

    async with client.informer(WIDGETS, metadata_only=True) as widgets:
        with pytest.raises(InvalidInput, match=message):
            widgets.set_filter(LabelFilter("a=b") & JSONPathFilter(path))
        assert widgets.filter is None


async def test_informers_of_whole_objects_have_another_cache(server: APIServer, client: Client) -> None:
    server.create(crd())
    async with (
        client.informer(WIDGETS),
        client.informer(WIDGETS, metadata_only=True),
        client.informer(WIDGETS, metadata_only=True),
    ):
        await quiet()

        assert sorted((status.metadata_only, status.users) for status in client.informers()) == [(False, 1), (True, 2)]
        assert "metadata only" in str(client.informers())


async def test_the_informer_follows_a_crd_that_comes_and_goes(server: APIServer, client: Client) -> None:
    async with client.informer(WIDGETS, metadata_only=True) as widgets:
        await widgets.wait_state(ABSENT)
        for name in "ab":
            server.create(crd())
            server.create(widget(name))
            await widgets.wait_state(LIVE)
            assert [(obj.kind, obj.name) for obj in widgets] == [("Widget", name)]

            server.delete(CRDS, "widgets.example.com")
            await widgets.wait_state(ABSENT)
            assert widgets.list() == []


async def test_a_transform_gets_the_metadata(server: APIServer, client: Client) -> None:
    seen: list[list[str]] = []

    def labelled(obj: Unstructured) -> Unstructured:
        seen.append(list(obj))
        return obj.transform(["metadata", "labels", "seen"], "yes")

    server.create(crd())
    server.create(widget("a"))
    async with client.informer(WIDGETS, metadata_only=True, transform=labelled) as widgets:
        await widgets.wait_synced()

        assert [(obj.labels, obj.metadata_only) for obj in widgets] == [({"seen": "yes"}, True)]
        assert seen == [["apiVersion", "kind", "metadata"]]


async def test_only_printer_columns_of_metadata_are_left(server: APIServer, client: Client) -> None:
    document = crd()
    paths = (".spec.size", ".metadata.creationTimestamp")
    columns = [{"name": path, "type": "string", "jsonPath": path} for path in paths]
    document["spec"]["versions"][0]["additionalPrinterColumns"] = columns
    server.create(document)

    async with client.informer(WIDGETS, metadata_only=True) as slim, client.informer(WIDGETS) as whole:
        await slim.wait_state(LIVE)

        assert [column.name for column in whole.printer_columns] == list(paths)
        assert [column.name for column in slim.printer_columns] == [".metadata.creationTimestamp"]


async def test_a_value_that_is_no_bool_is_rejected(client: Client) -> None:
    with pytest.raises(InvalidInput, match="metadata_only must be True or False, not 'yes'"):
        client.informer(WIDGETS, metadata_only="yes")  # type: ignore[arg-type]  # on purpose


async def test_an_object_of_unknown_kind_stays_partial_in_lists_and_watches() -> None:
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}}
    reader = MetadataReader("example.com/v1", "", lambda: None)
    decoder = ObjectDecoder(metadata_only=True, reduce=reader.reduced)

    event = decode_watch_line(json.dumps({"type": "ADDED", "object": partial}).encode(), decoder)

    assert isinstance(event, Added)
    assert event.object == partial


@pytest.mark.parametrize("indent", [None, 2])
async def test_partial_items_without_kind_are_not_taken_for_whole_ones(indent: int | None) -> None:
    whole: list[str] = []
    listed = {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "items": [{"metadata": {"name": "a"}}],
    }
    reader = MetadataReader("example.com/v1", "Widget", lambda: whole.append("whole"))
    decoder = ListDecoder(ObjectDecoder(metadata_only=True, reduce=reader.reduced))

    objects = decoder.feed(json.dumps(listed, indent=indent, separators=(",", ":")).encode())
    objects += decoder.finish()[0]

    assert [(obj.kind, obj.name) for obj in objects] == [("Widget", "a")]
    assert whole == []


async def test_the_kind_is_the_one_that_the_server_accepted(server: APIServer, client: Client) -> None:
    obj = await first(server, client)

    definition = server.get(CRDS, "widgets.example.com")
    definition["spec"]["names"]["kind"] = "Renamed"
    answer = judge_crd(GVR("example.com", "v1", "widgets"), Unstructured(definition))

    assert obj.kind == "Widget"
    assert answer.generation is not None
    assert answer.generation.served_as.kind == "Widget"


async def test_such_an_object_is_not_taken_for_the_live_one(server: APIServer, client: Client) -> None:
    obj = await first(server, client)

    with pytest.raises(InvalidInput, match="metadata only>: pass the whole object, or leave it out"):
        await client.resource(WIDGETS).apply(widget("a", size=2), live=obj)
    released = await client.resource(WIDGETS).release_fields(obj, ".spec.size", "dynkube-testing")
    assert released["spec"] == {"size": 1}
