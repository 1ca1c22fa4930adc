"""What is said of a command that the API server refuses; the message has what the pod's object says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import dynkube
from dynkube.errors import BadRequest, Forbidden, NotFound
from dynkube_testing import APIServer
from tests.contract.access.kit import allow, rule, user_of
from tests.contract.cluster import Cluster
from tests.contract.objects import pod


@pytest.fixture(autouse=True)
def _played(server: APIServer | None) -> None:
    if server is not None:
        server.containers.on_exec(lambda _: 0)


async def test_the_names_of_containers_that_exist_are_given(cluster: Cluster, client: dynkube.Client) -> None:
    await cluster.create("pods", pod("web", containers=[{"name": name, "image": "x"} for name in ("app", "sidecar")]))
    web = client.pod("web", namespace=cluster.namespace)

    with pytest.raises(BadRequest, match=r"has no container 'ap'; it has app, sidecar"):
        await web.exec(["ls"], container="ap")
    with pytest.raises(BadRequest, match=r"choose one of: \[app sidecar\]"):
        await web.exec(["ls"])


async def test_a_pod_that_does_not_exist(cluster: Cluster, client: dynkube.Client) -> None:
    with pytest.raises(NotFound, match='pods "gone" not found'):
        await client.pod("gone", namespace=cluster.namespace).exec(["ls"])


@pytest.mark.parametrize(("verbs", "missing"), [("create", "get"), ("get", "create")])
@pytest.mark.since("1.35", "older servers check only get for a WebSocket")
async def test_the_missing_verb_is_named(
    cluster: Cluster, connect: Callable[..., dynkube.Client], verbs: str, missing: str
) -> None:
    await cluster.create("pods", pod("web"))
    await allow(cluster, user_of(cluster), rule(verbs, "pods/exec"), rule("get", "pods"))

    async with connect(user=user_of(cluster)) as client:
        with pytest.raises(Forbidden, match=f"a role with the verb {missing} on pods/exec is missing"):
            await client.pod("web", namespace=cluster.namespace).exec(["ls"])
