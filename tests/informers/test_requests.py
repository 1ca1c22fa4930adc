"""P12 and failure mode 1: the number of requests that informers send."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
import trio

from dynkube import ABSENT, LIVE, Client
from dynkube.meta import Unstructured
from dynkube_testing import APIServer
from tests.informers.kit import CRDS, WIDGETS, crd, quiet, widget

APISERVICES = "apiservices"


@pytest.mark.scenario("F1", "P12")
async def test_1_a_thousand_absent_crds_cost_two_watches_and_no_polling(server: APIServer, client: Client) -> None:
    async with trio.open_nursery() as nursery:
        informers = [client.informer(f"things.v1.g{number}.example.com") for number in range(1000)]
        for informer in informers:
            nursery.start_soon(informer.__aenter__)
        await trio.sleep(60)
        assert {informer.state.phase for informer in informers} == {ABSENT}
        assert len(server.requests) <= 5, "the CRDs, the APIServices, /api, /apis, and /readyz"
        assert sorted(watch.resource.resource for watch in server.open_watches) == [APISERVICES, CRDS]

        server.forget_requests()
        await trio.sleep(3600)
        requests = Counter((request.verb, request.path.rpartition("/")[2]) for request in server.requests)
        assert requests.keys() == {("watch", CRDS), ("watch", APISERVICES)}, "each watch is opened again when it ends"
        assert all(6 <= count <= 12 for count in requests.values())
        for informer in informers:
            nursery.start_soon(informer.aclose)


@pytest.mark.real_time
def test_an_absent_resource_takes_at_most_ten_kilobytes() -> None:
    # In a process of its own: after thousands of other tests the same informers took 10.7 KB (Python 3.11, 3.14: 11.2).
    command = [sys.executable, "-m", "tests.informers.absent_memory"]
    weight = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    assert weight / 1000 <= (10 if sys.version_info < (3, 14) else 10.5) * 1024


@pytest.mark.scenario("F1", "P12")
async def test_1_apiservices_are_watched_only_while_a_resource_is_absent(server: APIServer, client: Client) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets, client.informer("pods.v1") as pods:
        await widgets.wait_state(LIVE)
        await pods.wait_state(LIVE)
        assert not [request for request in server.requests if APISERVICES in request.path]

        server.delete(CRDS, "widgets.example.com")
        await widgets.wait_state(ABSENT)
        await quiet()
        assert APISERVICES in {watch.resource.resource for watch in server.open_watches}

        server.create(crd())
        await widgets.wait_state(LIVE)
        await quiet()
        assert APISERVICES not in {watch.resource.resource for watch in server.open_watches}


@pytest.mark.scenario("F1", "F14")
async def test_1_a_thousand_absent_resources_cost_one_poll_in_30_seconds_if_crds_may_not_be_watched(
    server: APIServer, client: Client
) -> None:
    server.fail(status=403, resource=CRDS)
    async with trio.open_nursery() as nursery:
        informers = [client.informer(f"things.v1.g{number}.example.com") for number in range(1000)]
        for informer in informers:
            nursery.start_soon(informer.__aenter__)
        await trio.sleep(60)
        assert {informer.state.phase for informer in informers} == {ABSENT}

        server.forget_requests()
        await trio.sleep(600)
        requests = Counter(request.path.rpartition("/")[2] for request in server.requests)
        assert requests.keys() <= {CRDS, "api", "apis"}
        assert requests["api"] == requests["apis"] == 600 / 30
        assert requests[CRDS] <= 600 / 30, "to see whether they may be watched by now"
        for informer in informers:
            nursery.start_soon(informer.aclose)


@pytest.mark.scenario("F1", "F11", "F14")
async def test_1_discovery_is_read_when_the_crd_watch_is_renewed_if_apiservices_may_not_be_watched(
    server: APIServer, client: Client
) -> None:
    forbidden = server.fail(status=403, resource=APISERVICES)
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(ABSENT)
        await trio.sleep(3600)
        requests = Counter(request.path.rpartition("/")[2] for request in server.requests)
        assert 6 <= requests[CRDS] <= 12
        # One read of example.com/v1, two at the start; and two rounds of attempts to watch: at once and a minute later.
        assert requests["v1"] == requests[CRDS] + 1
        assert requests[APISERVICES] <= 6 * requests[CRDS]

        forbidden.remove()
        await trio.sleep(600)
        assert APISERVICES in {watch.resource.resource for watch in server.open_watches}


@pytest.mark.scenario("F1", "F11")
@pytest.mark.parametrize(("refusals", "seconds"), [(1, 5), (4, 70)])
async def test_1_apiservices_are_watched_again_soon_after_a_moment_of_refusals(
    server: APIServer, client: Client, refusals: int, seconds: float
) -> None:
    server.fail(status=403, resource=APISERVICES, times=refusals)
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(ABSENT)
        await trio.sleep(seconds)

        assert APISERVICES in {watch.resource.resource for watch in server.open_watches}


@pytest.mark.scenario("K5")
async def test_nothing_is_requested_before_an_informer_is_entered(server: APIServer, client: Client) -> None:
    widgets = client.informer(WIDGETS)
    widgets.add_handler(on_add=print)
    await quiet()

    assert server.requests == []


@pytest.mark.scenario("P12")
async def test_equal_informers_share_one_watch_and_different_ones_do_not(server: APIServer, client: Client) -> None:
    server.create(crd())
    equal = [client.informer(WIDGETS, label_selector=text) for text in ("a=1,b=2", "b=2,a=1", {"b": "2", "a": "1"})]
    equal.append(client.informer(WIDGETS, namespace="", label_selector="a=1,b=2"))
    others = [client.informer(WIDGETS), client.informer(WIDGETS, namespace="default")]
    for informer in equal + others:
        await informer.__aenter__()
        await informer.wait_state(LIVE)

    watched = Counter((w.namespace, w.params.get("labelSelector")) for w in server.open_watches)
    assert watched[("", "a=1,b=2")] == 1
    assert sum(watched.values()) == 4, "one for CRDs, three for widgets"
    assert [informer.statistics().users for informer in equal] == [4] * 4
    for informer in equal + others:
        await informer.aclose()


@pytest.mark.scenario("P12")
async def test_fifty_informers_of_one_resource_share_a_watch(server: APIServer, client: Client) -> None:
    server.create(crd())
    informers = [client.informer(WIDGETS, filter=lambda obj: True) for _ in range(50)]
    for informer in informers:
        await informer.__aenter__()
    for informer in informers:
        await informer.wait_state(LIVE)
    server.create(widget("a"))
    await quiet()

    assert [len(informer) for informer in informers] == [1] * 50
    assert len([watch for watch in server.open_watches if watch.resource.resource == "widgets"]) == 1
    for informer in informers:
        await informer.aclose()


def only_metadata(obj: Unstructured) -> Unstructured:
    return obj.evolve(spec={})


@pytest.mark.scenario("G24")
async def test_informers_with_different_transforms_show_their_own_results(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("a", n=1))
    async with client.informer(WIDGETS) as whole, client.informer(WIDGETS, transform=only_metadata) as slim:
        await whole.wait_synced()
        await slim.wait_synced()

        assert ([obj["spec"] for obj in whole], [obj["spec"] for obj in slim]) == ([{"n": 1}], [{}])
        assert (whole.statistics().users, slim.statistics().users) == (1, 1)
