"""Headers of all responses, and of responses with warnings."""

from __future__ import annotations

import uuid

import httpx2
import pytest

from dynkube_testing import APIServer

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize("path", [CONFIGMAPS, "/version", f"{CONFIGMAPS}/none", "/nowhere"])
async def test_every_response_has_the_audit_id_of_its_record(
    server: APIServer, client: httpx2.AsyncClient, path: str
) -> None:
    response = await client.get(path)

    (record,) = server.requests
    assert response.headers["audit-id"] == record.audit_id
    assert uuid.UUID(record.audit_id).version == 4
    assert response.headers["cache-control"] == "no-cache, private"


@pytest.mark.parametrize(
    ("body", "warning"),
    [
        (b'{"metadata":{"name":"a"},"b\\u0000c":1}', r'299 - "unknown field \"b\\x00c\""'),
        (b'{"metadata":{"name":"a"},"b\\nc":1}', r'299 - "unknown field \"b\\nc\""'),
        (b'{"metadata":{"name":"a"},"b\\nc":1,"b\\nc":1}', r'299 - "duplicate field \"b\\nc\""'),
    ],
)
async def test_control_characters_in_field_names_are_escaped_in_warnings(
    client: httpx2.AsyncClient, body: bytes, warning: str
) -> None:
    headers = {"Content-Type": "application/json"}

    response = await client.post("/api/v1/namespaces/default/configmaps", content=body, headers=headers)

    assert response.status_code == 201
    assert warning in response.headers["warning"]
