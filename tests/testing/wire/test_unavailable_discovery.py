"""Discovery of an API that is unavailable."""

from __future__ import annotations

import httpx2

from dynkube_testing import APIServer


async def test_an_unavailable_version_does_not_affect_its_group(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.set_available("batch/v1", False)

    assert (await client.get("/apis/batch/v1")).status_code == 503
    assert (await client.get("/apis/batch")).json()["preferredVersion"]["version"] == "v1"
