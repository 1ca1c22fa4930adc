"""When a deferred mapper reads discovery: on first use, once for concurrent callers, and after an invalidation."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from dynkube.discovery import DeferredRESTMapper
from dynkube.errors import DiscoveryFailed, Forbidden, InvalidInput, NoMatch
from tests.discovery.wire import CLUSTER, DEPLOYMENTS, HTTP_ROUTES, PODS, DiscoveryServer, resource

GATEWAY = "gateway.networking.k8s.io"
WIDGETS = resource("widgets.v1.example.com", "Widget")


async def test_nothing_is_read_before_the_first_lookup_or_after_it() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        mapper = DeferredRESTMapper(client)
        assert mapper.loaded is None
        assert await mapper.resolve("deploy") == DEPLOYMENTS
        assert sorted(server.take_paths()) == ["/api", "/apis"]
        assert await mapper.resolve("po") == PODS

    assert server.take_paths() == []
    assert mapper.loaded is not None


@pytest.mark.scenario("F38")
async def test_concurrent_callers_share_one_load() -> None:
    server = DiscoveryServer(delay=1.0)

    async with server.client() as client, trio.open_nursery() as nursery:
        mapper = DeferredRESTMapper(client)
        for name in ("po", "deploy", "ing", "pods", "events"):
            nursery.start_soon(mapper.resolve, name)

    assert sorted(server.paths) == ["/api", "/apis"]


async def test_if_a_caller_is_cancelled_the_next_one_loads() -> None:
    server = DiscoveryServer(delay=10.0)
    found = []

    async with server.client() as client, trio.open_nursery() as nursery:
        mapper = DeferredRESTMapper(client)

        async def second() -> None:
            found.append(await mapper.resolve("po"))

        with trio.move_on_after(5):
            nursery.start_soon(second)
            await mapper.resolve("po")
        assert mapper.loaded is None

    assert found == [PODS]
    assert sorted(server.paths) == ["/api", "/api", "/apis", "/apis"]


async def test_waiting_callers_share_a_failed_load_and_a_later_one_tries_again() -> None:
    server = DiscoveryServer(delay=1.0)
    server.errors |= {"/api": 403, "/apis": 403}
    causes = []

    async with server.client() as client:
        mapper = DeferredRESTMapper(client)

        async def resolve() -> None:
            with pytest.raises(DiscoveryFailed) as caught:
                await mapper.resolve("po")
            causes.append(caught.value)

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(resolve)
        assert sorted(server.take_paths()) == ["/api", "/apis"]
        server.errors.clear()
        assert await mapper.resolve("po") == PODS

    assert all(isinstance(error.__cause__, Forbidden) for error in causes)
    assert len({id(error) for error in causes}) == 3, "no exception is raised in two tasks"


async def test_after_an_invalidation_the_next_lookup_reads_everything_once() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        mapper = DeferredRESTMapper(client)
        await mapper.load()
        server.take_paths()
        for _ in range(100):
            mapper.invalidate()
        assert mapper.loaded is not None, "the old state stays readable"
        await mapper.resolve("po")
        await mapper.resolve("deploy")

    assert sorted(server.paths) == ["/api", "/apis"]


async def test_after_the_invalidation_of_a_group_only_lookups_in_it_read_it() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        mapper = DeferredRESTMapper(client)
        await mapper.load()
        server.take_paths()
        del server.groups[GATEWAY]["v1beta1"]
        mapper.invalidate(GATEWAY)
        await mapper.resolve("deployments.v1.apps")
        assert server.take_paths() == []
        await mapper.resolve("httproutes.gateway")

    assert server.paths == [f"/apis/{GATEWAY}", f"/apis/{GATEWAY}/v1"]
    assert [str(r) for r in (mapper.loaded or await mapper.load()).discovery.group(GATEWAY)] == [str(HTTP_ROUTES)]


@pytest.mark.scenario("F38")
async def test_many_invalidated_groups_are_read_together() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        mapper = DeferredRESTMapper(client)
        await mapper.load()
        server.take_paths()
        for number in range(50):
            group = f"group{number}.example"
            server.serve(resource(f"things.v1.{group}", f"Thing{number}"))
            mapper.invalidate(group)
        found = await mapper.resolve("thing49")

    assert str(found) == "things.v1.group49.example"
    assert sorted(server.paths) == ["/api", "/apis"]


@pytest.mark.scenario("F4")
async def test_a_removed_resource_is_no_match_after_the_invalidation_of_its_group() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        mapper = DeferredRESTMapper(client)
        await mapper.resolve("httproutes")
        del server.groups[GATEWAY]
        mapper.invalidate(GATEWAY)
        with pytest.raises(NoMatch):
            await mapper.resolve(HTTP_ROUTES.gvr)

    assert mapper.loaded is not None
    assert mapper.loaded.discovery.resources == CLUSTER[:-2]


async def test_an_invalidation_during_a_load_leads_to_another_read() -> None:
    server = DiscoveryServer((*CLUSTER, WIDGETS), delay=1.0)

    async with server.client() as client, trio.open_nursery() as nursery:
        mapper = DeferredRESTMapper(client)
        await mapper.load()
        mapper.invalidate()
        nursery.start_soon(mapper.resolve, "po")
        await trio.sleep(0.5)
        del server.groups["example.com"]
        mapper.invalidate("example.com")
        await trio.sleep(1)
        with pytest.raises(NoMatch):
            await mapper.resolve(WIDGETS.gvr)


async def test_of_two_invalidated_groups_only_the_requested_one_is_read() -> None:
    server = DiscoveryServer((*CLUSTER, WIDGETS))

    async with server.client() as client:
        mapper = DeferredRESTMapper(client)
        await mapper.load()
        server.groups.pop("example.com")
        mapper.invalidate("apps")
        mapper.invalidate("example.com")
        await mapper.resolve("deployments.apps")
        assert mapper.loaded is not None
        assert mapper.loaded.discovery.group("example.com") == (WIDGETS,)
        with pytest.raises(NoMatch):
            await mapper.resolve(WIDGETS.gvr)


async def test_during_a_reload_no_lookup_uses_the_old_state() -> None:
    server = DiscoveryServer(delay=1.0)

    async with server.client() as client, trio.open_nursery() as nursery:
        mapper = DeferredRESTMapper(client)
        await mapper.load()
        server.groups[""]["v1"].remove(PODS)
        mapper.invalidate()
        nursery.start_soon(mapper.load)
        await trio.sleep(0.5)
        with pytest.raises(NoMatch):
            await mapper.resolve("pods.v1")


async def test_an_invalid_name_is_rejected_without_a_request() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        with pytest.raises(InvalidInput):
            await DeferredRESTMapper(client).resolve("a/b/c/d")

    assert server.paths == []


async def test_a_lookup_without_a_request_is_a_checkpoint() -> None:
    async with DiscoveryServer().client() as client:
        mapper = DeferredRESTMapper(client)
        await mapper.load()

        with trio.testing.assert_checkpoints():
            await mapper.resolve("po")
