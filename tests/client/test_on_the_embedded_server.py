"""All verbs, on the embedded API server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

import pytest
import trio
import trio.testing

from dynkube.client import ResourceClient
from dynkube.client._client import APIClient
from dynkube.errors import AlreadyExists, ApplyConflict, Conflict, DeadlineExceeded, Forbidden, Gone, Invalid, NotFound
from dynkube.meta import Added, Bookmark, Deleted, Modified, WatchEvent
from dynkube_testing import APIServer, Refuse
from tests.client.wire import connect


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    async with APIServer() as running:
        yield running


@pytest.fixture
async def client(server: APIServer) -> AsyncIterator[APIClient]:
    api = connect(server.transport(), namespace="default")
    async with api.rest:
        yield api


def config_map(name: str, **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": name}}, "data": data}


def deployment(replicas: int) -> dict[str, object]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def lists(server: APIServer) -> int:
    return sum(record.verb == "list" for record in server.requests)


def describe(event: WatchEvent) -> str:
    return "bookmark" if isinstance(event, Bookmark) else f"{type(event).__name__.lower()} {event.object.name}"


async def test_an_object_is_created_read_changed_and_deleted(client: APIClient) -> None:
    maps = client.resource("configmaps")

    created = await maps.create(config_map("a", x="1"))
    with pytest.raises(AlreadyExists):
        await maps.create(config_map("a"))
    updated = await maps.update(created.transform(["data", "x"], "2"))
    with pytest.raises(Conflict):
        await maps.update(created.transform(["data", "x"], "3"))
    merged = await maps.patch("a", {"data": {"y": "4"}})
    patched = await maps.patch("a", [{"op": "remove", "path": "/data/x"}], patch_type="json")
    gone = await maps.delete("a", uid=created.uid)

    assert (updated["data"], merged["data"], patched["data"]) == ({"x": "2"}, {"x": "2", "y": "4"}, {"y": "4"})
    assert gone is None or gone.uid == created.uid
    with pytest.raises(NotFound):
        await maps.get("a")


async def test_a_failed_precondition_keeps_the_object(client: APIClient) -> None:
    maps = client.resource("configmaps")
    await maps.create(config_map("a"))

    with pytest.raises(Conflict):
        await maps.delete("a", uid="another")

    assert (await maps.get("a")).name == "a"


async def test_a_dry_run_changes_nothing(client: APIClient) -> None:
    maps = client.resource("configmaps")

    await maps.create(config_map("a"), dry_run=True)

    assert len(await maps.list()) == 0


async def test_the_error_for_an_invalid_object_names_its_fields(client: APIClient) -> None:
    with pytest.raises(Invalid) as caught:
        await client.resource("configmaps").create({**config_map("a"), "metadata": {"name": "Not A Name"}})

    assert [cause.field for cause in caught.value.causes] == ["metadata.name"]


async def test_collections_are_selected_paged_and_deleted(client: APIClient) -> None:
    maps = client.resource("configmaps")
    for name in "abcde":
        await maps.create(config_map(name))

    assert [obj.name for obj in await maps.list(label_selector="app in (b,d)")] == ["b", "d"]
    assert [obj.name for obj in await maps.list(page_size=2)] == list("abcde")
    assert [obj.name async for obj in maps.iterate(page_size=2)] == list("abcde")
    await maps.delete_collection(namespace="default", label_selector="app!=c")

    assert [obj.name for obj in await maps.list()] == ["c"]


async def test_apply_creates_merges_and_conflicts(client: APIClient) -> None:
    maps = client.resource("configmaps")

    await maps.apply(config_map("a", x="1"), field_manager="one")
    with pytest.raises(ApplyConflict):
        await maps.apply(config_map("a", x="2"), field_manager="two")
    forced = await maps.apply(config_map("a", x="2"), field_manager="two", force=True)

    assert forced["data"] == {"x": "2"}


async def test_scale_and_status_are_subresources(client: APIClient) -> None:
    deployments = client.resource("deploy")
    created = await deployments.create(deployment(1))

    scale = await deployments.subresource("scale").patch("web", {"spec": {"replicas": 3}})
    current = await deployments.get("web")
    await deployments.update_status(current.evolve(status={"replicas": 3}))

    web = await deployments.get("web")
    assert (created["spec"]["replicas"], scale.kind) == (1, "Scale")
    assert (web["spec"]["replicas"], web["status"]["replicas"]) == (3, 3)


async def test_a_watch_shows_every_change(server: APIServer, client: APIClient) -> None:
    server.create(config_map("a"))

    async with client.resource("configmaps").watch() as events:
        first = await anext(events)
        server.create(config_map("b"))
        server.update(config_map("a", x="1"))
        server.delete("configmaps", "b")
        rest = [await anext(events) for _ in range(3)]
        quiet = await anext(events)

    assert [describe(one) for one in [first, *rest, quiet]] == [
        "added a",
        "added b",
        "modified a",
        "deleted b",
        "bookmark",
    ]
    assert server.open_watches == ()


@pytest.mark.scenario("F20")
async def test_a_watch_that_is_not_read_for_long_loses_nothing(server: APIServer, client: APIClient) -> None:
    async with client.resource("configmaps").watch(bookmarks=False) as events:
        for round_ in range(5):
            server.create(config_map(f"m{round_}"))
            await trio.sleep(400)
        received = [await anext(events) for _ in range(5)]

    assert [describe(one) for one in received] == [f"added m{n}" for n in range(5)]


@pytest.mark.parametrize("how", ["clean", "cut", "silent"])
async def test_a_watch_that_the_server_ends_continues(
    server: APIServer, client: APIClient, how: Literal["clean", "cut", "silent"]
) -> None:
    async with client.resource("configmaps").watch(bookmarks=False) as events:
        server.create(config_map("a"))
        before = await anext(events)
        server.end_watches("configmaps", how)
        server.create(config_map("b"))
        after = await anext(events)

    assert [describe(before), describe(after)] == ["added a", "added b"]
    assert (lists(server), server.open_watches) == (1, ())


async def test_after_a_compaction_a_watch_delivers_the_changes(server: APIServer, client: APIClient) -> None:
    server.create(config_map("a"))
    server.create(config_map("b"))

    async with client.resource("configmaps").watch(bookmarks=False) as events:
        initial = [await anext(events) for _ in range(2)]
        server.delete("configmaps", "a")
        server.update(config_map("b", x="1"))
        server.create(config_map("c"))
        server.compact()
        difference = [await anext(events) for _ in range(3)]

    assert [describe(one) for one in initial] == ["added a", "added b"]
    assert [type(one) for one in difference] == [Deleted, Modified, Added]
    assert lists(server) == 2


async def test_a_version_from_before_the_compaction_raises_gone(server: APIServer, client: APIClient) -> None:
    maps = client.resource("configmaps")
    listing = await maps.list()
    server.create(config_map("a"))
    server.compact()

    with pytest.raises(Gone):
        async with maps.watch(resource_version=listing.resource_version) as events:
            await anext(events)


async def test_wait_for_ends_by_a_condition_a_deletion_or_its_timeout(server: APIServer, client: APIClient) -> None:
    maps = client.resource("configmaps")
    met: list[str] = []

    async def wait(resource: ResourceClient, condition: str) -> None:
        await resource.wait_for("a", condition)
        met.append(condition)

    async with trio.open_nursery() as nursery:
        for condition in ("create", "jsonpath={.data.x}=1", "delete"):
            nursery.start_soon(wait, maps, condition)
            await trio.testing.wait_all_tasks_blocked()
            match condition:
                case "create":
                    server.create(config_map("a"))
                case "delete":
                    server.delete("configmaps", "a")
                case _:
                    server.update(config_map("a", x="1"))
            await trio.testing.wait_all_tasks_blocked()

    assert met == ["create", "jsonpath={.data.x}=1", "delete"]
    with pytest.raises(DeadlineExceeded, match="the object did not exist"):
        await maps.wait_for("a", "create", timeout=3)


async def test_an_expired_page_continues_at_a_newer_version_with_allow_inconsistent(
    server: APIServer, client: APIClient
) -> None:
    for name in "abcd":
        server.create(config_map(name))
    objects = client.resource("configmaps").iterate(page_size=2, allow_inconsistent=True)
    received = [(await anext(objects)).name for _ in range(2)]

    server.delete("configmaps", "c")
    server.create(config_map("e"))
    server.compact()
    received += [obj.name async for obj in objects]

    assert (received, objects.consistent) == (["a", "b", "d", "e"], False)


async def test_an_owned_field_of_a_scale_is_taken_only_by_its_own_path(client: APIClient) -> None:
    deployments = client.resource("deployments")
    await deployments.apply(deployment(2))
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 5}}

    with pytest.raises(ApplyConflict, match=r"\.spec\.replicas: yours 5, live 2"):
        await deployments.apply(scale, subresource="scale", field_manager="hpa", force=[".spec.selector"])
    taken = await deployments.apply(scale, subresource="scale", field_manager="hpa", force=[".spec.replicas"])

    assert taken["spec"]["replicas"] == 5


async def test_drift_needs_no_dry_run_as_long_as_all_applied_fields_are_owned(
    server: APIServer, client: APIClient
) -> None:
    maps = client.resource("configmaps")
    await maps.apply(config_map("a", x="1"), field_manager="me")
    server.inject(Refuse(403), verb="patch")

    assert not await maps.diff_applied(config_map("a", x="1"), "me")
    assert (await maps.diff_applied(config_map("gone", x="1"), "me")).after is None
    with pytest.raises(Forbidden):  # not known: another manager applied it
        await maps.diff_applied(config_map("a", x="1"), "other")
