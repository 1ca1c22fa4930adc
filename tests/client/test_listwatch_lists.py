"""A list request: its parameters, its result, and invalid responses."""

from __future__ import annotations

import logging

import httpx2
import pytest
import trio

from dynkube.client._listwatch import ListWatch
from dynkube.errors import DeadlineExceeded, Gone, ProtocolError
from dynkube.meta import GVR, FieldSelector, LabelSelector, Unstructured
from tests.client.wire import FOREVER, JSON, Body, ScriptedServer, connect, error_response, ok, pod, pods

PODS = GVR("", "v1", "pods")


def listwatch(server: ScriptedServer, **options: object) -> ListWatch:
    selectors = {"label_selector": LabelSelector(), "field_selector": FieldSelector()}
    return ListWatch(connect(server).rest, PODS, **{**selectors, **options})  # type: ignore[arg-type]  # any option


async def test_a_list_returns_the_objects_and_its_own_metadata() -> None:
    server = ScriptedServer(pods(7, pod("a", 3), pod("b", 5), token="more", remaining=4))

    listing = await listwatch(server).list(limit=2)

    assert [(obj.kind, obj.key, obj.resource_version) for obj in listing] == [
        ("Pod", ("shop", "a"), "3"),
        ("Pod", ("shop", "b"), "5"),
    ]
    assert (listing.resource_version, listing.continue_token, listing.remaining_item_count) == ("7", "more", 4)
    assert (listing.api_version, listing.kind) == ("v1", "PodList")


async def test_every_parameter_is_sent_and_empty_ones_are_not() -> None:
    server = ScriptedServer(pods(1), pods(1))
    collection = listwatch(
        server,
        namespace="shop",
        label_selector=LabelSelector.parse("app in (a,b)"),
        field_selector=FieldSelector.parse("metadata.name=x"),
    )

    await collection.list(resource_version="5", resource_version_match="Exact", limit=10)
    await collection.list(resource_version="", continue_token="token")

    first, second = server.requests
    assert first.url.path == "/api/v1/namespaces/shop/pods"
    assert dict(first.url.params) == {
        "labelSelector": "app in (a,b)",
        "fieldSelector": "metadata.name=x",
        "resourceVersion": "5",
        "resourceVersionMatch": "Exact",
        "limit": "10",
    }
    assert set(second.url.params) == {"labelSelector", "fieldSelector", "continue"}


@pytest.mark.scenario("F19")
async def test_an_item_without_a_name_is_left_out_counted_and_reported() -> None:
    nameless = {"metadata": {"namespace": "shop", "uid": "u"}}
    server = ScriptedServer(pods(1, pod("a"), nameless, pod("b")))
    reported: list[Unstructured] = []
    collection = listwatch(server, on_malformed=reported.append)

    listing = await collection.list()

    assert [obj.name for obj in listing] == ["a", "b"]
    assert collection.malformed == 1
    assert [obj.uid for obj in reported] == ["u"]


@pytest.mark.scenario("F19")
async def test_an_item_without_a_name_is_logged_by_default(caplog: pytest.LogCaptureFixture) -> None:
    collection = listwatch(ScriptedServer(pods(1, pod("a"), {"metadata": {"uid": "u"}})))

    with caplog.at_level(logging.WARNING, "dynkube.client"):
        listing = await collection.list()

    assert len(listing) == 1
    assert "without metadata.name" in caplog.text


@pytest.mark.scenario("F19")
async def test_a_list_in_which_no_item_has_a_name_is_an_error_and_not_an_empty_list() -> None:
    server = ScriptedServer(pods(1, {"metadata": {"uid": "u"}}, {"metadata": {"uid": "v"}}))

    with pytest.raises(ProtocolError, match=r"none of the 2 items of the list has a metadata\.name"):
        await listwatch(server).list()


@pytest.mark.scenario("F26")
async def test_a_list_that_does_not_end_in_time_is_cancelled() -> None:
    body = Body([b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[', FOREVER])
    server = ScriptedServer(httpx2.Response(200, headers=JSON, stream=body))

    with pytest.raises(DeadlineExceeded, match=r"within 20 s \[GET /api/v1/pods\]"):
        await listwatch(server).list(timeout=20)

    assert trio.current_time() == body.closed_at
    assert server.times == [body.closed_at - 20]


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(ok({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []}), id="another document"),
        pytest.param(
            httpx2.Response(200, headers=JSON, content=b'{"kind":"PodList","apiVersion":"v1","items":[{"meta'), id="cut"
        ),
        pytest.param(httpx2.Response(200, headers=JSON, content=b"hello"), id="not JSON"),
        pytest.param(httpx2.Response(200, headers={"content-type": "text/html"}, content=b"<html>"), id="HTML"),
    ],
)
async def test_a_response_that_is_not_a_list_is_a_protocol_error(response: httpx2.Response) -> None:
    with pytest.raises(ProtocolError):
        await listwatch(ScriptedServer(response)).list()


async def test_an_expired_token_raises_gone() -> None:
    server = ScriptedServer(error_response(410, "Expired", "the provided continue parameter is too old"))

    with pytest.raises(Gone, match="too old"):
        await listwatch(server).list(continue_token="old")


async def test_the_repr_has_the_path_and_the_selectors() -> None:
    plain, selecting = (
        listwatch(ScriptedServer(), label_selector=LabelSelector.parse(text)) for text in (None, "app=web")
    )

    assert repr(plain) == "<ListWatch /api/v1/pods >"
    assert repr(selecting) == "<ListWatch /api/v1/pods {'labelSelector': 'app=web'}>"
