"""Responses as tables: ages by the server's clock, and long tables are built in steps."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx2
import pytest
import trio

from dynkube_testing import APIServer
from tests.testing.tables.conftest import Clock

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
ACCEPT = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}


@pytest.fixture(autouse=True)
def settings(server: APIServer) -> None:
    for name in ("a", "b", "c"):
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": "y"}})


async def table(client: httpx2.AsyncClient, path: str, **params: str) -> dict[str, Any]:
    response = await client.get(path, params=params, headers=ACCEPT)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def cells(found: dict[str, Any]) -> list[list[object]]:
    return [row["cells"] for row in found["rows"]]


async def test_ages_are_computed_by_the_servers_clock(client: httpx2.AsyncClient, clock: Clock) -> None:
    clock.now += timedelta(days=3, hours=1)

    assert cells(await table(client, f"{CONFIGMAPS}/a")) == [["a", 1, "3d1h"]]


async def test_other_tasks_run_while_a_long_table_is_built(server: APIServer, client: httpx2.AsyncClient) -> None:
    for number in range(300):
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"x{number}"}})
    turns: list[int] = []

    async with trio.open_nursery() as nursery:

        async def work() -> None:
            while True:
                turns.append(1)
                await trio.lowlevel.checkpoint()

        nursery.start_soon(work)
        found = await table(client, CONFIGMAPS, includeObject="None")
        nursery.cancel_scope.cancel()

    assert len(found["rows"]) == 303
    assert len(turns) > 300 // 16
