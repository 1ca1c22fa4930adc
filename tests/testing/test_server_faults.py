"""Faults on request: ``fail``, ended watches, compaction, APIs that are unregistered."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
import trio

from dynkube.errors import InvalidInput, NoMatch
from dynkube.meta import GVR
from dynkube_testing import APIServer, Kind

PODS = "/api/v1/pods"


def configmap(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


async def test_a_fault_affects_matching_requests_the_given_number_of_times(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    fault = server.fail(status=503, verb="list", resource="pods", times=2)

    other = await client.get("/api/v1/configmaps")
    statuses = [(await client.get(PODS)).status_code for _ in range(3)]

    assert other.status_code == 200
    assert statuses == [503, 503, 200]
    assert fault.hits == 2


async def test_a_fault_may_set_retry_after(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.fail(status=429, retry_after=7)

    response = await client.get(PODS)

    assert (response.status_code, response.headers["retry-after"]) == (429, "7")
    assert response.json()["reason"] == "TooManyRequests"


async def test_a_fault_may_send_any_body(server: APIServer, client: httpx2.AsyncClient) -> None:
    fault = server.fail(status=200, path_prefix="/apis", body="<html>sign in</html>")

    response = await client.get("/apis")
    fault.remove()

    assert (response.text, response.headers["content-type"]) == ("<html>sign in</html>", "text/html; charset=utf-8")
    assert (await client.get("/apis")).json()["kind"] == "APIGroupList"


async def test_a_fault_also_affects_unserved_resources(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.fail(status=403, verb="watch", resource="widgets.acme.example")

    path = "/apis/acme.example/v1/widgets"
    assert (await client.get(path, params={"watch": "true"})).status_code == 403
    assert (await client.get(path)).status_code == 404


async def test_direct_calls_are_not_affected_by_faults(server: APIServer) -> None:
    server.fail(status=500)

    server.create(configmap("a"))

    assert [item["metadata"]["name"] for item in server.list("configmaps")] == ["a"]


async def test_watches_end_cleanly_or_are_cut(server: APIServer, client: httpx2.AsyncClient) -> None:
    async with client.stream("GET", f"{PODS}?watch=true") as response:
        assert server.end_watches("pods", "clean") == 1
        assert await response.aread() == b""

    async with client.stream("GET", f"{PODS}?watch=true") as response:
        assert server.end_watches("pods", "cut") == 1
        with pytest.raises(httpx2.RemoteProtocolError):
            await response.aread()


async def test_a_silent_watch_stays_open_and_sends_nothing(server: APIServer, client: httpx2.AsyncClient) -> None:
    async with client.stream("GET", "/api/v1/configmaps?watch=true&timeoutSeconds=5") as response:
        server.end_watches(how="silent")
        server.create(configmap("a"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(response.aread)
            await trio.sleep(3600)

            assert (len(server.open_watches), response.num_bytes_downloaded) == (1, 0)
            nursery.cancel_scope.cancel()


async def test_with_expired_watch_status_a_watch_from_a_compacted_version_is_a_410(client: httpx2.AsyncClient) -> None:
    server = APIServer(expired_watch="status")
    async with server, httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client:
        old = server.revision
        server.create(configmap("a"))
        server.compact()

        response = await client.get("/api/v1/configmaps", params={"watch": "true", "resourceVersion": str(old)})

    assert (response.status_code, response.json()["reason"]) == (410, "Expired")


async def test_a_watch_from_a_compacted_version_gets_an_error_event(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    old = server.revision
    server.create(configmap("a"))
    server.compact()

    response = await client.get("/api/v1/configmaps", params={"watch": "true", "resourceVersion": str(old)})

    event = json.loads(response.text)
    assert (response.status_code, event["type"], event["object"]["code"]) == (200, "ERROR", 410)


async def test_a_kind_can_be_registered_and_unregistered(server: APIServer, client: httpx2.AsyncClient) -> None:
    path = "/apis/metrics.example/v1/readings"
    server.register(Kind(gvr=GVR("metrics.example", "v1", "readings"), kind="Reading", namespaced=False))
    assert (await client.get(path)).status_code == 200

    async with client.stream("GET", f"{path}?watch=true") as response:
        server.unregister("readings.metrics.example")
        assert await response.aread() == b""

    assert (await client.get(path)).status_code == 404
    assert (await client.get("/apis/metrics.example")).status_code == 404


def test_invalid_arguments_are_rejected() -> None:
    server = APIServer()

    with pytest.raises(InvalidInput, match="status 99"):
        server.fail(status=99)
    with pytest.raises(InvalidInput, match="how is 'gently'"):
        server.end_watches(how="gently")  # type: ignore[arg-type]  # invalid on purpose
    with pytest.raises(NoMatch, match="unicorns"):
        server.unregister("unicorns")
    with pytest.raises(InvalidInput, match="bookmark_interval is 0"):
        APIServer(bookmark_interval=0)


async def test_an_internal_error_is_a_500_and_is_raised(
    server: APIServer, client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Kind):
        @property
        def group_resource(self) -> str:
            raise ZeroDivisionError("a defect")

    server.register(
        Broken(gvr=GVR("acme.example", "v1", "widgets"), kind="Widget", namespaced=False, storage_group="x")
    )

    async with client.stream("GET", "/apis/acme.example/v1/widgets/a") as response:
        assert response.status_code == 500
        with pytest.raises(ZeroDivisionError, match="a defect"):
            await response.aread()

    assert "GET /apis/acme.example/v1/widgets/a failed" in caplog.text
