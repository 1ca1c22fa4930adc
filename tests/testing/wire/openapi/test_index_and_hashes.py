"""The index of OpenAPI v3, and the caching of documents by hash."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime

import httpx2
import pytest

from dynkube_testing import APIServer
from tests.testing.wire.openapi.widgets import CRD

NODES = "apis/node.k8s.io/v1"
WIDGETS = "apis/acme.example/v1"


async def _index(client: httpx2.AsyncClient) -> dict[str, str]:
    paths = (await client.get("/openapi/v3")).json()["paths"]
    return {path: entry["serverRelativeURL"] for path, entry in paths.items()}


async def test_the_index_has_all_groups_and_group_versions(client: httpx2.AsyncClient) -> None:
    index = await _index(client)

    assert {"api", "api/v1", "apis", "apis/apps", "apis/apps/v1", "version"} <= index.keys()
    assert list(index) == sorted(index)
    for path, address in index.items():
        assert address.startswith(f"/openapi/v3/{path}?hash=")
        assert (await client.get(address)).status_code == 200


async def test_a_document_requested_by_hash_may_be_cached_for_a_year() -> None:
    now = datetime(2026, 5, 4, tzinfo=UTC)
    server = APIServer(now=lambda: now)

    async with server, httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client:
        response = await client.get((await _index(client))[NODES])

    assert response.headers["cache-control"] == "public, immutable"
    assert response.headers["expires"] == "Tue, 04 May 2027 00:00:00 GMT"
    assert response.headers["vary"] == "Accept"


async def test_without_a_hash_a_document_is_revalidated_by_its_etag(client: httpx2.AsyncClient) -> None:
    first = await client.get(f"/openapi/v3/{NODES}")
    again = await client.get(f"/openapi/v3/{NODES}", headers={"If-None-Match": first.headers["etag"]})

    assert first.headers["cache-control"] == "no-cache, private"
    assert (await _index(client))[NODES].endswith(f"?hash={first.headers['etag'].strip(chr(34))}")
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]


async def test_an_old_hash_redirects_to_the_current_document(client: httpx2.AsyncClient) -> None:
    response = await client.get(f"/openapi/v3/{NODES}?hash=0123")

    assert response.status_code == 301
    assert response.headers["location"] == (await _index(client))[NODES]


async def test_the_document_of_a_crd_comes_and_goes_without_changing_others(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    before = await _index(client)
    server.create(deepcopy(CRD))
    with_widgets = await _index(client)
    server.delete("crd", "widgets.acme.example")
    after = await _index(client)

    assert with_widgets.keys() - before.keys() == {WIDGETS}
    assert {path: address for path, address in with_widgets.items() if path != WIDGETS} == before == after


async def test_a_changed_schema_changes_the_hash(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.create(deepcopy(CRD))
    crd = server.get("crd", "widgets.acme.example")
    before = await _index(client)
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "A widget stands still."
    server.update(crd)
    after = await _index(client)

    assert {path for path in after if after[path] != before[path]} == {WIDGETS}


@pytest.mark.parametrize("accept", ["application/json", "application/*", "*/*", "text/html, */*;q=0.1"])
async def test_json_is_sent_if_the_client_accepts_it(client: httpx2.AsyncClient, accept: str) -> None:
    response = await client.get(f"/openapi/v3/{NODES}", headers={"Accept": accept})

    assert response.json()["openapi"] == "3.0.0"


@pytest.mark.parametrize("accept", ["text/html", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"])
async def test_other_media_types_are_a_406(client: httpx2.AsyncClient, accept: str) -> None:
    response = await client.get(f"/openapi/v3/{NODES}", headers={"Accept": accept})

    assert (response.status_code, response.content) == (406, b"")


@pytest.mark.parametrize(
    "path", ["/openapi", "/openapi/v4", "/openapi/v3/", "/openapi/v3/apis/none/v1", "/openapi/v3/apis/acme.example"]
)
async def test_other_paths_are_a_404(client: httpx2.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 404
