"""Partial discovery: failures are reported, and the last known resources are kept."""

from __future__ import annotations

import pytest

from dynkube.errors import (
    DiscoveryFailed,
    Forbidden,
    InternalError,
    InvalidInput,
    NotFound,
    ProtocolError,
    ServiceUnavailable,
)
from dynkube.meta import GroupVersion
from tests.discovery.wire import CLUSTER, HTTP_ROUTES, HTTP_ROUTES_BETA, NODE_METRICS, PODS, DiscoveryServer

METRICS = "metrics.k8s.io/v1beta1"
GATEWAY = "gateway.networking.k8s.io"


@pytest.mark.scenario("F15")
async def test_a_stale_group_version_is_a_failure_and_keeps_the_resources_in_the_document() -> None:
    server = DiscoveryServer((*CLUSTER, NODE_METRICS))
    server.stale.add(METRICS)

    async with server.client() as client:
        found = await client.fetch()

    assert isinstance(found.failures[METRICS], DiscoveryFailed)
    assert "Stale" in str(found.failures[METRICS])
    assert found.resources == (*CLUSTER, NODE_METRICS)


@pytest.mark.scenario("F15")
async def test_a_stale_group_version_without_resources_keeps_the_last_known_ones() -> None:
    server = DiscoveryServer((*CLUSTER, NODE_METRICS))

    async with server.client() as client:
        before = await client.fetch()
        server.stale.add(METRICS)
        server.groups["metrics.k8s.io"]["v1beta1"].clear()
        found = await client.fetch(last_known=before)

    assert found.resources == before.resources
    assert list(found.failures) == [METRICS]


async def test_a_group_version_that_is_not_listed_any_more_is_not_kept() -> None:
    server = DiscoveryServer((*CLUSTER, NODE_METRICS))

    async with server.client() as client:
        before = await client.fetch()
        del server.groups["metrics.k8s.io"]
        found = await client.fetch(last_known=before)

    assert found.resources == CLUSTER
    assert found.complete


@pytest.mark.parametrize(("code", "error"), [(503, ServiceUnavailable), (403, Forbidden), (404, NotFound)])
async def test_an_error_response_for_a_legacy_document_is_a_failure_of_its_group_version(
    code: int, error: type[Exception]
) -> None:
    server = DiscoveryServer((*CLUSTER, NODE_METRICS), aggregated=False)

    async with server.client() as client:
        before = await client.fetch()
        server.errors[f"/apis/{METRICS}"] = code
        afresh = await client.fetch()
        again = await client.fetch(last_known=before)

    assert list(afresh.failures) == list(again.failures) == [METRICS]
    assert isinstance(afresh.failures[METRICS], error)
    assert afresh.resources == CLUSTER
    assert again.resources == before.resources


@pytest.mark.parametrize(("path", "key"), [("/api", "v1"), ("/apis", "*")])
async def test_an_error_response_for_a_list_of_groups_keeps_the_last_known_groups(path: str, key: str) -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        before = await client.fetch()
        server.errors[path] = 500
        afresh = await client.fetch()
        again = await client.fetch(last_known=before)

    assert {r.gvr.group == "" for r in afresh.resources} == {path == "/apis"}
    assert again.resources == before.resources
    assert list(again.failures) == [key]
    assert isinstance(again.failures[key], InternalError)


async def test_a_server_without_a_core_group_is_complete() -> None:
    server = DiscoveryServer((HTTP_ROUTES,))
    server.unknown.add("/api")

    async with server.client() as client:
        found = await client.fetch()

    assert found.complete
    assert found.aggregated
    assert found.resources == (HTTP_ROUTES,)


async def test_a_proxys_404_for_api_does_not_mean_that_there_is_no_core_group() -> None:
    server = DiscoveryServer((HTTP_ROUTES,))
    server.errors["/api"] = 404  # its body is not that of an API server

    async with server.client() as client:
        found = await client.fetch()

    assert isinstance(found.failures["v1"], NotFound)


