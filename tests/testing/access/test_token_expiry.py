"""Tokens of service accounts expire by the server's clock."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from dynkube_testing import APIServer

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def cluster(clock: Clock) -> AsyncIterator[APIServer]:
    async with APIServer(rbac=True, token="root", now=clock) as server:
        server.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bot"}})
        yield server


@pytest.fixture
async def root(cluster: APIServer) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"Authorization": "Bearer root"}
    async with httpx2.AsyncClient(transport=cluster.transport(), base_url=cluster.url, headers=headers) as client:
        yield client


async def _token(root: httpx2.AsyncClient, **spec: object) -> dict[str, Any]:
    response = await root.post(f"{ACCOUNTS}/bot/token", json={"spec": spec})
    assert response.status_code == 201
    request: dict[str, Any] = response.json()
    return request


async def test_a_token_expires_by_the_servers_clock(clock: Clock, root: httpx2.AsyncClient) -> None:
    headers = {"Authorization": f"Bearer {(await _token(root, expirationSeconds=600))['status']['token']}"}
    codes = []

    for seconds in (0, 599, 2):
        clock.now += timedelta(seconds=seconds)
        codes.append((await root.get("/api", headers=headers)).status_code)

    assert codes == [200, 200, 401]
