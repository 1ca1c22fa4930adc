"""Pods for tests of their containers, and reading of responses."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

PODS = "/api/v1/namespaces/default/pods"


def pod(name: str, *containers: str) -> dict[str, Any]:
    """Return a pod with these containers; without any it has the container ``app``."""
    spec = {"containers": [{"name": each, "image": "x"} for each in containers or ("app",)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


async def log(client: httpx2.AsyncClient, name: str = "web", /, **params: str | int) -> str:
    """Return the log of a pod, or the message of the error response."""
    response = await client.get(f"{PODS}/{name}/log", params=params)
    return response.text if response.status_code == 200 else str(response.json()["message"])


@asynccontextmanager
async def following(
    client: httpx2.AsyncClient, name: str = "web", /, **params: str | int
) -> AsyncGenerator[AsyncGenerator[bytes]]:
    """Follow the log of a pod; yields the chunks of the response."""
    async with client.stream("GET", f"{PODS}/{name}/log", params={"follow": "true", **params}) as response:
        assert response.status_code == 200, await response.aread()
        chunks = response.aiter_raw()
        try:
            yield chunks
        finally:
            await chunks.aclose()