@pytest.mark.parametrize("listed", [True, False], ids=["the list of groups is read", "the list of groups fails"])
async def test_the_core_group_alone_is_absent_only_if_the_server_has_a_list_of_groups(listed: bool) -> None:
    server = DiscoveryServer((HTTP_ROUTES,))
    server.unknown |= {"/api"} if listed else {"/api", "/apis"}

    async with server.client() as client:
        if listed:
            assert (await client.fetch_group("")).resources == ()
        else:
            with pytest.raises(NotFound):
                await client.fetch_group("")


async def test_a_404_for_api_is_a_failure_if_the_core_group_was_served_before() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        before = await client.fetch()
        server.errors["/api"] = 404
        after = await client.fetch(last_known=before)

        assert isinstance(after.failures["v1"], NotFound)
        assert after.resources == before.resources
        with pytest.raises(NotFound):
            await client.lists(GroupVersion("", "v1"))


async def test_if_nothing_can_be_read_and_nothing_is_known_the_error_has_its_cause() -> None:
    server = DiscoveryServer()
    server.errors |= {"/api": 403, "/apis": 403}

    async with server.client() as client:
        with pytest.raises(DiscoveryFailed, match="discovery failed: 403") as caught:
            await client.fetch()

    assert isinstance(caught.value.__cause__, Forbidden)
    assert list(caught.value.failures) == ["v1", "*"]


@pytest.mark.scenario("F15")
async def test_if_nothing_can_be_read_the_last_known_resources_are_kept() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        before = await client.fetch()
        server.errors |= {"/api": 503, "/apis": 503}
        found = await client.fetch(last_known=before)

    assert found.resources == CLUSTER
    assert list(found.failures) == ["v1", "*"]


async def test_a_server_with_neither_list_is_an_error() -> None:
    server = DiscoveryServer()
    server.errors |= {"/api": 404, "/apis": 404}

    async with server.client() as client:
        with pytest.raises(
            DiscoveryFailed, match="not a Kubernetes API server, or its URL lacks a path prefix"
        ) as caught:
            await client.fetch()

    assert isinstance(caught.value.__cause__, ProtocolError)


async def test_one_group_version_is_read_in_one_request() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        assert await client.fetch_group_version(HTTP_ROUTES.gvr.group_version) == (HTTP_ROUTES,)
        assert (await client.fetch_group_version(GroupVersion("", "v1")) or ())[0] == PODS

    assert server.paths == [f"/apis/{GATEWAY}/v1", "/api/v1"]


async def test_a_missing_group_version_is_none_and_a_failing_one_raises() -> None:
    server = DiscoveryServer()
    server.errors[f"/apis/{METRICS}"] = 503

    async with server.client() as client:
        assert await client.fetch_group_version(GroupVersion("example.com", "v1")) is None
        with pytest.raises(ServiceUnavailable):
            await client.fetch_group_version(GroupVersion.parse(METRICS))


async def test_one_group_is_read_with_its_versions_and_their_failures() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        whole = await client.fetch_group(GATEWAY)
        server.errors[f"/apis/{GATEWAY}/v1"] = 503
        part = await client.fetch_group(GATEWAY, last_known=whole)
        core = await client.fetch_group("")
        absent = await client.fetch_group("example.com")

    assert whole.resources == part.resources == (HTTP_ROUTES, HTTP_ROUTES_BETA)
    assert list(part.failures) == [f"{GATEWAY}/v1"]
    assert core.resources == CLUSTER[:3]
    assert absent.resources == ()
    assert absent.complete


@pytest.mark.parametrize("gv", [GroupVersion("apps", ".."), GroupVersion("a/b", "v1"), GroupVersion("apps", "")])
async def test_an_invalid_group_version_is_rejected_without_a_request(gv: GroupVersion) -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        with pytest.raises(InvalidInput, match=r"invalid (group|version) '.*'"):
            await client.fetch_group_version(gv)

    assert server.paths == []
