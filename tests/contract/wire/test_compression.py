"""Large responses are compressed for clients that accept gzip; small ones and watches are not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable

import pytest

import dynkube
from dynkube import Client
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config

GZIP = {"Accept-Encoding": "deflate, gzip"}
PLAIN = {"Accept-Encoding": "identity"}


def big(size: int, name: str = "big") -> JSONObject:
    return {**config(name), "data": {"x": "y" * size}}


@pytest.mark.parametrize("accept", ["application/json", "application/yaml"])
async def test_a_large_object_is_compressed(cluster: Cluster, accept: str) -> None:
    await cluster.create("configmaps", big(200_000))
    path = cluster.path("configmaps", "big")

    response = await cluster.http.get(path, headers={**GZIP, "Accept": accept})
    plain = await cluster.http.get(path, headers={**PLAIN, "Accept": accept})

    assert (response.headers["content-encoding"], response.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert response.content == plain.content
    assert "content-encoding" not in plain.headers


@pytest.mark.parametrize(("size", "compressed"), [(100_000, False), (131_072, True)])
async def test_responses_of_128_kilobytes_or_more_are_compressed(cluster: Cluster, size: int, compressed: bool) -> None:
    await cluster.create("configmaps", big(size))

    response = await cluster.http.get(cluster.path("configmaps", "big"), headers=GZIP)

    assert ("content-encoding" in response.headers) is compressed


async def test_the_response_to_the_create_of_a_large_object_is_compressed(cluster: Cluster) -> None:
    headers = {**GZIP, "Content-Type": "application/json"}
    response = await cluster.http.post(cluster.path("configmaps"), content=json.dumps(big(200_000)), headers=headers)

    assert (response.status_code, response.headers["content-encoding"]) == (201, "gzip")


async def test_a_large_list_is_compressed(cluster: Cluster) -> None:
    for name in "abc":
        await cluster.create("configmaps", big(60_000, name))

    response = await cluster.http.get(cluster.path("configmaps"), headers=GZIP)

    assert response.headers["content-encoding"] == "gzip"
    assert len(response.json()["items"]) == 3


async def test_a_watch_is_never_compressed(cluster: Cluster) -> None:
    await cluster.create("configmaps", big(200_000))
    params = {"watch": "1", "timeoutSeconds": "1"}

    response = await cluster.http.get(cluster.path("configmaps"), params=params, headers=GZIP)

    assert "content-encoding" not in response.headers
    assert json.loads(response.text.splitlines()[0])["object"]["metadata"]["name"] == "big"


@pytest.mark.parametrize(
    ("accepted", "compressed"), [("gzip", True), ("gzip;q=1.0", False), ("br", False), ("*", False)]
)
async def test_only_gzip_without_parameters_in_accept_encoding_enables_compression(
    cluster: Cluster, accepted: str, compressed: bool
) -> None:
    await cluster.create("configmaps", big(200_000))

    response = await cluster.http.get(cluster.path("configmaps", "big"), headers={"Accept-Encoding": accepted})

    assert ("content-encoding" in response.headers) is compressed


async def test_a_compressed_request_is_a_400(cluster: Cluster) -> None:
    headers = {"Content-Encoding": "gzip"}
    response = await cluster.call("POST", cluster.path("configmaps"), body=gzip.compress(b"{}"), headers=headers)

    assert (response.code, response.body["reason"]) == (400, "BadRequest")


async def test_a_client_and_its_informers_decompress_lists(cluster: Cluster, connect: Callable[..., Client]) -> None:
    for name in "abc":
        await cluster.create("configmaps", big(60_000, name))
    settings = dynkube.InformerSettings(streaming_lists=False)
    received: list[int] = []
    for compression in (False, True):
        async with connect(compression=compression, settings=settings) as client:
            listed = await client.resource("configmaps").list(namespace=cluster.namespace)
            assert [obj["data"]["x"] for obj in listed] == ["y" * 60_000] * 3
            async with client.informer("configmaps.v1", namespace=cluster.namespace) as informer:
                await informer.wait_synced()
                assert len(informer) == 3
            received.append(client.statistics().received)

    assert received[1] < received[0] / 5
