"""What a deferred mapper reads before it raises NoMatch."""

from __future__ import annotations

import pytest
import trio

from dynkube.discovery import DeferredRESTMapper, DiscoveryClient
from dynkube.errors import AmbiguousMatch, DiscoveryFailed, NoMatch
from dynkube.meta import GVR
from tests.discovery.wire import CLUSTER, NODE_METRICS, PODS, DiscoveryServer, resource

WIDGETS = resource("widgets.v1.example.com", "Widget")
FULL_NAME = "widgets.v1.example.com"


async def loaded(server: DiscoveryServer, client: DiscoveryClient) -> DeferredRESTMapper:
    """Return a mapper that has read the present state of ``server``."""
    mapper = DeferredRESTMapper(client)
    await mapper.load()
    server.take_paths()
    return mapper


async def test_a_miss_of_a_full_name_reads_only_its_group_version() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        mapper = await loaded(server, client)
        server.serve(WIDGETS)
        assert await mapper.resolve(FULL_NAME) == WIDGETS

    assert server.paths == ["/apis/example.com/v1"]
    assert mapper.loaded is not None
    assert mapper.loaded.discovery.resources == (*CLUSTER, WIDGETS)


async def test_a_miss_of_a_short_form_reads_everything() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        mapper = await loaded(server, client)
        server.serve(WIDGETS)
        assert await mapper.resolve("widget") == WIDGETS

    assert sorted(server.paths) == ["/api", "/apis"]


async def test_a_first_load_that_misses_reads_nothing_more() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        with pytest.raises(NoMatch):
            await DeferredRESTMapper(client).resolve(FULL_NAME)

    assert sorted(server.paths) == ["/api", "/apis"]


@pytest.mark.parametrize("name", [FULL_NAME, "widget"])
async def test_a_miss_is_cached_for_five_seconds(name: str) -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        mapper = await loaded(server, client)
        for _ in range(3):
            with pytest.raises(NoMatch):
                await mapper.resolve(name)
        read = {"/apis/example.com/v1", "/apis"} if name == FULL_NAME else {"/api", "/apis"}
        assert set(server.take_paths()) == read
        server.serve(WIDGETS)
        await trio.sleep(4.999)
        with pytest.raises(NoMatch):
            await mapper.resolve(name)
        assert server.take_paths() == []
        await trio.sleep(0.001)
        assert await mapper.resolve(name) == WIDGETS


async def test_an_invalidation_removes_a_cached_miss() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        mapper = await loaded(server, client)
        with pytest.raises(NoMatch):
            await mapper.resolve(FULL_NAME)
        server.serve(WIDGETS)
        mapper.invalidate("example.com")
        assert await mapper.resolve(FULL_NAME) == WIDGETS


async def miss(mapper: DeferredRESTMapper, name: str) -> None:
    with pytest.raises(NoMatch):
        await mapper.resolve(name)


async def test_concurrent_misses_share_one_read() -> None:
    server = DiscoveryServer(delay=1.0)

    async with server.client() as client:
        mapper = await loaded(server, client)
        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(miss, mapper, f"unknown{number}")

    assert sorted(server.paths) == ["/api", "/apis"]


@pytest.mark.scenario("F38")
async def test_concurrent_misses_of_one_full_name_share_one_read() -> None:
    server = DiscoveryServer(delay=1.0)

    async with server.client() as client:
        mapper = await loaded(server, client)
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(miss, mapper, FULL_NAME)

    assert server.paths == ["/apis/example.com/v1", "/apis"]  # a 404 counts if the list of groups confirms it


async def test_concurrent_lookups_of_a_new_full_name_share_one_read() -> None:
    server = DiscoveryServer(delay=1.0)

    async with server.client() as client:
        mapper = await loaded(server, client)
        server.serve(WIDGETS)
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(mapper.resolve, FULL_NAME)

    assert server.paths == ["/apis/example.com/v1"]


async def test_a_read_that_began_before_the_lookup_is_not_used_and_the_next_one_is_shared() -> None:
    server = DiscoveryServer(delay=1.0)

    async with server.client() as client:
        mapper = await loaded(server, client)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(miss, mapper, "early")
            await trio.sleep(0.5)
            for number in range(20):
                nursery.start_soon(miss, mapper, f"late{number}")

    assert sorted(server.paths) == ["/api", "/api", "/apis", "/apis"]


