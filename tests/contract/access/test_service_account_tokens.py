"""Tokens of service accounts: their contents, and when the server accepts them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from dynkube.errors import APIError, Conflict, NotFound
from tests.contract.access.kit import account
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config, pod

_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


@pytest.fixture
async def bot(cluster: Cluster) -> JSONObject:
    """A service account."""
    return await cluster.create("serviceaccounts", {"metadata": {"name": "bot"}})


async def _token(cluster: Cluster, **spec: object) -> JSONObject:
    return await cluster.create("serviceaccounts/token", {"spec": spec}, "bot")


async def _review(cluster: Cluster, token: str, *audiences: str) -> Any:
    body = {"spec": {"token": token, "audiences": list(audiences)}}
    return (await cluster.request("POST", _REVIEWS, body=body))["status"]


async def _wait_until_invalid(cluster: Cluster, token: str) -> None:
    """Wait until a token is invalid: a real server's caches may lag, and it caches authentications for ten seconds."""

    async def unknown() -> bool:
        return (await cluster.call("GET", "/api", headers={"Authorization": f"Bearer {token}"})).code == 401

    await cluster.until(unknown)


def _claims(token: str) -> Any:
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


async def test_a_token_has_the_claims_of_its_account(cluster: Cluster, bot: JSONObject) -> None:
    request = await _token(cluster, expirationSeconds=600)

    claims, uid = _claims(request["status"]["token"]), bot["metadata"]["uid"]
    assert claims["sub"] == f"system:serviceaccount:{cluster.namespace}:bot"
    assert claims["kubernetes.io"] == {"namespace": cluster.namespace, "serviceaccount": {"name": "bot", "uid": uid}}
    assert claims["exp"] - claims["iat"] == 600
    assert claims["nbf"] == claims["iat"]
    assert claims["aud"] == request["spec"]["audiences"] == [claims["iss"]]


async def test_the_default_lifetime_of_a_token_is_an_hour(cluster: Cluster, bot: JSONObject) -> None:
    request = await _token(cluster)

    assert request["spec"]["expirationSeconds"] == 3600
    assert request["spec"]["boundObjectRef"] is None
    assert request["status"].keys() == {"token", "expirationTimestamp"}


async def test_a_request_with_the_token_has_the_user_of_the_account(cluster: Cluster) -> None:
    caller, name = await account(cluster)

    response = await caller.call("GET", cluster.path("pods"))

    assert response.body["message"].startswith(f'pods is forbidden: User "{name}" cannot list resource "pods"')


async def test_a_token_review_returns_the_user_and_the_audiences(cluster: Cluster, bot: JSONObject) -> None:
    token = (await _token(cluster, audiences=["shop"]))["status"]["token"]

    mine = await _review(cluster, token, "shop", "other")

    assert (mine["authenticated"], mine["audiences"]) == (True, ["shop"])
    assert mine["user"]["username"] == f"system:serviceaccount:{cluster.namespace}:bot"
    assert mine["user"]["uid"] == bot["metadata"]["uid"]
    assert mine["user"]["groups"] == [
        "system:serviceaccounts",
        f"system:serviceaccounts:{cluster.namespace}",
        "system:authenticated",
    ]


async def test_a_token_for_another_audience_is_invalid_for_the_server(cluster: Cluster, bot: JSONObject) -> None:
    token = (await _token(cluster, audiences=["shop"]))["status"]["token"]

    review = await _review(cluster, token)
    response = await cluster.call("GET", "/version", headers={"Authorization": f"Bearer {token}"})

    assert response.code == 401
    assert review["user"] == {}
    assert '"shop"' in review["error"]
    assert "is invalid for the target audiences" in review["error"]


async def test_a_token_review_of_an_unknown_token_is_an_error(cluster: Cluster) -> None:
    review = await _review(cluster, "guessed")

    assert review["user"] == {}
    assert "invalid bearer token" in review["error"]  # in old versions followed by the error of another authenticator


async def test_a_token_becomes_invalid_when_its_account_is_deleted(cluster: Cluster, bot: JSONObject) -> None:
    token = (await _token(cluster))["status"]["token"]

    await cluster.delete("serviceaccounts", "bot")
    await cluster.create("serviceaccounts", {"metadata": {"name": "bot"}})

    await _wait_until_invalid(cluster, token)  # although there is a new account of that name


