"""Long responses are compressed for clients that accept gzip; short ones and watches are not."""

from __future__ import annotations

import gzip
import json

import httpx2
from hypothesis import given
from hypothesis import strategies as st

from dynkube_testing import APIServer
from dynkube_testing._asgi import Message
from dynkube_testing._wire.compression import GzipSend

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
GZIP = {"Accept-Encoding": "deflate, gzip"}
THRESHOLD = 128 * 1024


def config(name: str, size: int) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": "y" * size}}


async def test_a_short_response_is_not_compressed(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.create(config("small", 100_000))

    response = await client.get(f"{CONFIGMAPS}/small", headers=GZIP)

    assert "content-encoding" not in response.headers
    assert int(response.headers["content-length"]) == len(response.content)


async def test_a_long_list_is_compressed_while_it_is_sent(server: APIServer, client: httpx2.AsyncClient) -> None:
    for number in range(1000):
        server.create(config(f"c{number}", 500))

    async with client.stream("GET", CONFIGMAPS, headers=GZIP) as response:
        raw = b"".join([piece async for piece in response.aiter_raw()])

    assert response.headers["content-encoding"] == "gzip"
    assert len(json.loads(gzip.decompress(raw))["items"]) == 1000


@given(pieces=st.lists(st.sampled_from([0, 1, 1000, THRESHOLD - 1, THRESHOLD, THRESHOLD + 1]), min_size=1, max_size=4))
async def test_pieces_are_compressed_without_loss_above_a_threshold(pieces: list[int]) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    compressing = GzipSend(send)
    await compressing({"type": "http.response.start", "status": 200, "headers": []})
    for index, size in enumerate(pieces):
        last = index == len(pieces) - 1
        await compressing({"type": "http.response.body", "body": b"x" * size, "more_body": not last})

    body = b"".join(message["body"] for message in sent[1:])
    compressed = (b"content-encoding", b"gzip") in sent[0]["headers"]
    assert compressed is (sum(pieces) > THRESHOLD)
    assert (gzip.decompress(body) if compressed else body) == b"x" * sum(pieces)
    assert [message["more_body"] for message in sent[1:]][-1] is False
