"""The record of a request in somebody else's name has both names."""

from __future__ import annotations

import httpx2

from dynkube.testing import APIServer


async def test_the_audit_tells_who_acted_as_whom(guarded: APIServer, admin: httpx2.AsyncClient) -> None:
    await admin.get("/api/v1/pods", headers={"Impersonate-User": "bob"})

    record = guarded.audit[-1]
    assert record.user is not None
    assert record.impersonator is not None
    assert (record.user.name, record.impersonator.name) == ("bob", "admin")
