"""The audit record of an impersonated request has both users."""

from __future__ import annotations

import httpx2

from dynkube_testing import APIServer


async def test_the_audit_record_has_the_user_and_the_impersonator(
    guarded: APIServer, admin: httpx2.AsyncClient
) -> None:
    await admin.get("/api/v1/pods", headers={"Impersonate-User": "bob"})

    record = guarded.audit[-1]
    assert record.user is not None
    assert record.impersonator is not None
    assert (record.user.name, record.impersonator.name) == ("bob", "admin")
