"""Answers that are refused, late, slow, missing or old."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube.testing import APIServer, Delay, Disconnect, Drip, Freeze, Hang, Lag, Refuse, User
from tests.contract.objects import config

CONFIGS = "/api/v1/configmaps"
SOON: Any = "soon"


@pytest.mark.parametrize(
    ("status", "reason"), [(403, "Forbidden"), (410, "Expired"), (429, "TooManyRequests"), (503, "ServiceUnavailable")]
)
async def test_a_refusal_has_the_status_that_fits(
    server: APIServer, client: httpx2.AsyncClient, status: int, reason: str
) -> None:
    server.inject(Refuse(status, retry_after=3))

    response = await client.get(CONFIGS)

    body = response.json()
    assert (body["kind"], body["code"], body["reason"]) == ("Status", response.status_code, reason)
    assert body["details"] == {"retryAfterSeconds": 3}
    assert response.headers["retry-after"] == "3"


async def test_a_refusal_may_say_why(server: APIServer, client: httpx2.AsyncClient) -> None:
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
async def test_a_refusal_can_answer_anything(
    server: APIServer, client: httpx2.AsyncClient, body: Any, sent: bytes, content_type: str
) -> None:
    server.inject(Refuse(200, body=body, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"))

    response = await client.get(CONFIGS)

    assert (response.content, response.headers["content-type"]) == (sent, content_type)
    assert response.headers["retry-after"] == "Wed, 21 Oct 2026 07:28:00 GMT"


@pytest.mark.parametrize(("seconds", "sent"), [(5, "5"), (0.5, "0.5"), (1234567.0, "1234567")])
async def test_a_pause_of_any_length_is_asked_for_in_digits(
    server: APIServer, client: httpx2.AsyncClient, seconds: float, sent: str
) -> None:
    server.inject(Refuse(503, retry_after=seconds))

    assert (await client.get(CONFIGS)).headers["retry-after"] == sent


async def test_a_token_is_refused_until_another_one_comes() -> None:
    alice = User("alice")
    async with APIServer(users={"old": alice, "new": alice}) as server:
        server.inject(Refuse(401), when=lambda request: request.headers.get("authorization") == "Bearer old")
        async with httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client:
            statuses = [
                (await client.get(CONFIGS, headers={"Authorization": f"Bearer {token}"})).status_code
                for token in ("old", "new", "old")
            ]

        assert statuses == [401, 200, 401]


async def test_a_delay_comes_before_the_request_is_worked_on(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.inject(Delay(10), verb="list")

    async with trio.open_nursery() as nursery:
        begin = trio.current_time()
        nursery.start_soon(trio.sleep, 5)
        server.create(config("a"))
        response = await client.get(CONFIGS)

    assert trio.current_time() - begin == 10
    assert len(response.json()["items"]) == 1


async def test_a_write_that_its_client_gave_up_is_carried_out(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.inject(Delay(30), verb="create")

    with trio.move_on_after(10) as given_up:
        await client.post("/api/v1/namespaces/default/configmaps", json=config("a"))
    before = len(server.list("configmaps"))
    await trio.sleep(30)

    assert (given_up.cancelled_caught, before) == (True, 0)
    assert [each["metadata"]["name"] for each in server.list("configmaps")] == ["a"]
    assert server.audit[-1].finished == pytest.approx(server.audit[-1].time + 30)


async def test_a_request_that_hangs_is_never_answered(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.inject(Hang(), times=1)

    with pytest.raises(httpx2.ReadTimeout):
        await client.get(CONFIGS, timeout=600)

    assert (await client.get(CONFIGS)).status_code == 200


@pytest.mark.parametrize(
    ("effect", "error"), [(Disconnect(), httpx2.RemoteProtocolError), (Disconnect("reset"), httpx2.ReadError)]
)
async def test_a_connection_may_end_without_an_answer(
    server: APIServer, client: httpx2.AsyncClient, effect: Disconnect, error: type[Exception]
) -> None:
    server.inject(effect)

    with pytest.raises(error):
        await client.post("/api/v1/namespaces/default/configmaps", json=config("a"))

    assert server.list("configmaps") == []


async def test_a_body_drips(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.inject(Drip(100))
    begin = trio.current_time()

    response = await client.get(CONFIGS)

    assert trio.current_time() - begin == pytest.approx(len(response.content) / 100)
    assert response.json()["kind"] == "ConfigMapList"


async def test_what_is_frozen_is_answered_again(server: APIServer, client: httpx2.AsyncClient) -> None:
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
def test_an_effect_that_makes_no_sense_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        wrong()


async def test_a_body_that_lags_comes_later_in_order_and_at_its_own_pace(
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


async def test_a_lag_has_to_be_a_number_of_seconds() -> None:
    await trio.lowlevel.checkpoint()
    with pytest.raises(InvalidInput, match="seconds is -1"):
        Lag(-1)
