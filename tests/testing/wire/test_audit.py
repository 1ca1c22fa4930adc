"""The audit log: user, parameters, body and response of each request."""

from __future__ import annotations

import httpx2
import pytest
import trio

from dynkube_testing import APIServer, User

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"


async def test_a_record_has_the_body_as_bytes_and_decoded(server: APIServer, client: httpx2.AsyncClient) -> None:
    await client.post(CONFIGMAPS, json={"metadata": {"name": "a"}})
    await client.patch(f"{CONFIGMAPS}/a", content=b'{"data":{"x":"1"}}', headers={"Content-Type": MERGE})
    await client.post(CONFIGMAPS, content=b"metadata: {name: b}", headers={"Content-Type": "application/yaml"})

    create, patch, yaml = server.audit
    assert create.body["metadata"]["name"] == "a"
    assert (patch.verb, patch.content_type, patch.body) == ("patch", MERGE, {"data": {"x": "1"}})
    assert patch.content == b'{"data":{"x":"1"}}'
    assert yaml.body == {"metadata": {"name": "b"}}


@pytest.mark.parametrize("content", [b"", b"{", b"a: [", b"\xff\xfe"])
async def test_a_body_that_cannot_be_decoded_is_none(
    server: APIServer, client: httpx2.AsyncClient, content: bytes
) -> None:
    await client.post(CONFIGMAPS, content=content, headers={"Content-Type": "application/json"})

    (record,) = server.audit
    assert (record.content, record.body, record.status) == (content, None, 400)


async def test_large_bodies_are_not_kept(server: APIServer, client: httpx2.AsyncClient) -> None:
    await client.post(CONFIGMAPS, content=b" " * (2 * 1024 * 1024 + 1))

    assert server.audit[-1].content == b""


async def test_the_latest_bodies_are_kept_up_to_a_total_size(server: APIServer, client: httpx2.AsyncClient) -> None:
    for _ in range(33):
        await client.post(CONFIGMAPS, content=b" " * (2 * 1024 * 1024))

    stored = [bool(record.content) for record in server.audit]
    assert stored == [False, *[True] * 32], "bodies of 64 MiB in total"


async def test_a_record_has_the_user_and_the_impersonator(server: APIServer) -> None:
    alice = User("alice", ("devs",))
    async with httpx2.AsyncClient(transport=server.transport(alice), base_url=server.url) as client:
        await client.get(f"{CONFIGMAPS}/a", headers={"Impersonate-User": "bob"})
        await client.get(f"{CONFIGMAPS}/a/status")

    acting, own = server.audit
    assert acting.user == User("bob", ("system:authenticated",))
    assert acting.impersonator == own.user == User("alice", ("devs", "system:authenticated"))
    assert (own.impersonator, own.subresource) == (None, "status")


async def test_a_record_of_a_401_has_no_user() -> None:
    async with APIServer(token="secret") as server:
        async with httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client:
            await client.get(CONFIGMAPS, headers={"Authorization": "Bearer guessed"})

        (record,) = server.audit
        assert (record.user, record.status, record.headers["authorization"]) == (None, 401, "Bearer <redacted>")


async def test_a_record_has_the_duration_of_the_response(server: APIServer, client: httpx2.AsyncClient) -> None:
    async with client.stream("GET", f"{CONFIGMAPS}?watch=1&timeoutSeconds=7") as response:
        (record,) = server.audit
        assert (record.status, record.finished, record.duration) == (200, None, None)
        await response.aread()

    assert record.finished == trio.current_time()
    assert record.duration == 7


async def test_the_repr_of_a_record_is_one_line(server: APIServer, client: httpx2.AsyncClient) -> None:
    await client.get(CONFIGMAPS, params={"limit": "1"}, headers={"Impersonate-User": "bob"})

    (record,) = server.audit
    assert repr(record) == (
        "<GET /api/v1/namespaces/default/configmaps?limit=1 by bob for system:admin: 200 in 0.000 s>"
    )


async def test_requests_is_an_alias_of_audit(server: APIServer, client: httpx2.AsyncClient) -> None:
    await client.get("/version")

    assert server.requests == server.audit
    server.forget_requests()
    assert server.audit == []
