"""Subresources: status, scale, and any other by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynkube.client import SubresourceClient
from dynkube.errors import InvalidInput, InvalidObject
from tests.client.wire import ScriptedServer, connect, ok

DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "status": {"replicas": 1}}
SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 3}}
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction"}

Call = Callable[[SubresourceClient], Any]
WEB = "/apis/apps/v1/namespaces/shop/deployments/web"


@pytest.mark.parametrize(
    ("subresource", "call", "request_line"),
    [
        ("scale", lambda s: s.get("web"), f"GET {WEB}/scale"),
        ("scale", lambda s: s.update(SCALE), f"PUT {WEB}/scale"),
        ("scale", lambda s: s.update({**SCALE, "metadata": {}}, name="web"), f"PUT {WEB}/scale"),
        ("scale", lambda s: s.patch("web", {"spec": {"replicas": 2}}), f"PATCH {WEB}/scale"),
        ("status", lambda s: s.get("web"), f"GET {WEB}/status"),
        ("status", lambda s: s.update(DEPLOYMENT), f"PUT {WEB}/status"),
        ("eviction", lambda s: s.create("web", EVICTION), f"POST {WEB}/eviction"),
        ("rollback", lambda s: s.create("web", EVICTION, namespace="shop"), f"POST {WEB}/rollback"),
    ],
)
async def test_each_verb_is_one_request_below_the_object(subresource: str, call: Call, request_line: str) -> None:
    server = ScriptedServer(ok(SCALE))

    response = await call(connect(server).resource("deployments").subresource(subresource))

    assert server.request_lines == [request_line]
    assert response.kind == "Scale"


async def test_an_object_with_its_own_kind_may_set_the_namespace() -> None:
    server = ScriptedServer(ok(SCALE))
    scale = {**SCALE, "metadata": {"name": "web", "namespace": "own"}}

    await connect(server).resource("deployments").subresource("scale").update(scale)

    assert server.request_lines == ["PUT /apis/apps/v1/namespaces/own/deployments/web/scale"]


async def test_writes_name_the_field_manager_and_take_the_options() -> None:
    server = ScriptedServer(ok(SCALE))

    await connect(server).resource("deployments").subresource("scale").update(SCALE, dry_run=True)

    assert dict(server.requests[0].url.params) == {"fieldManager": "tester", "dryRun": "All"}


@pytest.mark.parametrize(
    ("subresource", "call", "error", "message"),
    [
        ("status", lambda s: s.update(SCALE), InvalidObject, "is autoscaling/v1 Scale, but"),
        ("status", lambda s: s.update(DEPLOYMENT, name="other"), InvalidObject, "name 'web', but the call has"),
        ("scale", lambda s: s.update(SCALE, name="other"), InvalidObject, "name 'web', but the call has name='other'"),
        ("scale", lambda s: s.update({**SCALE, "metadata": {}}), InvalidInput, "name is empty"),
        ("scale", lambda s: s.update({"kind": "Scale"}), InvalidObject, "'scale' has no apiVersion"),
        ("eviction", lambda s: s.create("web", {"apiVersion": "policy/v1"}), InvalidObject, "'eviction' has no kind"),
    ],
)
async def test_contradictory_arguments_are_rejected(
    subresource: str, call: Call, error: type[Exception], message: str
) -> None:
    server = ScriptedServer()

    with pytest.raises(error, match=message):
        await call(connect(server).resource("deployments").subresource(subresource))

    assert server.requests == []


@pytest.mark.parametrize("name", ["", "scale/x"])
def test_an_invalid_subresource_is_rejected_at_once(name: str) -> None:
    with pytest.raises(InvalidInput, match="invalid subresource"):
        connect(ScriptedServer()).resource("pods").subresource(name)
