"""Matching: which requests a fault affects, in which order, when, and how often."""

from __future__ import annotations

from random import Random
from typing import Any

import httpx2
import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube.meta import GVR
from dynkube_testing import APIServer, Delay, Hang, Refuse, RequestFacts

PODS = "/api/v1/pods"
DEPLOYMENTS = "/apis/apps/v1/deployments"


async def statuses(client: httpx2.AsyncClient, count: int, path: str = PODS) -> list[int]:
    return [(await client.get(path)).status_code for _ in range(count)]


@pytest.mark.parametrize(
    ("matcher", "hits"),
    [
        ({}, ["pods", "deployments", "discovery"]),
        ({"verb": "list"}, ["pods", "deployments"]),
        ({"verb": "watch", "resource": "deployments"}, []),
        ({"resource": "deployments.apps"}, ["deployments"]),
        ({"resource": "deployments.v1.apps"}, ["deployments"]),
        ({"resource": "deployments.v2.apps"}, []),
        ({"resource": GVR("", "v1", "pods")}, ["pods"]),
        ({"path_prefix": "/apis"}, ["deployments", "discovery"]),
        ({"verb": ""}, ["discovery"]),
        ({"when": lambda request: request.params.get("limit") == "5"}, ["pods"]),
    ],
)
async def test_a_fault_affects_only_matching_requests(
    server: APIServer, client: httpx2.AsyncClient, matcher: dict[str, Any], hits: list[str]
) -> None:
    paths = {"pods": f"{PODS}?limit=5", "deployments": DEPLOYMENTS, "discovery": "/apis"}

    server.inject(Refuse(503), **matcher)

    assert [name for name, path in paths.items() if (await client.get(path)).status_code == 503] == hits


async def test_the_when_function_receives_all_facts_about_the_request(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    seen: list[RequestFacts] = []

    def note(request: RequestFacts) -> bool:
        seen.append(request)
        return False

    server.inject(Refuse(401), when=note)

    path = "/api/v1/namespaces/shop/pods/web/log?follow=true"
    await client.get(path, headers={"Authorization": "Bearer secret"})

    (facts,) = seen
    assert (facts.verb, facts.namespace, facts.name, facts.subresource) == ("get", "shop", "web", "log")
    assert (facts.method, facts.path, facts.params["follow"]) == ("GET", "/api/v1/namespaces/shop/pods/web/log", "true")
    assert facts.headers["authorization"] == "Bearer secret"
    assert "secret" not in repr(facts)


async def test_times_and_skip_limit_the_requests_that_a_fault_affects(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    fault = server.inject(Refuse(500), times=2, skip=1)

    assert await statuses(client, 5) == [200, 500, 500, 200, 200]
    assert (fault.hits, fault.times) == (2, 0)


async def test_a_fault_ends_with_its_block(server: APIServer, client: httpx2.AsyncClient) -> None:
    with server.inject(Refuse(500)) as fault:
        assert await statuses(client, 1) == [500]
    fault.remove()

    assert await statuses(client, 1) == [200]
    assert fault.hits == 1


async def test_start_and_duration_use_the_clock_of_the_test(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.inject(Refuse(503), start=10, duration=20)

    seen = []
    for _ in range(5):
        seen += await statuses(client, 1)
        await trio.sleep(9)

    assert seen == [200, 200, 503, 503, 200]


async def test_chance_uses_the_random_numbers_of_the_server() -> None:
    async def play(seed: int) -> list[int]:
        server = APIServer(random=Random(seed))
        server.inject(Refuse(503), chance=0.5)
        seen: list[int] = []
        async with server, httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client:
            seen += await statuses(client, 40)
        return seen

    assert await play(1) == await play(1) != await play(2)
    assert 5 < (await play(3)).count(503) < 35


async def test_all_matching_faults_apply_and_the_oldest_first(server: APIServer, client: httpx2.AsyncClient) -> None:
    slow = server.inject(Delay(30))
    once = server.inject(Refuse(500), times=1)
    other = server.inject(Refuse(503))
    begin = trio.current_time()

    assert await statuses(client, 2) == [500, 503]
    assert trio.current_time() - begin == 60
    assert (slow.hits, once.hits, other.hits) == (2, 1, 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"times": 0}, "times is 0"),
        ({"skip": -1}, "skip is -1"),
        ({"chance": 0}, "chance is 0"),
        ({"chance": 1.5}, "chance is 1.5"),
        ({"start": -1}, "start is -1"),
        ({"duration": 0}, "duration is 0"),
        ({"resource": "a b"}, "a b"),
        ({"resource": "Deployment"}, "'Deployment' is a kind: pass the plural"),
        ({"verb": "LIST"}, "verb is 'LIST': pass one of 'get', 'list'"),
        ({"path_prefix": "apis"}, "path_prefix is 'apis'; paths begin with '/'"),
        ({"when": "namespace=a"}, "when is 'namespace=a': pass a function"),
    ],
)
async def test_invalid_arguments_of_inject_are_rejected(server: APIServer, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        server.inject(Refuse(500), **wrong)


@pytest.mark.parametrize(
    ("effect", "message"),
    [
        (Hang, r"effect is the class Hang: pass an instance: Hang\(...\)"),
        (503, r"effect is 503: pass .* Refuse\(503\)"),
    ],
)
async def test_inject_rejects_values_that_are_not_effects(server: APIServer, effect: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        server.inject(effect)


async def test_a_resource_without_a_verb_is_rejected_as_it_matches_no_request(server: APIServer) -> None:
    with pytest.raises(InvalidInput, match="verb='' with resource='pods' matches no request"):
        server.inject(Refuse(500), verb="", resource="pods")
