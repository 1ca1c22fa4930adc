"""How discovery documents are negotiated, cached and refused."""

from __future__ import annotations

import httpx2
import pytest

from dynkube.testing import APIServer

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
BETA = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"


@pytest.mark.parametrize("path", ["/api", "/apis"])
async def test_the_aggregated_form_may_be_kept_and_asked_for_again_by_its_tag(
    client: httpx2.AsyncClient, path: str
) -> None:
    first = await client.get(path, headers={"Accept": AGGREGATED})
    again = await client.get(path, headers={"Accept": AGGREGATED, "If-None-Match": first.headers["etag"]})
    other = await client.get(path, headers={"Accept": AGGREGATED, "If-None-Match": '"0"'})

    assert (first.headers["cache-control"], first.headers["vary"]) == ("public", "Accept")
    assert first.headers["content-type"] == AGGREGATED
    assert (again.status_code, again.content) == (304, b"")
    assert (other.status_code, other.content) == (200, first.content)


async def test_the_form_that_was_withdrawn_is_passed_over_or_refused(client: httpx2.AsyncClient) -> None:
    alone = await client.get("/apis", headers={"Accept": BETA})
    with_fallback = await client.get("/apis", headers={"Accept": f"{BETA},application/json"})

    assert alone.json()["reason"] == "NotAcceptable"
    assert with_fallback.json()["kind"] == "APIGroupList"


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/api", "APIVersions"), ("/apis", "APIGroupList"), ("/apis/apps", "APIGroup"), ("/api/v1", "APIResourceList")],
)
async def test_legacy_documents_have_a_yaml_form_and_may_not_be_kept(
    client: httpx2.AsyncClient, path: str, kind: str
) -> None:
    answer = await client.get(path, headers={"Accept": "application/yaml"})

    assert f"kind: {kind}\n" in answer.text
    assert answer.headers["content-type"] == "application/yaml"
    assert answer.headers["cache-control"] == "no-cache, private"


async def test_a_version_out_of_order_is_unavailable_by_itself(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.set_available("batch/v1", False)

    assert (await client.get("/apis/batch/v1")).status_code == 503
    assert (await client.get("/apis/batch")).json()["preferredVersion"]["version"] == "v1"
