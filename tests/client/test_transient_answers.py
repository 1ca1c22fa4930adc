"""Verbs and one wrong answer: a 404 for the resource, a 403 of a moment, a CRD that serves another version."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

import dynkube
from dynkube import Client, ResourceClient
from dynkube.errors import DynkubeError, Forbidden, NotFound
from dynkube.meta import Added
from dynkube_testing import APIServer, Refuse, Rewrite, rewrites

PAGE = Refuse(404, body="404 page not found\n", content_type="text/plain")
ANSWERS = {
    "Go's page": PAGE,
    "a Status without a name": Refuse(404),
    "a page of a proxy": Refuse(404, body="<html>no backend</html>"),
    "RBAC that is not loaded": Refuse(403),
    "a forbidding page": Refuse(403, body="<html>blocked</html>"),
    "unauthorized": Refuse(401),
}


def crd(*, served: str = "v1", scope: str = "Namespaced") -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": v, "served": v == served, "storage": v == served, "schema": schema} for v in ("v1", "v2")]
    names = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.lab.example.com"},
        "spec": {"group": "lab.example.com", "scope": scope, "names": names, "versions": versions},
    }


def gadget(name: str = "a", version: str = "v1", **metadata: object) -> dict[str, Any]:
    return {
        "apiVersion": f"lab.example.com/{version}",
        "kind": "Gadget",
        "metadata": {"name": name, "namespace": "default", **metadata},
    }


@asynccontextmanager
async def lab() -> AsyncIterator[tuple[APIServer, Client]]:
    async with APIServer() as server, dynkube.connect(transport=server.transport()) as client:
        server.create(crd())
        await trio.sleep(1)
        server.create(gadget())
        yield server, client


def exists(server: APIServer) -> bool:
    return bool(server.list("gadgets.lab.example.com", "default"))


def serve_v2(server: APIServer) -> None:
    live = server.get("crds", "gadgets.lab.example.com")
    server.update({**live, "spec": crd(served="v2")["spec"]})


async def interrupted(server: APIServer, answer: Refuse) -> None:
    """End the open watches, and refuse the request that follows."""
    await trio.sleep(60)
    server.inject(answer, resource="gadgets", times=1)
    server.end_watches("gadgets", how="cut")


Wait = Callable[[Client], Awaitable[object]]
WAITS: dict[str, Wait] = {
    "deletion": lambda client: client.resource("gadgets.v1.lab.example.com").wait_for("a", "delete", timeout=600),
    "condition": lambda client: client.resource("gadgets").wait_for("a", "condition=Ready", timeout=600),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
async def test_a_wait_goes_on_after_one_wrong_answer(wait: Wait, answer: Refuse) -> None:
    async with lab() as (server, client), trio.open_nursery() as nursery:
        nursery.start_soon(interrupted, server, answer)

        with pytest.raises(DynkubeError, match="within 600 s"):
            await wait(client)

        assert exists(server)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
async def test_a_wait_for_a_deletion_sees_it_after_a_wrong_answer(answer: Refuse) -> None:
    async with lab() as (server, client), trio.open_nursery() as nursery:
        nursery.start_soon(interrupted, server, answer)

        async def delete() -> None:
            await trio.sleep(200)
            server.delete("gadgets", "a", "default")

        nursery.start_soon(delete)
        began = trio.current_time()
        await client.resource("gadgets.v1.lab.example.com").wait_for("a", "delete", timeout=600)
        assert trio.current_time() - began == pytest.approx(200, abs=1)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
async def test_a_watch_goes_on_after_one_wrong_answer(answer: Refuse) -> None:
    async with lab() as (server, client), trio.open_nursery() as nursery:
        nursery.start_soon(interrupted, server, answer)

        async with client.resource("gadgets").watch(namespace="default", bookmarks=False) as events:
            assert [event.object.name for event in await events.take() if isinstance(event, Added)] == ["a"]
            with trio.move_on_after(300) as quiet:
                await anext(events)
            assert quiet.cancelled_caught
            server.create(gadget("b"))
            assert [event.object.name for event in await events.take() if isinstance(event, Added)] == ["b"]


async def test_a_wait_for_a_deletion_goes_on_in_the_version_that_is_served_now() -> None:
    async with lab() as (server, client), trio.open_nursery() as nursery:

        async def upgrade_and_delete() -> None:
            await trio.sleep(60)
            serve_v2(server)
            await trio.sleep(60)
            server.delete("gadgets", "a", "default")

        nursery.start_soon(upgrade_and_delete)
        began = trio.current_time()
        await client.resource("gadgets.lab.example.com").wait_for("a", "delete", timeout=600)
        assert trio.current_time() - began >= 120


async def test_a_version_that_is_not_served_any_more_is_no_deletion() -> None:
    async with lab() as (server, client), trio.open_nursery() as nursery:

        async def upgrade() -> None:
            await trio.sleep(60)
            serve_v2(server)

        nursery.start_soon(upgrade)
        with pytest.raises(NotFound):
            await client.resource("gadgets.v1.lab.example.com").wait_for("a", "delete", timeout=600)
        assert exists(server)


async def test_an_api_that_is_not_served_for_some_seconds_is_no_deletion() -> None:
    """Also for users who may not read CRDs, while an API server starts."""
    async with lab() as (server, client), trio.open_nursery() as nursery:

        async def start_slowly() -> None:
            await trio.sleep(60)
            faults = [
                server.inject(PAGE, resource="gadgets"),
                server.inject(PAGE, path_prefix="/apis/lab.example.com", verb=""),
                server.inject(Rewrite(rewrites.without_group("lab.example.com")), path_prefix="/apis", verb=""),
                server.inject(Refuse(403), resource="customresourcedefinitions"),
            ]
            server.end_watches("gadgets", how="cut")
            await trio.sleep(25)
            for fault in faults:
                fault.remove()

        nursery.start_soon(start_slowly)
        with pytest.raises(DynkubeError, match="within 600 s"):
            await client.resource("gadgets.v1.lab.example.com").wait_for("a", "delete", timeout=600)


async def test_two_refusals_with_failures_in_between_do_not_end_a_watch() -> None:
    async with lab() as (server, client), trio.open_nursery() as nursery:

        async def fail() -> None:
            await interrupted(server, Refuse(403))
            await trio.sleep(0.1)
            down = server.inject(Refuse(503), resource="gadgets")
            await trio.sleep(90)
            down.remove()
            server.inject(Refuse(403), resource="gadgets", times=1)

        nursery.start_soon(fail)
        with pytest.raises(DynkubeError, match="within 600 s"):
            await client.resource("gadgets").wait_for("a", "condition=Ready", timeout=600)


async def test_a_crd_that_is_removed_ends_a_wait_for_a_deletion() -> None:
    async with lab() as (server, client), trio.open_nursery() as nursery:

        async def uninstall() -> None:
            await trio.sleep(60)
            server.inject(PAGE, resource="gadgets", verb="watch")  # the events of the deletion are missed
            server.end_watches("gadgets", how="cut")
            server.delete("crds", "gadgets.lab.example.com")

        nursery.start_soon(uninstall)
        await client.resource("gadgets.v1.lab.example.com").wait_for("a", "delete", timeout=600)


@pytest.mark.parametrize("resource", ["gadgets.v1.lab.example.com", "gadgets"])
async def test_a_watch_ends_once_it_is_confirmed_that_the_resource_is_gone(resource: str) -> None:
    async with lab() as (server, client), client.resource(resource).watch() as events:
        await anext(events)
        server.delete("crds", "gadgets.lab.example.com")
        began = trio.current_time()

        with pytest.raises(NotFound):
            [event async for event in events]

        assert 60 <= trio.current_time() - began < 120


async def first_event(resource: ResourceClient) -> object:
    async with resource.watch() as events:
        return await anext(events)


Verb = Callable[[ResourceClient], Awaitable[object]]
READS: dict[str, Verb] = {
    "get": lambda r: r.get("a"),
    "list": lambda r: r.list(),
    "iterate": lambda r: anext(r.iterate()),
    "table": lambda r: r.table(),
    "watch": first_event,
}
WRITES: dict[str, Verb] = {
    "create": lambda r: r.create(gadget("b", "v2")),
    "patch": lambda r: r.patch("a", {"spec": {"n": 1}}),
    "label": lambda r: r.label("a", {"x": "y"}),
    "apply": lambda r: r.apply(gadget("a", "v2")),
    "diff": lambda r: r.diff(gadget("a", "v2")),
    "delete": lambda r: r.delete("a"),
    "delete_collection": lambda r: r.delete_collection(namespace="default"),
}
VERBS = READS | WRITES


@pytest.mark.parametrize("answer", [PAGE, Refuse(404)], ids=["Go's page", "a Status without a name"])
@pytest.mark.parametrize("verb", VERBS)
async def test_a_verb_is_repeated_once_if_the_resource_is_unknown(verb: str, answer: Refuse) -> None:
    async with lab() as (server, client):
        gadgets = client.resource("gadgets.lab.example.com")
        serve_v2(server)
        await gadgets.resolve()
        server.inject(answer, resource="gadgets", times=1)

        await VERBS[verb](gadgets)


@pytest.mark.parametrize("verb", VERBS)
async def test_the_first_call_works_after_a_crd_has_changed_its_version(verb: str) -> None:
    async with lab() as (server, client):
        gadgets = client.resource("gadgets.lab.example.com")
        await gadgets.get("a")
        serve_v2(server)

        await VERBS[verb](gadgets)


@pytest.mark.parametrize("verb", VERBS)
async def test_a_resource_that_stays_unknown_is_an_error(verb: str) -> None:
    async with lab() as (server, client):
        gadgets = client.resource("gadgets.lab.example.com")
        serve_v2(server)
        await gadgets.resolve()
        server.inject(PAGE, resource="gadgets")

        with pytest.raises(NotFound):
            await VERBS[verb](gadgets)
        assert sum(request.resource is not None for request in server.requests if "gadgets" in request.path) <= 4


async def test_a_denied_verb_is_not_repeated() -> None:
    async with lab() as (server, client):
        gadgets = client.resource("gadgets.v1.lab.example.com")
        server.inject(Refuse(403), resource="gadgets", times=1)

        with pytest.raises(Forbidden):
            await gadgets.get("a")


@pytest.mark.parametrize("name", ["gadgets", "gadgets.lab.example.com", "gadgets.v1.lab.example.com", "deploy"])
async def test_availability_does_not_believe_one_answer_of_discovery(name: str) -> None:
    async with lab() as (server, client):
        empty = Refuse(200, body={"kind": "APIGroupList", "apiVersion": "v1", "groups": []})
        server.inject(empty, path_prefix="/apis", verb="", times=1)

        assert await client.resource(name).availability()


@pytest.mark.parametrize("answer", [PAGE, Refuse(404)], ids=["Go's page", "a Status without a name"])
async def test_one_404_for_the_core_group_does_not_hide_it(answer: Refuse) -> None:
    async with APIServer() as server, dynkube.connect(transport=server.transport()) as client:
        server.inject(answer, when=lambda request: request.path == "/api", times=1)

        assert (await client.resource("pods").resolve()).kind == "Pod"


@pytest.mark.parametrize("status", [403, 503])
async def test_resources_are_not_listed_without_those_that_cannot_be_read(status: int) -> None:
    async with APIServer() as server, dynkube.connect(transport=server.transport()) as client:
        server.inject(Refuse(status), when=lambda request: request.path == "/api")

        with pytest.raises(DynkubeError):
            await client.api_resources()


async def test_a_failed_list_of_groups_is_read_again_with_any_group() -> None:
    async with lab() as (server, client):
        server.inject(Refuse(403), when=lambda request: request.path == "/apis", times=1)
        gadgets = client.resource("gadgets.v1.lab.example.com")
        with pytest.raises(Forbidden):
            await gadgets.availability()

        await trio.sleep(60)
        assert await gadgets.availability()
