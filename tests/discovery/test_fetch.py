"""Reading the whole discovery of a server, in either form."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from dynkube.discovery import APIResource
from dynkube.errors import ClosedError
from tests.discovery.wire import CLUSTER, HTTP_ROUTES, DiscoveryServer, resource

FORMS = pytest.mark.parametrize("aggregated", [True, False], ids=["aggregated", "legacy"])


async def test_the_aggregated_form_takes_two_requests() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        found = await client.fetch()

    assert sorted(server.paths) == ["/api", "/apis"]
    assert found.resources == CLUSTER
    assert found.aggregated
    assert found.complete


async def test_the_newest_form_is_preferred_and_the_legacy_form_comes_last() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        await client.fetch()

    clauses = server.requests[0].headers["accept"].split(",")
    assert clauses[0] == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    assert clauses[-1] == "application/json"


async def test_the_legacy_form_takes_one_request_for_each_group_version() -> None:
    server = DiscoveryServer(aggregated=False)

    async with server.client() as client:
        found = await client.fetch()

    assert found.resources == CLUSTER
    assert not found.aggregated
    gateway = [path for path in server.paths if "gateway" in path]
    assert sorted(gateway) == ["/apis/gateway.networking.k8s.io/v1", "/apis/gateway.networking.k8s.io/v1beta1"]
    assert len(server.paths) == 2 + len(found.group_versions)


async def test_legacy_documents_are_read_in_parallel_up_to_the_limit() -> None:
    server = DiscoveryServer(aggregated=False, delay=1.0)
    started = trio.current_time()

    async with server.client(parallel=2) as client:
        await client.fetch()

    # Both lists at once, then six group-versions in pairs.
    assert trio.current_time() - started == pytest.approx(1 + 3)


async def test_a_server_with_one_list_in_each_form_is_read_completely() -> None:
    server = DiscoveryServer(aggregated=False)
    aggregating = DiscoveryServer()
    server.documents["/apis"] = aggregating.document("/apis")

    async with server.client() as client:
        found = await client.fetch()

    assert found.resources == CLUSTER
    assert not found.aggregated
    assert sorted(server.paths) == ["/api", "/api/v1", "/apis"]


@pytest.mark.scenario("F4")
@FORMS
async def test_the_preferred_version_comes_first_and_every_resource_knows_it(aggregated: bool) -> None:
    old = resource("widgets.v1.example.com", "Widget")
    new = resource("widgets.v2.example.com", "Widget")
    server = DiscoveryServer((new, old), aggregated=aggregated)

    async with server.client() as client:
        found = await client.fetch()

    assert [(str(r), r.group_preferred_version) for r in found.resources] == [
        ("widgets.v2.example.com", "v2"),
        ("widgets.v1.example.com", "v2"),
    ]


async def test_unchanged_documents_are_not_sent_again() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        first = await client.fetch()
        etags = [request.headers.get("if-none-match") for request in server.requests]
        server.requests.clear()
        second = await client.fetch(last_known=first)

    assert etags == [None, None]
    assert server.statuses == [200, 200, 304, 304]
    assert second == first
    assert second.resources[0] is first.resources[0], "nothing was decoded or built again"


async def test_changed_documents_are_read_again() -> None:
    server = DiscoveryServer((HTTP_ROUTES,))

    async with server.client() as client:
        await client.fetch()
        server.serve(resource("widgets.v1.example.com", "Widget"))
        found = await client.fetch()

    assert sorted(server.statuses[2:]) == [200, 304]
    assert [str(r) for r in found.resources] == [str(HTTP_ROUTES), "widgets.v1.example.com"]


async def test_the_version_of_the_server_is_read() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        version = await client.server_version()

    assert (str(version), version.major, version.minor) == ("v1.34.1", "1", "34")


async def test_a_closed_client_raises() -> None:
    async with DiscoveryServer().client() as client:
        pass

    with pytest.raises(ClosedError):
        await client.fetch()


names = st.text("abc", min_size=1, max_size=2)
resources = st.lists(
    st.builds(
        lambda plural, group, version, short, namespaced, subresources: resource(
            f"{plural}.{version}{group}",
            plural.title(),
            short_names=tuple(short),
            namespaced=namespaced,
            subresources=subresources,
        ),
        plural=names,
        group=st.sampled_from(["", ".apps", ".example.com"]),
        version=st.sampled_from(["v1", "v1beta1"]),
        short=st.lists(names, max_size=2),
        namespaced=st.booleans(),
        subresources=st.sets(names, max_size=2),
    ),
    unique_by=lambda entry: entry.gvr,
)


@given(resources)
@settings(max_examples=30)
async def test_both_forms_give_the_same_resources(served: list[APIResource]) -> None:
    async with (
        DiscoveryServer(served).client() as aggregated,
        DiscoveryServer(served, aggregated=False).client() as legacy,
    ):
        one, other = await aggregated.fetch(), await legacy.fetch()

    assert one.resources == other.resources
    assert {r.gvr for r in one.resources} == {r.gvr for r in served}
