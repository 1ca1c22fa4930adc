"""The version that the server reports."""

from __future__ import annotations

import httpx2
import pytest

from dynkube.errors import InvalidInput
from dynkube_testing import APIServer
from dynkube_testing._kinds.schemas import builtin_schemas


async def test_the_version_is_that_of_the_built_in_types(client: httpx2.AsyncClient) -> None:
    version = (await client.get("/version")).json()

    assert version["gitVersion"] == f"v{builtin_schemas().release}"
    assert (version["major"], version["minor"]) == ("1", "36")
    assert (version["emulationMajor"], version["emulationMinor"]) == ("1", "36")
    assert (version["minCompatibilityMajor"], version["minCompatibilityMinor"]) == ("1", "35")


async def test_the_reported_version_can_be_set() -> None:
    server = APIServer(version="v1.29.4+k3s1")

    async with server, httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client:
        version = (await client.get("/version")).json()

    assert (version["minor"], version["gitVersion"]) == ("29", "v1.29.4+k3s1")


@pytest.mark.parametrize("version", ["1.36", "v1", "v1.x", "", "v1.36beta"])
def test_an_invalid_version_is_rejected(version: str) -> None:
    with pytest.raises(InvalidInput, match=r"pass one like 'v1\.36\.3'"):
        APIServer(version=version)
