"""``snapshot`` and ``restore``: the whole state of a server as a value."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import httpx2
import trio

from dynkube_testing import APIServer
from tests.contract.objects import CRDS, conditions, config
from tests.testing.engine.cluster import crd, widget


def all_objects(server: APIServer) -> dict[str, list[dict[str, Any]]]:
    """Return all objects, by resource."""
    return {str(gvr): server.list(gvr) for gvr in sorted({kind.gvr for kind in server._engine.registry}, key=str)}


def populated(**options: Any) -> APIServer:
    server = APIServer(random=Random(7), **options)
    server.create(crd())
    server.create(widget("w", spec={"size": 3}))
    server.create(config("a"))
    server.update({**config("a"), "data": {"k": "2"}})
    return server


def test_a_restored_server_has_exactly_the_objects_of_the_snapshot() -> None:
    old, new = populated(), APIServer()
    new.create(config("of-the-new-one"))

    new.restore(old.snapshot())

    assert all_objects(new) == all_objects(old)
    assert new.revision == old.revision


def test_a_server_can_be_restored_to_an_earlier_state() -> None:
    server = populated()
    before = all_objects(server)
    snapshot = server.snapshot()
    server.delete(CRDS, "widgets.example.com")
    server.create(crd("gadgets", "Gadget"))
    server.update({**config("a"), "data": {}})
    server.create(config("b"))

    server.restore(snapshot)

    assert all_objects(server) == before


def test_restoring_removes_crds_created_later_with_their_objects_and_api_services() -> None:
    server = APIServer()
    before = server.snapshot()
    server.create(crd())
    server.create(widget("w"))

    server.restore(before)

    assert server.list(CRDS) == []
    assert "v1.example.com" not in {service["metadata"]["name"] for service in server.list("apiservices")}


def test_later_writes_do_not_change_a_snapshot() -> None:
    server = populated()

    snapshot = server.snapshot()
    server.delete("configmaps", "a")

    assert len(snapshot) == len(populated().snapshot())


def test_restoring_never_lowers_the_revision() -> None:
    server = populated()
    snapshot = server.snapshot()
    server.create(config("b"))
    latest = server.revision

    server.restore(snapshot)
    written = server.create(config("c"))

    assert int(written["metadata"]["resourceVersion"]) > latest


def test_crds_keep_their_accepted_names() -> None:
    old = APIServer()
    old.create(crd("zebras", "Animal"))
    old.create(crd("apes", "Animal"))  # not accepted: its kind is taken
    new = APIServer()

    new.restore(old.snapshot())

    assert all_objects(new) == all_objects(old)
    assert new.kind("Animal").gvr.resource == "zebras"


def test_field_selectors_work_after_a_restore() -> None:
    old, new = APIServer(), APIServer()
    old.create({**config("p"), "kind": "Pod", "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}})

    new.restore(old.snapshot())

    assert len(new.list("pods", field_selector="spec.nodeName=n1")) == 1
    assert new.list("pods", field_selector="spec.nodeName=n2") == []


async def test_a_crd_that_was_not_established_yet_is_established_by_the_new_server() -> None:
    old = APIServer(establish_delay=5.0)
    old.create(crd())
    async with APIServer(establish_delay=5.0) as new:
        new.restore(old.snapshot())

        await trio.sleep(6)

        assert conditions(new.get(CRDS, "widgets.example.com"))["Established"][0] == "True"


async def test_a_crd_that_was_not_established_yet_is_established_again_by_the_same_server() -> None:
    async with APIServer(establish_delay=5.0) as server:
        server.create(crd())
        snapshot = server.snapshot()
        await trio.sleep(6)
        server.restore(snapshot)

        await trio.sleep(6)

        assert conditions(server.get(CRDS, "widgets.example.com"))["Established"][0] == "True"


async def test_open_watches_end_and_older_versions_are_gone(server: APIServer, client: httpx2.AsyncClient) -> None:
    url, seen = "/api/v1/configmaps?watch=1&resourceVersion=", server.revision
    async with client.stream("GET", f"{url}{seen}") as watch:
        server.restore(server.snapshot())
        rest = await watch.aread()
    resumed = await client.get(f"{url}{seen}")
    fresh = await client.get(f"{url}{server.revision}&timeoutSeconds=1")

    assert rest == b""
    assert json.loads(resumed.content)["object"]["code"] == 410
    assert fresh.content == b""


async def test_a_client_of_the_old_server_can_resume_its_watch(server: APIServer, client: httpx2.AsyncClient) -> None:
    old = populated()

    server.restore(old.snapshot())
    server.create(config("later"))
    events = await client.get(f"/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion={old.revision}")

    assert [json.loads(line)["object"]["metadata"]["name"] for line in events.text.splitlines()] == ["later"]


def test_the_deletion_of_a_terminating_namespace_continues() -> None:
    old, new = APIServer(), APIServer()
    old.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "going"}})
    old.create(config("a", namespace="going", finalizers=["example.com/hold"]))
    old.delete("namespaces", "going")

    new.restore(old.snapshot())
    held = new.get("configmaps", "a", "going")
    new.update({**held, "metadata": {**held["metadata"], "finalizers": []}})

    assert "going" not in [namespace["metadata"]["name"] for namespace in new.list("namespaces")]


async def test_roles_are_restored_and_default_roles_are_added() -> None:
    old, new = populated(rbac=True), APIServer(rbac=True)
    old.grant("alice", verbs=["get"], resource="configmaps")

    new.restore(old.snapshot())
    same = all_objects(new) == all_objects(old)
    new.restore(populated().snapshot())  # a server without RBAC, and so without roles

    assert same
    assert new.get("clusterroles", "cluster-admin")
