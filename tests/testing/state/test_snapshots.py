"""``snapshot`` and ``restore``: the whole state as a value."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import httpx2
import trio

from dynkube.testing import APIServer
from tests.contract.objects import CRDS, conditions, config
from tests.testing.engine.cluster import definition, widget


def everything(server: APIServer) -> dict[str, list[dict[str, Any]]]:
    """All objects, and with them what is served."""
    return {str(gvr): server.list(gvr) for gvr in sorted({kind.gvr for kind in server._engine.registry}, key=str)}


def filled(**options: Any) -> APIServer:
    server = APIServer(random=Random(7), **options)
    server.create(definition())
    server.create(widget("w", spec={"size": 3}))
    server.create(config("a"))
    server.update({**config("a"), "data": {"k": "2"}})
    return server


def test_a_new_server_holds_exactly_what_the_old_one_held() -> None:
    old, new = filled(), APIServer()
    new.create(config("of-the-new-one"))

    new.restore(old.snapshot())

    assert everything(new) == everything(old)
    assert new.revision == old.revision


def test_a_server_goes_back_to_an_earlier_state() -> None:
    server = filled()
    before = everything(server)
    snapshot = server.snapshot()
    server.delete(CRDS, "widgets.example.com")
    server.create(definition("gadgets", "Gadget"))
    server.update({**config("a"), "data": {}})
    server.create(config("b"))

    server.restore(snapshot)

    assert everything(server) == before


def test_what_was_defined_later_goes_with_all_that_belongs_to_it() -> None:
    server = APIServer()
    before = server.snapshot()
    server.create(definition())
    server.create(widget("w"))

    server.restore(before)

    assert server.list(CRDS) == []
    assert "v1.example.com" not in {service["metadata"]["name"] for service in server.list("apiservices")}


def test_a_snapshot_does_not_follow_what_the_server_does_next() -> None:
    server = filled()

    snapshot = server.snapshot()
    server.delete("configmaps", "a")

    assert len(snapshot) == len(filled().snapshot())


def test_the_count_of_resource_versions_goes_on_and_never_back() -> None:
    server = filled()
    snapshot = server.snapshot()
    server.create(config("b"))
    latest = server.revision

    server.restore(snapshot)
    written = server.create(config("c"))

    assert int(written["metadata"]["resourceVersion"]) > latest


def test_definitions_keep_the_names_that_each_has() -> None:
    old = APIServer()
    old.create(definition("zebras", "Animal"))
    old.create(definition("apes", "Animal"))  # loses: its kind is taken
    new = APIServer()

    new.restore(old.snapshot())

    assert everything(new) == everything(old)
    assert new.kind("Animal").gvr.resource == "zebras"


def test_selectable_fields_still_select() -> None:
    old, new = APIServer(), APIServer()
    old.create({**config("p"), "kind": "Pod", "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}})

    new.restore(old.snapshot())

    assert len(new.list("pods", field_selector="spec.nodeName=n1")) == 1
    assert new.list("pods", field_selector="spec.nodeName=n2") == []


async def test_a_definition_that_was_waiting_is_established_by_the_new_server() -> None:
    old = APIServer(establish_delay=5.0)
    old.create(definition())
    async with APIServer(establish_delay=5.0) as new:
        new.restore(old.snapshot())

        await trio.sleep(6)

        assert conditions(new.get(CRDS, "widgets.example.com"))["Established"][0] == "True"


async def test_a_definition_that_was_waiting_is_established_again_by_the_same_server() -> None:
    async with APIServer(establish_delay=5.0) as server:
        server.create(definition())
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


async def test_a_client_of_the_saved_server_loses_nothing(server: APIServer, client: httpx2.AsyncClient) -> None:
    old = filled()

    server.restore(old.snapshot())
    server.create(config("later"))
    events = await client.get(f"/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion={old.revision}")

    assert [json.loads(line)["object"]["metadata"]["name"] for line in events.text.splitlines()] == ["later"]


def test_a_namespace_that_was_being_emptied_is_emptied_further() -> None:
    old, new = APIServer(), APIServer()
    old.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "going"}})
    old.create(config("a", namespace="going", finalizers=["example.com/hold"]))
    old.delete("namespaces", "going")

    new.restore(old.snapshot())
    held = new.get("configmaps", "a", "going")
    new.update({**held, "metadata": {**held["metadata"], "finalizers": []}})

    assert "going" not in [namespace["metadata"]["name"] for namespace in new.list("namespaces")]


async def test_roles_are_restored_and_the_default_ones_never_missing() -> None:
    old, new = filled(rbac=True), APIServer(rbac=True)
    old.grant("alice", verbs=["get"], resource="configmaps")

    new.restore(old.snapshot())
    same = everything(new) == everything(old)
    new.restore(filled().snapshot())  # of a server that knew no roles

    assert same
    assert new.get("clusterroles", "cluster-admin")
