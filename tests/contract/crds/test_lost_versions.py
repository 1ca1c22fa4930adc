"""Objects that are stored in a version that the CRD has no more: nothing can be done with them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tests.contract.cluster import Cluster, Response
from tests.contract.objects import CRDS, version

pytestmark = pytest.mark.since("1.36", "messages and codes were others")

Request = Callable[[Cluster], Awaitable[Response]]


@pytest.fixture
async def lost(cluster: Cluster) -> Cluster:
    """Return a cluster with the Widget ``w``, stored in v1, of a CRD with v2 only."""
    name = f"widgets.{cluster.group}"
    await cluster.create_crd(cluster.crd(versions=[version("v1"), version("v2", storage=False)]))
    await cluster.until_served("widgets.v2")
    await cluster.create("widgets.v2", cluster.widget(api_version="v2", spec={"a": 1}))
    await cluster.patch(CRDS, name, {"spec": {"versions": [version("v1", storage=False), version("v2")]}})
    await cluster.patch(f"{CRDS}/status", name, {"status": {"storedVersions": ["v2"]}})
    await cluster.patch(CRDS, name, {"spec": {"versions": [version("v2")]}})
    await cluster.until_not_served("widgets.v1")
    return cluster


def problem(cluster: Cluster) -> str:
    return f"request to convert CR from an invalid group/version: {cluster.group}/v1"


def sent(method: str, name: str = "", *, body: bool = False, params: dict[str, str] | None = None) -> Request:
    async def send(cluster: Cluster) -> Response:
        content = cluster.widget(api_version="v2", spec={"a": 2}) if body else None
        return await cluster.call(method, cluster.path("widgets.v2", name), body=content, params=params or {})

    return send


@pytest.mark.parametrize(
    "send",
    [
        sent("GET", "w"),
        sent("PUT", "w", body=True),
        sent("DELETE", "w"),
        sent("DELETE"),
        sent("GET", params={"limit": "1"}),
    ],
    ids=["get", "update", "delete", "deletecollection", "chunks"],
)
async def test_a_request_for_the_object_is_a_500(lost: Cluster, send: Request) -> None:
    response = await send(lost)

    assert (response.code, response.body["message"]) == (500, problem(lost))
    assert "reason" not in response.body


@pytest.mark.parametrize("params", [{}, {"resourceVersion": "0"}, {"watch": "1", "timeoutSeconds": "1"}])
async def test_lists_and_watches_are_a_429_as_the_watch_cache_cannot_be_filled(
    lost: Cluster, params: dict[str, str]
) -> None:
    response = await sent("GET", params=params)(lost)

    # The reason is in the message as soon as a real server has tried.
    reason = f": failed to list {lost.group}/v2, Kind=Widget: {problem(lost)}"
    assert response.code == 429
    assert response.body["message"].removesuffix(reason) == "storage is (re)initializing"
    assert response.body["details"] == {"retryAfterSeconds": 1}


async def test_another_object_of_that_name_already_exists(lost: Cluster) -> None:
    response = await sent("POST", body=True)(lost)

    assert (response.code, response.body["reason"]) == (409, "AlreadyExists")


async def test_the_object_can_be_read_again_when_the_version_is_back(lost: Cluster) -> None:
    versions = [version("v1", storage=False, served=False), version("v2")]
    await lost.patch(CRDS, f"widgets.{lost.group}", {"spec": {"versions": versions}})

    async def readable() -> bool:
        return (await sent("GET", "w")(lost)).code == 200

    await lost.until(readable)
    assert (await lost.get("widgets.v2", "w"))["spec"] == {"a": 1}
