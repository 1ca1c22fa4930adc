"""The number of requests of ``apply_all`` and ``diff_all``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import dynkube
from dynkube.telemetry import Observer, RequestInfo
from tests.contract.cluster import Cluster


class Requests(Observer):
    """Counts the requests to one resource by verb."""

    def __init__(self, resource: str) -> None:
        self._resource = resource
        self._counted: Counter[str] = Counter()

    def request_started(self, request: RequestInfo) -> Mapping[str, str] | None:
        self._counted[request.verb] += request.gvr is not None and request.gvr.resource == self._resource
        return None

    def taken(self) -> dict[str, int]:
        """Return the counts since the last call."""
        counted, self._counted = +self._counted, Counter()
        return dict(counted)


def configs(number: int, value: str) -> list[dict[str, Any]]:
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{index}"}, "data": {"a": value}}
        for index in range(number)
    ]


async def test_many_objects_need_one_list_and_one_write_each(
    cluster: Cluster, connect: Callable[..., dynkube.Client]
) -> None:
    requests, taken = Requests("configmaps"), []
    async with connect(observers=[requests]) as client:
        for verb, value in [("apply", "1"), ("apply", "1"), ("diff", "1"), ("diff", "2"), ("apply", "2")]:
            run: Any = client.apply_all if verb == "apply" else client.diff_all
            report = await run(configs(20, value), namespace=cluster.namespace)
            taken.append((report.summary, requests.taken()))

    assert taken == [
        ("20 created", {"list": 1, "patch": 20}),
        ("20 unchanged", {"list": 1}),
        ("0 differ, 20 do not", {"list": 1}),
        ("20 differ, 0 do not", {"list": 1, "patch": 20}),
        ("20 changed", {"list": 1, "patch": 20}),
    ]


async def test_a_few_objects_need_one_read_and_one_write_each(
    cluster: Cluster, connect: Callable[..., dynkube.Client]
) -> None:
    requests = Requests("configmaps")
    async with connect(observers=[requests]) as client:
        await client.apply_all(configs(3, "1"), namespace=cluster.namespace)
        new = requests.taken()
        await client.diff_all(configs(3, "2"), namespace=cluster.namespace)

    assert (new, requests.taken()) == ({"get": 3, "patch": 3}, {"get": 3, "patch": 3})


async def test_a_run_can_use_the_crds_of_the_run_before(
    cluster: Cluster, connect: Callable[..., dynkube.Client]
) -> None:
    crds = [cluster.crd(f"things{index}", f"Thing{index}") for index in range(5)]
    things = [{**cluster.widget("a"), "kind": f"Thing{index}"} for index in range(5)]

    async with connect() as client:
        first = await client.apply_all(crds)
    async with connect() as client:
        second = await client.apply_all(things, namespace=cluster.namespace)
    for crd in crds:
        cluster.leftovers.append(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}")

    assert (first.counts, second.counts) == ({"created": 5}, {"created": 5}), f"{first}{second}"
