"""The programs of docs/from-controller-runtime.md and docs/from-kopf.md; those for kopf only register handlers."""

from __future__ import annotations

import pytest
import trio

import dynkube
from dynkube_testing import APIServer
from tests.controllers.kit import quiet, running
from tests.informers.kit import crd
from tests.public_api.documents import python_blocks, run

CONTROLLER_RUNTIME = python_blocks("docs/from-controller-runtime.md")
KOPF = python_blocks("docs/from-kopf.md")


def installed(server: APIServer, plural: str) -> None:
    """Install a CRD with the status subresource."""
    definition = crd(plural)
    definition["spec"]["versions"][0]["subresources"] = {"status": {}}
    server.create(definition)


def custom(kind: str, **spec: object) -> dict[str, object]:
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": "shop"}, "spec": spec}


@pytest.fixture
def connected(server: APIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the programs connect to the test's server."""
    original = dynkube.connect
    monkeypatch.setattr(dynkube, "connect", lambda: original(transport=server.transport()))


@pytest.mark.usefixtures("connected")
async def test_the_first_controller_of_controller_runtime_creates_an_owned_object(server: APIServer) -> None:
    installed(server, "websites")
    server.create(custom("Website", title="Books"))
    with trio.move_on_after(30):
        await run(f"{CONTROLLER_RUNTIME[0]}\nawait main()", {})

    found = server.get("configmaps", "shop")
    assert found["data"] == {"title": "Books"}
    assert found["metadata"]["ownerReferences"][0]["kind"] == "Website"


async def test_the_second_one_maps_by_an_index_and_cleans_up(
    server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "dynkube.controllers")
    installed(server, "websites")
    scope = await run(CONTROLLER_RUNTIME[1], {})
    async with running(client, scope["websites"]):  # type: ignore[arg-type]
        server.create(custom("Website", theme="dark"))
        await quiet(5)
        assert server.get("websites", "shop")["status"] == {"color": "none"}
        theme = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "dark"}, "data": {"color": "black"}}
        server.create(theme)
        await quiet(5)
        assert server.get("websites", "shop")["status"] == {"color": "black"}
        server.delete("websites", "shop")
        await quiet(5)

    assert server.list("websites") == []
    assert "default/shop is deleted" in caplog.text


@pytest.mark.usefixtures("connected")
async def test_the_operator_of_kopfs_tutorial_claims_and_cleans_up(
    server: APIServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "dynkube.controllers")
    installed(server, "ephemeralvolumeclaims")
    server.create(custom("Ephemeralvolumeclaim", size="1G"))
    with trio.move_on_after(30):
        await run(f"{KOPF[1]}\nawait main()", {})
    assert server.get("persistentvolumeclaims", "shop")["spec"]["resources"]["requests"]["storage"] == "1G"
    assert server.get("ephemeralvolumeclaims", "shop")["status"] == {"claim": "shop"}
    assert [event["reason"] for event in server.list("events.events.k8s.io")] == ["Claimed"]

    server.delete("ephemeralvolumeclaims", "shop")
    with trio.move_on_after(30):
        await run(f"{KOPF[1]}\nawait main()", {})
    assert server.list("ephemeralvolumeclaims") == []
    assert "archiving default/shop" in caplog.text


async def test_timers_and_daemons_of_kopf_follow_their_objects(
    server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "dynkube.controllers")
    installed(server, "probes")
    scope = await run(KOPF[3], {})
    async with running(client, scope["polls"], scope["connections"]):  # type: ignore[arg-type]
        server.create(custom("Probe"))
        await quiet(30)
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"probe": "shop"}}}
        server.create({**pod, "spec": {"containers": [{"name": "main", "image": "busybox"}]}})
        await quiet(5)
        assert server.get("probes", "shop")["status"] == {"pods": 1}
        server.delete("probes", "shop")
        await quiet(5)
        caplog.clear()
        await quiet(60)

    assert "is connected" not in caplog.text


@pytest.mark.parametrize(
    ("number", "handlers"), [(0, ["create", "resize", "delete"]), (2, ["poll", "hold", "by_node"])]
)
async def test_the_programs_for_kopf_register_their_handlers(number: int, handlers: list[str]) -> None:
    scope = await run(KOPF[number], {})

    assert all(callable(scope[name]) for name in handlers)
