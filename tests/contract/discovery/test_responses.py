"""Content negotiation, caching and errors of discovery; ``/version`` and the health endpoints."""

from __future__ import annotations

import pytest

from tests.contract.cluster import AGGREGATED, Cluster

BETA = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
since_aggregated = pytest.mark.since("1.30", "aggregated discovery is v2 since 1.30")


@since_aggregated
async def test_aggregated_discovery_can_be_cached_by_its_etag(cluster: Cluster) -> None:
    # The core group, as CRDs of other tests are created and deleted.
    first = await cluster.http.get("/api", headers={"Accept": AGGREGATED})
    tag = first.headers["etag"]
    again = await cluster.http.get("/api", headers={"Accept": AGGREGATED, "If-None-Match": tag})
    other = await cluster.http.get("/api", headers={"Accept": AGGREGATED, "If-None-Match": '"0"'})

    assert (first.headers["cache-control"], first.headers["vary"]) == ("public", "Accept")
    assert first.headers["content-type"] == AGGREGATED
    assert (again.status_code, again.content) == (304, b"")
    assert (other.status_code, other.content) == (200, first.content)


@since_aggregated
@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (f"{AGGREGATED},{BETA},application/json", "APIGroupDiscoveryList"),
        (f"{BETA},{AGGREGATED}", "APIGroupDiscoveryList"),
        (f"application/json,{AGGREGATED}", "APIGroupDiscoveryList"),
        (f"application/yaml,{AGGREGATED};q=0.1", "APIGroupDiscoveryList"),
        (f"{BETA},application/json", "APIGroupList"),
        ("application/json", "APIGroupList"),
        ("*/*", "APIGroupList"),
    ],
)
async def test_the_accept_header_selects_aggregated_discovery(cluster: Cluster, accept: str, kind: str) -> None:
    response = await cluster.call("GET", "/apis", headers={"Accept": accept})

    assert response.body["kind"] == kind


async def test_only_accepting_a_version_that_is_not_served_is_a_406(cluster: Cluster) -> None:
    response = await cluster.call("GET", "/apis", headers={"Accept": BETA})

    assert (response.code, response.body["reason"]) == (406, "NotAcceptable")


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/api", "APIVersions"), ("/apis", "APIGroupList"), ("/apis/apps", "APIGroup"), ("/api/v1", "APIResourceList")],
)
async def test_documents_can_be_yaml_and_must_not_be_cached(cluster: Cluster, path: str, kind: str) -> None:
    response = await cluster.http.get(path, headers={"Accept": "application/yaml"})

    assert f"kind: {kind}\n" in response.text
    assert response.headers["content-type"] == "application/yaml"
    assert response.headers["cache-control"] == "no-cache, private"


@pytest.mark.parametrize("path", ["/api", "/api/v1", "/apis/apps/v1", "/version"])
@pytest.mark.parametrize("method", ["HEAD", "POST", "OPTIONS"])
async def test_documents_of_built_in_groups_support_only_get(cluster: Cluster, path: str, method: str) -> None:
    assert (await cluster.call(method, path)).code == 405


@pytest.mark.parametrize("path", ["/", "/apis", "/apis/apps", "/healthz"])
@pytest.mark.parametrize("method", ["HEAD", "POST", "OPTIONS"])
async def test_other_documents_are_returned_for_any_method(cluster: Cluster, path: str, method: str) -> None:
    assert (await cluster.call(method, path)).code == 200


async def test_the_version_is_indented_json(cluster: Cluster) -> None:
    response = await cluster.http.get("/version")

    version = response.json()
    assert response.text.startswith('{\n  "')
    assert (version["major"], version["minor"]) == tuple(map(str, cluster.version))
    assert version["gitVersion"].startswith(f"v{version['major']}.{version['minor']}.")
    assert {"gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"} <= set(version)


@pytest.mark.since("1.34", "the fields are new")
async def test_the_version_includes_the_emulated_and_the_minimum_version(cluster: Cluster) -> None:
    version = await cluster.request("GET", "/version")

    before = str(int(version["minor"]) - 1)
    assert (version["emulationMajor"], version["emulationMinor"]) == (version["major"], version["minor"])
    assert (version["minCompatibilityMajor"], version["minCompatibilityMinor"]) == (version["major"], before)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "path", ["/healthz", "/livez", "/readyz", "/readyz/ping", "/livez/poststarthook/rbac/bootstrap-roles"]
)
async def test_every_check_passes(cluster: Cluster, method: str, path: str) -> None:
    response = await cluster.call(method, path)

    assert (response.code, response.body) == (200, "ok")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("path", ["/readyz/none", "/livez/informer-sync", "/readyz/poststarthook"])
async def test_an_unknown_check_is_a_404(cluster: Cluster, path: str) -> None:
    assert (await cluster.call("GET", path)).code == 404


@pytest.mark.parametrize("endpoint", ["healthz", "livez", "readyz"])
async def test_a_verbose_response_lists_every_check(cluster: Cluster, endpoint: str) -> None:
    lines = (await cluster.http.get(f"/{endpoint}?verbose")).text.splitlines()

    assert lines[:2] == ["[+]ping ok", "[+]log ok"]
    assert "[+]etcd ok" in lines
    assert lines[-1] == f"{endpoint} check passed"
    assert ("[+]shutdown ok" in lines) is (endpoint == "readyz")


async def test_checks_can_be_excluded(cluster: Cluster) -> None:
    known = (await cluster.http.get("/livez?verbose&exclude=etcd")).text.splitlines()
    unknown = (await cluster.http.get("/livez?verbose&exclude=gravity")).text.splitlines()

    assert "[+]etcd excluded: ok" in known
    # Versions of the server quote the name differently.
    assert unknown[-2].startswith("warn: some health checks cannot be excluded: no matches for ")
    assert "gravity" in unknown[-2]


async def test_the_root_lists_the_paths(cluster: Cluster) -> None:
    paths = (await cluster.request("GET", "/"))["paths"]

    assert {"/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version"} <= set(paths)
    assert {"/healthz/ping", "/livez/etcd", "/readyz/informer-sync"} <= set(paths)
    assert paths == sorted(paths)
