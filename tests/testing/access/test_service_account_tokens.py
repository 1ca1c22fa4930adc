"""Service accounts get tokens that the server knows again until they expire."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from dynkube.testing import APIServer
from tests.testing.access.test_authentication import WHO_AM_I

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
USER = "system:serviceaccount:default:bot"


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def cluster(clock: Clock) -> AsyncIterator[APIServer]:
    async with APIServer(rbac=True, token="root", now=clock) as server:
        server.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bot"}})
        yield server


@pytest.fixture
async def root(cluster: APIServer) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"Authorization": "Bearer root"}
    async with httpx2.AsyncClient(transport=cluster.transport(), base_url=cluster.url, headers=headers) as client:
        yield client


async def _token(root: httpx2.AsyncClient, **spec: object) -> dict[str, Any]:
    answer = await root.post(f"{ACCOUNTS}/bot/token", json={"spec": spec})
    assert answer.status_code == 201
    request: dict[str, Any] = answer.json()
    return request


async def _review(root: httpx2.AsyncClient, token: str, *audiences: str) -> dict[str, Any]:
    answer = await root.post(REVIEWS, json={"spec": {"token": token, "audiences": list(audiences)}})
    status: dict[str, Any] = answer.json()["status"]
    return status


async def test_a_token_looks_like_one_of_a_real_server(cluster: APIServer, root: httpx2.AsyncClient) -> None:
    request = await _token(root, expirationSeconds=600)

    payload = request["status"]["token"].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    uid = cluster.get("serviceaccounts", "bot")["metadata"]["uid"]
    assert (claims["sub"], claims["aud"], claims["iss"]) == (USER, ["https://kubernetes.default.svc"], claims["aud"][0])
    assert claims["kubernetes.io"] == {"namespace": "default", "serviceaccount": {"name": "bot", "uid": uid}}
    assert claims["exp"] - claims["iat"] == 600
    assert request["status"]["expirationTimestamp"] == "2030-01-01T00:10:00Z"


async def test_who_brings_it_is_the_account(root: httpx2.AsyncClient) -> None:
    token = (await _token(root))["status"]["token"]

    answer = await root.post(WHO_AM_I, json={}, headers={"Authorization": f"Bearer {token}"})

    who = answer.json()["status"]["userInfo"]
    assert who["username"] == USER
    assert who["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    assert who["extra"]["authentication.kubernetes.io/credential-id"][0].startswith("JTI=")


async def test_it_expires_with_the_servers_clock(clock: Clock, root: httpx2.AsyncClient) -> None:
    headers = {"Authorization": f"Bearer {(await _token(root, expirationSeconds=600))['status']['token']}"}
    codes = []

    for seconds in (0, 599, 2):
        clock.now += timedelta(seconds=seconds)
        codes.append((await root.get("/api", headers=headers)).status_code)

    assert codes == [200, 200, 401]


async def test_it_dies_with_its_account(cluster: APIServer, root: httpx2.AsyncClient) -> None:
    headers = {"Authorization": f"Bearer {(await _token(root))['status']['token']}"}

    cluster.delete("serviceaccounts", "bot")
    cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "bot"}})

    assert (await root.get("/api", headers=headers)).status_code == 401, "the new account is another one"


async def test_a_changed_token_is_none(root: httpx2.AsyncClient) -> None:
    header, payload, signature = (await _token(root))["status"]["token"].split(".")
    other = base64.urlsafe_b64encode(b'{"sub":"system:admin"}').decode().rstrip("=")

    for token in (f"{header}.{other}.{signature}", f"{header}.{payload}.", f"{header}.{payload}", "a.b.c"):
        assert (await root.get("/api", headers={"Authorization": f"Bearer {token}"})).status_code == 401


async def test_a_token_review_tells_whose_a_token_is(root: httpx2.AsyncClient) -> None:
    token = (await _token(root, audiences=["shop"]))["status"]["token"]

    assert await _review(root, "guessed") == {"user": {}, "error": "invalid bearer token"}
    mine = await _review(root, token, "shop", "other")
    assert (mine["authenticated"], mine["user"]["username"], mine["audiences"]) == (True, USER, ["shop"])
    assert (await _review(root, token))["error"] == (
        '[invalid bearer token, token audiences ["shop"] is invalid for the target audiences '
        '["https://kubernetes.default.svc"]]'
    )
    assert (await _review(root, "root"))["user"]["username"] == "system:admin"


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (
            {"spec": {"expirationSeconds": 5}},
            422,
            (
                'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5: '
                "may not specify a duration less than 10 minutes"
            ),
        ),
        (
            {"metadata": {"name": "other"}},
            422,
            (
                'TokenRequest.authentication.k8s.io "bot" is invalid: metadata.name: Invalid value: "other": '
                "must match the service account name if specified"
            ),
        ),
    ],
)
async def test_a_request_out_of_range_is_refused(
    root: httpx2.AsyncClient, body: dict[str, object], code: int, message: str
) -> None:
    answer = await root.post(f"{ACCOUNTS}/bot/token", json=body)

    assert (answer.status_code, answer.json()["message"]) == (code, message)


async def test_an_account_that_is_not_there_has_no_tokens(root: httpx2.AsyncClient) -> None:
    answer = await root.post(f"{ACCOUNTS}/nobody/token", json={})

    assert (answer.status_code, answer.json()["message"]) == (404, 'serviceaccounts "nobody" not found')
