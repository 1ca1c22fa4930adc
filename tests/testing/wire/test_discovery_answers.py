"""Discovery of an API whose server is out of order."""

from __future__ import annotations

import httpx2

from dynkube.testing import APIServer


async def test_a_version_out_of_order_is_unavailable_by_itself(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.set_available("batch/v1", False)

    assert (await client.get("/apis/batch/v1")).status_code == 503
    assert (await client.get("/apis/batch")).json()["preferredVersion"]["version"] == "v1"
