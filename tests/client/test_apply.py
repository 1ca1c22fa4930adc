"""Server-side apply in its simple form."""

from __future__ import annotations

import pytest

from dynkube.errors import ApplyConflict, Conflict, InvalidObject
from tests.client.wire import ScriptedServer, connect, ok, refusal

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"a": "1"}}


async def test_an_apply_sends_the_fields_to_own() -> None:
    server = ScriptedServer(ok(CONFIG))

    applied = await connect(server).resource("configmaps").apply(CONFIG, field_manager="me")

    request = server.requests[0]
    assert applied == CONFIG
    assert (request.method, request.headers["content-type"]) == ("PATCH", "application/apply-patch+yaml")
    assert dict(request.url.params) == {"fieldManager": "me", "force": "false"}
    assert server.bodies == [CONFIG]


async def test_force_and_dry_run_are_sent() -> None:
    server = ScriptedServer(ok(CONFIG))

    await connect(server).resource("configmaps").apply(CONFIG, force=True, dry_run=True)

    assert dict(server.requests[0].url.params) == {"fieldManager": "tester", "force": "true", "dryRun": "All"}


async def test_what_was_read_is_refused_with_a_word_on_what_to_do() -> None:
    read = {**CONFIG, "metadata": {"name": "web", "managedFields": [{"manager": "kubectl"}]}}
    server = ScriptedServer()

    with pytest.raises(InvalidObject, match=r"managedFields, so it was read .* use update\(\)"):
        await connect(server).resource("configmaps").apply(read)

    assert server.requests == []


async def test_fields_that_others_own_are_a_conflict_that_names_them() -> None:
    causes = [{"reason": "FieldManagerConflict", "field": ".data.a", "message": 'conflict with "kubectl"'}]
    server = ScriptedServer(refusal(409, "Conflict", "Apply failed with 1 conflict", details={"causes": causes}))

    with pytest.raises(ApplyConflict) as caught:
        await connect(server).resource("configmaps").apply(CONFIG)

    assert isinstance(caught.value, Conflict)
    assert [(cause.field, cause.message) for cause in caught.value.causes] == [(".data.a", 'conflict with "kubectl"')]