async def test_a_modified_token_is_invalid(cluster: Cluster, bot: JSONObject) -> None:
    header, payload, signature = (await _token(cluster))["status"]["token"].split(".")
    other = base64.urlsafe_b64encode(b'{"sub":"system:admin"}').decode().rstrip("=")

    for token in (f"{header}.{other}.{signature}", f"{header}.{payload}.", f"{header}.{payload}", "a.b.c"):
        response = await cluster.call("GET", "/api", headers={"Authorization": f"Bearer {token}"})
        assert response.code == 401


@pytest.mark.parametrize(
    ("body", "name", "message"),
    [
        (
            {"spec": {"expirationSeconds": 5}},
            "",
            "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes",
        ),
        (
            {"spec": {"expirationSeconds": (1 << 32) + 1}},
            "",
            "spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds",
        ),
        pytest.param(
            {"metadata": {"name": "other"}},
            "bot",
            'metadata.name: Invalid value: "other": must match the service account name if specified',
            marks=pytest.mark.since("1.21", "1.20 ignores the name"),
        ),
    ],
)
async def test_an_invalid_request_for_a_token_is_a_422(
    cluster: Cluster, bot: JSONObject, body: JSONObject, name: str, message: str
) -> None:
    with pytest.raises(APIError) as caught:
        await cluster.create("serviceaccounts/token", body, "bot")

    status = caught.value.status
    assert (status.code, status.message) == (
        422,
        f'TokenRequest.authentication.k8s.io "{name}" is invalid: {message}',
    )


async def test_a_token_of_a_missing_account_is_a_404(cluster: Cluster) -> None:
    with pytest.raises(NotFound) as missing:
        await cluster.create("serviceaccounts/token", {"spec": {}}, "nobody")

    assert missing.value.status.message == 'serviceaccounts "nobody" not found'


async def test_a_token_bound_to_a_pod_becomes_invalid_when_the_pod_is_deleted(
    cluster: Cluster, bot: JSONObject
) -> None:
    created = await cluster.create("pods", pod("p", serviceAccountName="bot"))
    uid = created["metadata"]["uid"]
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "p"}

    request = await _token(cluster, boundObjectRef=bound)
    token = request["status"]["token"]
    await cluster.delete("pods", "p", params={"gracePeriodSeconds": "0"})

    await _wait_until_invalid(cluster, token)
    assert _claims(token)["kubernetes.io"]["pod"] == {"name": "p", "uid": uid}


async def test_a_token_can_be_bound_to_a_secret(cluster: Cluster, bot: JSONObject) -> None:
    created = await cluster.create("secrets", {"metadata": {"name": "s"}})
    bound = {"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": created["metadata"]["uid"]}

    token = (await _token(cluster, boundObjectRef=bound))["status"]["token"]

    assert _claims(token)["kubernetes.io"]["secret"] == {"name": "s", "uid": created["metadata"]["uid"]}
    assert (await cluster.call("GET", "/api", headers={"Authorization": f"Bearer {token}"})).code == 200


async def test_binding_a_token_to_a_missing_object_or_another_uid_is_an_error(
    cluster: Cluster, bot: JSONObject
) -> None:
    await cluster.create("secrets", {"metadata": {"name": "s"}})
    bound = {"apiVersion": "v1", "kind": "Secret", "name": "s"}

    with pytest.raises(NotFound):
        await _token(cluster, boundObjectRef={**bound, "name": "nope"})
    with pytest.raises(Conflict):
        await _token(cluster, boundObjectRef={**bound, "uid": "another"})


async def test_a_token_cannot_be_bound_to_a_config_map(cluster: Cluster, bot: JSONObject) -> None:
    await cluster.create("configmaps", config("c"))

    with pytest.raises(APIError) as caught:
        await _token(cluster, boundObjectRef={"apiVersion": "v1", "kind": "ConfigMap", "name": "c"})

    status = caught.value.status
    assert (status.code, status.reason) == (400, "BadRequest")
    assert status.message == "cannot bind token to object of type /v1, Kind=ConfigMap"


async def test_a_token_cannot_be_bound_to_a_pod_of_another_account(cluster: Cluster, bot: JSONObject) -> None:
    await cluster.create("pods", pod("p"))

    with pytest.raises(APIError) as caught:
        await _token(cluster, boundObjectRef={"apiVersion": "v1", "kind": "Pod", "name": "p"})

    assert caught.value.status.code == 400
    assert "cannot bind token for serviceaccount" in caught.value.status.message
