"""``Rewrite``: events and bodies that are dropped, changed, added or broken on their way to the client."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

import httpx2
import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube_testing import APIServer, Refuse, Rewrite, rewrites
from dynkube_testing._faults.rewriting import Rewriter
from tests.contract.objects import config

CONFIGS = "/api/v1/configmaps"
BOOKMARKS = "watch=true&allowWatchBookmarks=true&timeoutSeconds=90"
INITIAL = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"


async def events(client: httpx2.AsyncClient, query: str = BOOKMARKS) -> list[dict[str, Any]]:
    """Return all events of a watch that ends by its timeout."""
    response = await client.get(f"{CONFIGS}?{query}")
    return [json.loads(line) for line in response.text.splitlines()]


def types(seen: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in seen]


async def test_drop_bookmarks_removes_bookmarks(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.create(config("a"))
    before = await events(client)
    server.inject(Rewrite(rewrites.drop_bookmarks), verb="watch")

    assert set(types(before)) == {"ADDED", "BOOKMARK"}
    assert types(await events(client)) == ["ADDED"]


async def test_drop_initial_events_end_removes_only_that_bookmark(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    server.create(config("a"))
    server.inject(Rewrite(rewrites.drop_initial_events_end), verb="watch")

    seen = await events(client, f"{BOOKMARKS}&{INITIAL}")

    assert set(types(seen)) == {"ADDED", "BOOKMARK"}
    assert "initial-events-end" not in json.dumps(seen)


async def test_rewind_lowers_all_resource_versions(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.create(config("a"))
    revision = server.revision
    server.inject(Rewrite(rewrites.rewind(3)))

    listed = (await client.get(CONFIGS)).json()
    (event, *_) = await events(client)

    assert listed["metadata"]["resourceVersion"] == str(revision - 3)
    assert listed["items"][0]["metadata"]["resourceVersion"] == str(revision - 3)
    assert event["object"]["metadata"]["resourceVersion"] == str(revision - 3)


async def test_remove_metadata_removes_the_metadata_of_objects(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.create(config("a"))
    server.inject(Rewrite(rewrites.remove_metadata))

    listed = (await client.get(CONFIGS)).json()
    (event, *_) = await events(client)

    assert "resourceVersion" in listed["metadata"]
    assert "metadata" not in listed["items"][0]
    assert "metadata" not in event["object"]


@pytest.mark.parametrize(
    ("function", "type_", "kind"),
    [
        (rewrites.unknown_type, "REPLACED", None),
        (rewrites.error_without_status, "ERROR", None),
        (rewrites.expired, "ERROR", "Status"),
    ],
)
async def test_an_event_can_be_replaced_by_an_invalid_or_an_error_event(
    server: APIServer, client: httpx2.AsyncClient, function: Rewriter, type_: str, kind: str | None
) -> None:
    server.create(config("a"))
    server.create(config("b"))
    server.inject(Rewrite(function, skip=1, times=1), verb="watch")

    seen = await events(client)

    assert types(seen)[:2] == ["ADDED", type_]
    assert seen[1]["object"].get("kind") in {kind, "ConfigMap"}
    assert set(types(seen)[2:]) == {"BOOKMARK"}


async def test_garble_makes_an_event_invalid_json(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.create(config("a"))
    server.create(config("b"))
    server.inject(Rewrite(rewrites.garble, times=1), verb="watch")

    first, second, *_ = (await client.get(f"{CONFIGS}?{BOOKMARKS}")).text.splitlines()

    with pytest.raises(json.JSONDecodeError):
        json.loads(first)
    assert json.loads(second)["object"]["metadata"]["name"] == "b"


async def test_before_inserts_lines_and_repeat_duplicates_events(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.create(config("a"))
    server.inject(Rewrite(rewrites.before({"type": "ADDED", "object": {}}, b"\n"), times=1), verb="watch")
    server.inject(Rewrite(rewrites.repeat), verb="watch")

    response = await client.get(f"{CONFIGS}?watch=true&timeoutSeconds=1")

    lines = response.text.split("\n")
    assert lines[:2] == ['{"type":"ADDED","object":{}}', ""]
    assert lines[2] == lines[3]


async def test_in_turn_alternates_between_functions(server: APIServer, client: httpx2.AsyncClient) -> None:
    for name in "abcd":
        server.create(config(name))
    server.inject(Rewrite(rewrites.in_turn(rewrites.unknown_type, lambda event: event)), verb="watch")

    assert types(await events(client))[:4] == ["REPLACED", "ADDED", "REPLACED", "ADDED"]


@pytest.mark.parametrize("accept", ["application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "*/*"])
async def test_without_group_removes_a_group_from_discovery(
    server: APIServer, client: httpx2.AsyncClient, accept: str
) -> None:
    server.inject(Rewrite(rewrites.without_group("apps")), path_prefix="/apis")

    response = (await client.get("/apis", headers={"Accept": accept})).text

    assert '"batch"' in response
    assert '"apps"' not in response


async def test_stale_group_marks_a_group_as_stale_in_discovery(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.inject(Rewrite(rewrites.stale_group("apps")), path_prefix="/apis")
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

    response = (await client.get("/apis", headers={"Accept": accept})).json()

    (apps,) = [item for item in response["items"] if item["metadata"]["name"] == "apps"]
    assert [(version["freshness"], version.get("resources")) for version in apps["versions"]] == [("Stale", None)]


async def test_rewrites_apply_to_compressed_json_and_not_to_yaml(server: APIServer, client: httpx2.AsyncClient) -> None:
    for number in range(2000):
        server.create(config(f"a-{number}"))
    server.inject(Rewrite(rewrites.remove_metadata))

    yaml = await client.get(CONFIGS, headers={"Accept": "application/yaml"})
    json_ = await client.get(CONFIGS, headers={"Accept-Encoding": "gzip"})

    assert "a-1999" in yaml.text
    assert not any("metadata" in item for item in json_.json()["items"])


async def test_an_exception_in_the_function_is_raised_and_logged(
    server: APIServer, client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    def wrong(document: dict[str, Any]) -> None:
        raise ZeroDivisionError("a mistake")

    server.inject(Rewrite(wrong))

    with pytest.raises(ZeroDivisionError, match="a mistake"):
        await client.get(CONFIGS)
    assert "GET /api/v1/configmaps failed" in caplog.text


async def test_a_function_that_does_not_return_a_document_is_an_error(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    forgotten: Any = rewrites.rewind  # instead of rewind(10)
    server.inject(Rewrite(forgotten))

    with pytest.raises(InvalidInput, match=r"returned a function; .* rewrites.rewind\(10\)"):
        await client.get(CONFIGS)


@pytest.mark.parametrize("body", [b'{"a":"\xff\xfe"}', b'{"a":' * 100_000, b"[1]"])
async def test_bodies_that_cannot_be_decoded_pass_unchanged(
    server: APIServer, client: httpx2.AsyncClient, body: bytes
) -> None:
    server.inject(Rewrite(rewrites.remove_metadata))
    server.inject(Refuse(200, body=body))

    assert (await client.get(CONFIGS)).content == body


@pytest.mark.parametrize(("wrong", "message"), [({"skip": -1}, "skip is -1"), ({"times": 0}, "times is 0")])
def test_invalid_arguments_of_rewrite_are_rejected(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Rewrite(rewrites.repeat, **wrong)


async def test_rewritten_events_are_not_delayed(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.inject(Rewrite(rewrites.repeat), verb="watch")

    async with client.stream("GET", f"{CONFIGS}?watch=true") as response:
        server.create(config("a"))
        async with aclosing(response.aiter_raw()) as chunks:
            with trio.fail_after(1):
                chunk = await anext(chunks)

    assert types([json.loads(line) for line in chunk.splitlines()]) == ["ADDED", "ADDED"]
