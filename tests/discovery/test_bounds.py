"""Limits of discovery: the number of groups, and the time for all of their documents."""

from __future__ import annotations

import json
import logging

import httpx2
import pytest
import trio

from dynkube.config import ClientConfig
from dynkube.discovery import DeferredRESTMapper, DiscoveryClient
from dynkube.discovery._documents import parse_root
from dynkube.errors import DeadlineExceeded, DiscoveryFailed
from dynkube.rest._client import RESTClient

JSON = {"content-type": "application/json"}


class ManyGroups(httpx2.AsyncBaseTransport):
    """A server with legacy discovery, whose documents take ten seconds each."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.requests = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests += 1
        path = request.url.path
        document: dict[str, object] = {"kind": "APIVersions", "versions": []}
        if path == "/apis":
            groups = [{"name": f"g{n}", "versions": [{"version": "v1"}]} for n in range(self.number)]
            document = {"kind": "APIGroupList", "groups": groups}
        elif path != "/api":
            await trio.sleep(10)
            document = {"kind": "APIResourceList", "resources": []}
        return httpx2.Response(200, headers=JSON, content=json.dumps(document).encode())


def discovery_of(server: ManyGroups) -> DiscoveryClient:
    return DiscoveryClient(RESTClient(ClientConfig(server="http://api.example"), transport=server))


@pytest.mark.real_time
async def test_more_group_versions_than_the_limit_are_an_error() -> None:
    server = ManyGroups(100_000)

    snapshot = await discovery_of(server).fetch()

    assert "lists 100,000 versions of API groups, the limit is 10,000" in str(snapshot.failures["*"])
    assert server.requests == 2


async def test_the_time_for_all_documents_is_limited() -> None:
    server = ManyGroups(1000)

    snapshot = await discovery_of(server).fetch()

    assert trio.current_time() == 60
    assert len(snapshot.failures) in (1000 - 5 * 16, 1000 - 6 * 16)  # the last round ends at the deadline
    for failure in snapshot.failures.values():
        assert isinstance(failure, DeadlineExceeded)
        assert "of 1,000 documents within 60 s" in str(failure)


def test_a_group_with_thousands_of_resources_is_one_group() -> None:
    resources = [{"resource": f"r{n}", "responseKind": {"version": "v1", "kind": f"K{n}"}} for n in range(11_000)]
    group = {"metadata": {"name": "g.example"}, "versions": [{"version": "v1", "resources": resources}]}
    document = json.dumps({"kind": "APIGroupDiscoveryList", "items": [group]}).encode()

    (version,) = parse_root(document, path="/apis").groups[0].versions

    assert len(version.resources or ()) == 11_000


async def test_of_many_simultaneous_failures_only_some_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="dynkube")
    mapper = DeferredRESTMapper(discovery_of(ManyGroups(1000)))

    with pytest.raises(DiscoveryFailed):
        await mapper.resolve("widgets")

    assert len(caplog.messages) < 50
    assert "more group-versions failed" in str(caplog.messages)
