"""Faults that change responses: errors, delays, slow bodies, no response at all, repeated responses."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube_testing import APIServer, Delay, Disconnect, Drip, Freeze, Hang, Lag, Refuse, User
from tests.contract.objects import config

CONFIGS = "/api/v1/configmaps"
SOON: Any = "soon"


@pytest.mark.parametrize(
    ("status", "reason"), [(403, "Forbidden"), (410, "Expired"), (429, "TooManyRequests"), (503, "ServiceUnavailable")]
)
async def test_refuse_sends_a_status_object_with_the_matching_reason(
    server: APIServer, client: httpx2.AsyncClient, status: int, reason: str
) -> None:
    server.inject(Refuse(status, retry_after=3))

    response = await client.get(CONFIGS)

    body = response.json()
    assert (body["kind"], body["code"], body["reason"]) == ("Status", response.status_code, reason)
    assert body["details"] == {"retryAfterSeconds": 3}
    assert response.headers["retry-after"] == "3"


async def test_refuse_can_set_reason_and_message(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.inject(Refuse(500, reason="", message="etcdserver: leader changed"))

    body = (await client.get(CONFIGS)).json()

    assert (body["message"], body.get("reason", "")) == ("etcdserver: leader changed", "")


@pytest.mark.parametrize(
    ("body", "sent", "content_type"),
    [
        ("<html>", b"<html>", "text/html; charset=utf-8"),
        (b"{", b"{", "application/json"),
        ({"a": 1}, b'{"a":1}', "application/json"),
    ],
)
async def test_refuse_can_send_any_body(
    server: APIServer, client: httpx2.AsyncClient, body: Any, sent: bytes, content_type: str
) -> None:
    server.inject(Refuse(200, body=body, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"))

    response = await client.get(CONFIGS)

    assert (response.content, response.headers["content-type"]) == (sent, content_type)
    assert response.headers["retry-after"] == "Wed, 21 Oct 2026 07:28:00 GMT"


@pytest.mark.parametrize(("seconds", "sent"), [(5, "5"), (0.5, "0.5"), (1234567.0, "1234567")])
async def test_retry_after_is_written_as_a_plain_number(
    server: APIServer, client: httpx2.AsyncClient, seconds: float, sent: str
) -> None:
    server.inject(Refuse(503, retry_after=seconds))

    assert (await client.get(CONFIGS)).headers["retry-after"] == sent


async def test_refuse_can_be_limited_to_one_token() -> None:
    alice = User("alice")
    async with APIServer(users={"old": alice, "new": alice}) as server:
        server.inject(Refuse(401), when=lambda request: request.headers.get("authorization") == "Bearer old")
        async with httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client:
            statuses = [
                (await client.get(CONFIGS, headers={"Authorization": f"Bearer {token}"})).status_code
                for token in ("old", "new", "old")
            ]

        assert statuses == [401, 200, 401]


async def test_a_delay_precedes_the_handling_of_the_request(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.inject(Delay(10), verb="list")

    async with trio.open_nursery() as nursery:
        begin = trio.current_time()
        nursery.start_soon(trio.sleep, 5)
        server.create(config("a"))
        response = await client.get(CONFIGS)

    assert trio.current_time() - begin == 10
    assert len(response.json()["items"]) == 1


async def test_a_delayed_write_is_carried_out_after_its_client_has_given_up(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    server.inject(Delay(30), verb="create")

    with trio.move_on_after(10) as given_up:
        await client.post("/api/v1/namespaces/default/configmaps", json=config("a"))
    before = len(server.list("configmaps"))
    await trio.sleep(30)

    assert (given_up.cancelled_caught, before) == (True, 0)
    assert [each["metadata"]["name"] for each in server.list("configmaps")] == ["a"]
    assert server.audit[-1].finished == pytest.approx(server.audit[-1].time + 30)


async def test_a_hanging_request_gets_no_response(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.inject(Hang(), times=1)

    with pytest.raises(httpx2.ReadTimeout):
        await client.get(CONFIGS, timeout=600)

    assert (await client.get(CONFIGS)).status_code == 200


@pytest.mark.parametrize(
    ("effect", "error"), [(Disconnect(), httpx2.RemoteProtocolError), (Disconnect("reset"), httpx2.ReadError)]
)
async def test_disconnect_ends_the_connection_without_a_response(
    server: APIServer, client: httpx2.AsyncClient, effect: Disconnect, error: type[Exception]
) -> None:
    server.inject(effect)

    with pytest.raises(error):
        await client.post("/api/v1/namespaces/default/configmaps", json=config("a"))

    assert server.list("configmaps") == []


async def test_drip_limits_the_rate_of_the_body(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.inject(Drip(100))
    begin = trio.current_time()

    response = await client.get(CONFIGS)

    assert trio.current_time() - begin == pytest.approx(len(response.content) / 100)
    assert response.json()["kind"] == "ConfigMapList"


async def test_freeze_repeats_the_first_response(server: APIServer, client: httpx2.AsyncClient) -> None:
    fault = server.inject(Freeze(), resource="configmaps")
    first = await client.get(CONFIGS)
    server.create(config("a"))

    again = await client.get(CONFIGS)
    fault.remove()
    after = await client.get(CONFIGS)

    assert again.json() == first.json()
    assert len(json.loads(after.text)["items"]) == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Refuse(99), "status 99"),
        (lambda: Refuse(500, body="x", reason="Y"), "mutually exclusive"),
        (lambda: Refuse(204, body="x"), "a response with status 204 has no body"),
        (lambda: Refuse(429, retry_after=-1), "retry_after is -1"),
        (lambda: Delay(-1), "seconds is -1"),
        (lambda: Drip(0), "bytes_per_second is 0"),
        (lambda: Disconnect(SOON), "how is 'soon'"),
    ],
)
def test_invalid_effects_are_rejected(wrong: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        wrong()


async def test_lag_delays_each_chunk_of_the_body_by_the_same_time(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    server.inject(Lag(10), verb="watch")
    start = trio.current_time()
    params = {"watch": "true", "timeoutSeconds": "5"}
    async with client.stream("GET", CONFIGS, params=params) as response, trio.open_nursery() as nursery:
        nursery.start_soon(create_each_second, server, ["a", "b", "c"])
        seen = [
            (json.loads(line)["object"]["metadata"]["name"], trio.current_time() - start)
            async for line in response.aiter_lines()
        ]

    assert seen == [("a", 11), ("b", 12), ("c", 13)]


async def create_each_second(server: APIServer, names: list[str]) -> None:
    for name in names:
        await trio.sleep(1)
        server.create(config(name))


async def test_a_negative_lag_is_rejected() -> None:
    await trio.lowlevel.checkpoint()
    with pytest.raises(InvalidInput, match="seconds is -1"):
        Lag(-1)
