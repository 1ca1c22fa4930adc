"""Different client libraries list the same objects, with the same fields."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dynkube
from dynkube_testing import APIServer, Endpoint
from tests.testing.clients.conftest import in_thread, widget

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.timeout(120),
    # The clients leave sockets and event loops to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings(
        "ignore:Kubernetes version:UserWarning"
    ),  # kr8s warns of server versions it was not tested with
]


def by_kubernetes(kubeconfig: Path) -> Any:
    kubernetes: Any = importlib.import_module("kubernetes")

    api = kubernetes.client.CustomObjectsApi(kubernetes.config.new_client_from_config(str(kubeconfig)))
    return api.list_cluster_custom_object("example.com", "v1", "widgets")["items"]


def by_lightkube(kubeconfig: Path) -> Any:
    import lightkube
    from lightkube.generic_resource import create_namespaced_resource

    kind = create_namespaced_resource("example.com", "v1", "Widget", "widgets")
    client = lightkube.Client(config=lightkube.KubeConfig.from_file(kubeconfig))
    items: Any = client.list(kind, namespace="*")
    return [item.to_dict() for item in items]


def by_kr8s(kubeconfig: Path) -> Any:
    import kr8s.asyncio

    async def work() -> Any:
        api = await kr8s.asyncio.api(kubeconfig=str(kubeconfig))
        items: Any = api.get("widgets.example.com", namespace=kr8s.ALL)
        # kr8s sets the kind to the name it was called with, in lower case.
        return [{**item.raw.to_dict(), "kind": "Widget"} async for item in items]

    return asyncio.run(work())


@pytest.mark.parametrize("client", [by_kubernetes, by_lightkube, by_kr8s])
async def test_all_clients_list_the_same_objects(
    server: APIServer, endpoint: Endpoint, kubeconfig: Path, client: Callable[[Path], Any]
) -> None:
    for name in ("a", "b"):
        server.create(widget(name, size=1, colour="red"))

    async with dynkube.connect(kubeconfig=kubeconfig) as ours:
        listed = await ours.resource("widgets").list()
    theirs = await in_thread(lambda: client(kubeconfig))

    assert [item.to_dict() for item in listed] == json.loads(json.dumps(theirs)) == server.list("widgets")
