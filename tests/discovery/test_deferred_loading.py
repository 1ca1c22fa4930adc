"""When a deferred mapper reads: on first use, once for all who ask, and after it was told of a change."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from dynkube.discovery import DeferredRESTMapper
from dynkube.errors import DiscoveryFailed, Forbidden, InvalidInput, NoMatch
from tests.discovery.wire import CLUSTER, DEPLOYMENTS, HTTP_ROUTES, PODS, DiscoveryServer, resource

GATEWAY = "gateway.networking.k8s.io"
WIDGETS = resource("widgets.v1.example.com", "Widget")


async def test_nothing_is_read_before_the_first_question_and_nothing_after_it() -> None:
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
async def test_callers_at_the_same_time_share_one_load() -> None:
    server = DiscoveryServer(delay=1.0)

    async with server.client() as client, trio.open_nursery() as nursery:
        mapper = DeferredRESTMapper(client)
        for name in ("po", "deploy", "ing", "pods", "events"):
            nursery.start_soon(mapper.resolve, name)

    assert sorted(server.paths) == ["/api", "/apis"]


async def test_a_caller_that_is_cancelled_leaves_the_load_to_the_next() -> None:
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


async def test_callers_that_wait_for_a_load_share_its_failure_and_a_later_one_tries_again() -> None:
    server = DiscoveryServer(delay=1.0)
    server.refusals |= {"/api": 403, "/apis": 403}
    causes = []

    async with server.client() as client:
        mapper = DeferredRESTMapper(client)

        async def ask() -> None:
            with pytest.raises(DiscoveryFailed) as caught:
                await mapper.resolve("po")
            causes.append(caught.value)

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(ask)
        assert sorted(server.take_paths()) == ["/api", "/apis"]
        server.refusals.clear()
        assert await mapper.resolve("po") == PODS

    assert all(isinstance(error.__cause__, Forbidden) for error in causes)
    assert len({id(error) for error in causes}) == 3, "no exception is raised in two tasks"


async def test_after_everything_was_invalidated_the_next_question_reads_everything_once() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        mapper = DeferredRESTMapper(client)
        await mapper.load()
        server.take_paths()
        for _ in range(100):
            mapper.invalidate()
        assert mapper.loaded is not None, "what is known stays readable"
        await mapper.resolve("po")
        await mapper.resolve("deploy")

    assert sorted(server.paths) == ["/api", "/apis"]


async def test_after_a_group_was_invalidated_only_questions_about_it_read_and_only_it() -> None:
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
async def test_a_resource_that_went_away_is_no_match_after_its_group_was_invalidated() -> None:
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


async def test_a_change_that_is_told_while_everything_is_read_is_read_again() -> None:
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


async def test_of_two_invalidated_groups_the_one_that_was_not_asked_for_stays_to_be_read() -> None:
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


async def test_while_everything_is_read_again_no_question_is_answered_from_before() -> None:
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


async def test_what_cannot_name_a_resource_is_refused_without_a_request() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        with pytest.raises(InvalidInput):
            await DeferredRESTMapper(client).resolve("a/b/c/d")

    assert server.paths == []


async def test_an_answer_from_memory_is_a_checkpoint_all_the_same() -> None:
    async with DiscoveryServer().client() as client:
        mapper = DeferredRESTMapper(client)
        await mapper.load()

        with trio.testing.assert_checkpoints():
            await mapper.resolve("po")
