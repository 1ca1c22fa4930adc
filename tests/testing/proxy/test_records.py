"""The proxy records requests and open watches."""

from __future__ import annotations

import httpx2
import pytest
import trio

from dynkube.meta import GVR
from dynkube_testing import APIServer, FaultProxy
from tests.testing.proxy.kit import TIMEOUT, WATCH, configmap, connected

pytestmark = pytest.mark.real_time

CONFIGMAPS = GVR("", "v1", "configmaps")


async def test_requests_are_recorded_as_the_server_records_them(
    server: APIServer, proxy: FaultProxy, client: httpx2.AsyncClient
) -> None:
    await client.post("/api/v1/namespaces/default/configmaps", json=configmap("a"))
    await client.get(
        "/api/v1/namespaces/default/configmaps/a/status?pretty=true", headers={"Authorization": "Bearer x"}
    )
    await client.delete("/api/v1/namespaces/default/configmaps")
    await client.get("/apis")

    fields = (
        "method path params user_agent headers verb resource namespace name subresource status content audit_id body"
    )
    seen, expected = proxy.audit, server.audit
    for field in fields.split():
        if field != "headers":
            assert [getattr(record, field) for record in seen] == [getattr(record, field) for record in expected]
    assert [record.headers.get("authorization") for record in seen] == [None, "Bearer <redacted>", None, None]
    assert all(record.duration is not None for record in seen)


async def test_open_watches_are_counted(server: APIServer, proxy: FaultProxy) -> None:
    async with connected(proxy.endpoint) as connection:
        await connection.get(WATCH)
        with trio.fail_after(TIMEOUT):
            await proxy.wait_open_watches(1)
        (watch,) = proxy.open_watches
        assert (watch.resource, watch.params) == (CONFIGMAPS, {"watch": "true"})

        server.end_watches()
        with trio.fail_after(TIMEOUT):
            await proxy.wait_open_watches(0)

    (count,) = proxy.watch_counts
    assert (count.opened, count.open, count.most) == (1, 0, 1)


async def test_a_watch_with_an_error_response_is_not_counted(
    server: APIServer, proxy: FaultProxy, client: httpx2.AsyncClient
) -> None:
    server.fail(status=500, verb="watch")

    assert (await client.get(WATCH)).status_code == 500
    assert proxy.watch_counts == ()
