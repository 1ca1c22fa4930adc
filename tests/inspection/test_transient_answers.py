"""What could not be read is said to be unknown, not absent."""

from __future__ import annotations

import pytest

import dynkube
from dynkube import Client
from dynkube.cli._inspection import Objects, run_describe_all
from dynkube.errors import DynkubeError, NoMatch, NotFound, ProtocolError
from dynkube_testing import APIServer, Rewrite, rewrites
from tests.informers.kit import crd
from tests.suite.transient import TRANSIENT
from tests.workloads.kit import workload

NOT_FOUND = ["404 page", "404 Status without a name", "404 HTML"]


@pytest.mark.parametrize("answer", TRANSIENT)
async def test_a_description_names_what_could_not_be_listed(client: Client, server: APIServer, answer: str) -> None:
    await client.resource("deploy").create(workload())
    server.inject(TRANSIENT[answer], verb="list", resource="replicasets")

    found = await client.describe("deploy", "web", events=False)

    assert found.owned is not None
    assert any("replicasets" in note for note in found.owned.notes)


async def test_a_denial_of_a_proxy_is_not_taken_for_one_of_the_server(client: Client, server: APIServer) -> None:
    await client.resource("deploy").create(workload())
    server.inject(TRANSIENT["403 HTML"], verb="list", resource="replicasets")

    found = await client.describe("deploy", "web", events=False)

    assert found.owned is not None
    assert found.owned.notes[0].startswith("replicasets.v1.apps could not be listed, and may be missing")


async def test_a_description_names_groups_whose_discovery_failed(server: APIServer) -> None:
    server.create(crd())
    server.inject(Rewrite(rewrites.stale_group("example.com")), path_prefix="/apis")
    async with dynkube.connect(transport=server.transport()) as client:
        await client.resource("deploy").create(workload())
        found = await client.describe("deploy", "web", events=False)

    assert found.owned is not None
    assert [note.partition(" failed")[0] for note in found.owned.notes] == ["discovery of example.com/v1"]


@pytest.mark.parametrize("answer", NOT_FOUND)
async def test_a_crd_that_is_not_found_for_a_moment_is_not_said_to_be_missing(
    client: Client, server: APIServer, answer: str
) -> None:
    server.create(crd())
    server.fail(path_prefix="/openapi/v3", status=404)
    server.inject(TRANSIENT[answer], verb="get", resource="customresourcedefinitions")

    with pytest.raises(NotFound if answer != "404 HTML" else ProtocolError):
        await client.explain("widgets")


async def test_an_openapi_index_that_a_proxy_does_not_find_is_an_error(client: Client, server: APIServer) -> None:
    server.inject(TRANSIENT["404 HTML"], path_prefix="/openapi/v3")

    with pytest.raises(ProtocolError):
        await client.explain("deploy")


async def test_missing_metrics_are_said_to_be_of_this_moment(client: Client) -> None:
    with pytest.raises(NoMatch, match="or try again if the server has just started"):
        await client.top_pods()


@pytest.mark.parametrize("answer", NOT_FOUND)
async def test_describing_all_objects_leaves_out_only_those_that_are_gone(
    client: Client, server: APIServer, answer: str
) -> None:
    await client.resource("deploy").create(workload())
    server.inject(TRANSIENT[answer], verb="get", resource="deployments")

    with pytest.raises(DynkubeError):
        await run_describe_all(dynkube.connect(transport=server.transport()), Objects(kind="deploy"))
