"""Handles of pods: names, without any request."""

from __future__ import annotations

import httpx2
import pytest

import dynkube
from dynkube.errors import InvalidInput
from dynkube_testing import APIServer


async def test_a_handle_is_in_the_namespace_of_the_context() -> None:
    async with APIServer() as server, dynkube.connect(url=server.url, transport=server.transport()) as client:
        pods = client.pod("web"), client.pod("web", namespace="shop")

        assert [(pod.name, pod.namespace) for pod in pods] == [("web", "default"), ("web", "shop")]
        assert server.requests == []


@pytest.mark.parametrize(
    ("name", "namespace", "message"),
    [
        ("", None, "name"),
        ("a/b/c", None, "'a/b/c'"),
        (None, None, "name is None"),
        ("web", "", "namespace is ''"),
        ("web", "a/b", "namespace"),
    ],
)
async def test_what_cannot_be_a_name_is_refused(name: str, namespace: str | None, message: str) -> None:
    refusing = httpx2.MockTransport(lambda request: pytest.fail(f"{request.url} was requested"))
    async with dynkube.connect(url="http://cluster.invalid", transport=refusing) as client:
        with pytest.raises(InvalidInput, match=message):
            client.pod(name, namespace=namespace)