async def test_a_cancelled_read_is_repeated_by_the_next_caller() -> None:
    server = DiscoveryServer(delay=1.0)
    found = []

    async with server.client() as client, trio.open_nursery() as nursery:
        mapper = await loaded(server, client)
        server.serve(WIDGETS)

        async def second() -> None:
            found.append(await mapper.resolve(FULL_NAME))

        with trio.move_on_after(0.5):
            nursery.start_soon(second)
            await mapper.resolve(FULL_NAME)

    assert found == [WIDGETS]


@pytest.mark.scenario("F15")
async def test_a_failed_read_raises_discovery_failed_and_removes_nothing() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        mapper = await loaded(server, client)
        server.errors |= {"/api": 503, "/apis": 503}
        with pytest.raises(DiscoveryFailed) as caught:
            await mapper.resolve("widget")
        assert list(caught.value.failures) == ["v1", "*"]
        assert await mapper.resolve("po") == PODS
        server.errors.clear()
        await trio.sleep(5)
        with pytest.raises(NoMatch):
            await mapper.resolve("widget")


async def test_the_error_for_a_failed_group_version_names_it() -> None:
    server = DiscoveryServer()
    server.errors["/apis/example.com/v1"] = 503

    async with server.client() as client:
        mapper = await loaded(server, client)
        with pytest.raises(DiscoveryFailed, match=r"could not read example\.com/v1") as caught:
            await mapper.resolve(FULL_NAME)
        with pytest.raises(NoMatch):
            await mapper.resolve("widgets.v1.other.example")

    assert list(caught.value.failures) == ["example.com/v1"]


async def test_a_group_version_that_was_read_decides_although_the_list_of_groups_failed() -> None:
    server = DiscoveryServer()
    server.errors["/apis"] = 403

    async with server.client() as client:
        mapper = await loaded(server, client)
        server.serve(WIDGETS)
        for _ in range(2):
            with pytest.raises(NoMatch):
                await mapper.resolve("gadgets.v1.example.com")
        with pytest.raises(DiscoveryFailed):
            await mapper.resolve("gadget")


async def test_a_404_for_a_group_version_is_no_evidence_if_the_list_of_groups_failed() -> None:
    server = DiscoveryServer()
    server.errors["/apis"] = 403

    async with server.client() as client:
        mapper = await loaded(server, client)
        with pytest.raises(DiscoveryFailed):
            await mapper.resolve(FULL_NAME)


@pytest.mark.scenario("F15")
async def test_an_aggregated_api_that_is_down_stays_known() -> None:
    server = DiscoveryServer((*CLUSTER, NODE_METRICS))

    async with server.client() as client:
        mapper = await loaded(server, client)
        server.stale.add("metrics.k8s.io/v1beta1")
        server.groups["metrics.k8s.io"]["v1beta1"].clear()
        mapper.invalidate()
        assert await mapper.resolve("nodes.metrics.k8s.io") == NODE_METRICS
        with pytest.raises(DiscoveryFailed, match=r"metrics\.k8s\.io/v1beta1"):
            await mapper.resolve("pods.metrics.k8s.io")


async def test_a_failed_reload_is_retried_every_five_seconds() -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        mapper = await loaded(server, client)
        server.errors |= {"/api": 503, "/apis": 503}
        mapper.invalidate()
        for _ in range(3):
            assert await mapper.resolve("po") == PODS
        assert len(server.take_paths()) == 2
        await trio.sleep(5)
        server.errors.clear()
        await mapper.resolve("po")

    assert sorted(server.paths) == ["/api", "/apis"]
    assert mapper.loaded is not None
    assert mapper.loaded.discovery.complete


async def test_an_ambiguous_name_causes_no_read() -> None:
    server = DiscoveryServer(
        (resource("as.v1.e.com", "A", short_names=("x",)), resource("bs.v1.e.com", "B", short_names=("x",)))
    )

    async with server.client() as client:
        mapper = await loaded(server, client)
        with pytest.raises(AmbiguousMatch):
            await mapper.resolve("x")

    assert server.paths == []


@pytest.mark.parametrize("name", ["pods", GVR("", "v1", "pods")], ids=str)
async def test_a_404_for_the_core_group_never_means_that_it_is_gone(name: str | GVR) -> None:
    server = DiscoveryServer()

    async with server.client() as client:
        mapper = await loaded(server, client)
        server.errors |= {"/api": 404, "/api/v1": 404}
        mapper.invalidate("")
        assert await mapper.resolve(name) == PODS
        with pytest.raises(DiscoveryFailed, match=r"unknown whether the server serves 'gizmos\.v1'"):
            await mapper.resolve(GVR("", "v1", "gizmos"))
