"""The number of requests for applying or comparing many objects: one list, and one write per object."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import Any

import pytest

import dynkube
from dynkube.manifests import ApplySet
from dynkube_testing import APIServer, Rewrite
from tests.manifests.kit import JSONObject, config, outcomes


def counted(server: APIServer, resource: str = "configmaps") -> dict[str, int]:
    """Return the number of requests for one resource since the last call, by verb."""
    found = Counter(
        request.verb for request in server.requests if request.resource and request.resource.resource == resource
    )
    server.forget_requests()
    return dict(found)


def configs(number: int, **data: str) -> list[JSONObject]:
    return [config(f"c{index}", **data) for index in range(number)]


async def test_many_objects_take_one_list_and_one_write_each(server: APIServer, client: dynkube.Client) -> None:
    taken = []
    for value in ("1", "1", "2"):
        await client.apply_all(configs(50, a=value))
        taken.append(counted(server))

    assert taken == [{"list": 1, "patch": 50}, {"list": 1}, {"list": 1, "patch": 50}]


async def test_a_few_objects_take_one_read_and_one_write_each(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all(configs(4, a="1"))
    new = counted(server)
    await client.diff_all(configs(4, a="2"))

    assert (new, counted(server)) == ({"get": 4, "patch": 4}, {"get": 4, "patch": 4})


async def test_differences_of_many_objects_take_one_list_and_one_dry_run_each(
    server: APIServer, client: dynkube.Client
) -> None:
    new = await client.diff_all(configs(50, a="1"))
    absent = counted(server)
    await client.apply_all(configs(50, a="1"))
    counted(server)
    changed = await client.diff_all(configs(50, a="2"))

    assert (absent, counted(server)) == ({"list": 1, "patch": 50}, {"list": 1, "patch": 50})
    assert [sum(entry.differs for entry in report) for report in (new, changed)] == [50, 50]


async def test_each_namespace_is_listed_separately(server: APIServer, client: dynkube.Client) -> None:
    for name in ("one", "two"):
        server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    server.forget_requests()
    objects = [config(f"c{index}", namespace=name) for name in ("one", "two") for index in range(5)]

    report = await client.apply_all([*objects, *configs(4)])

    assert report.counts == {"created": 14}
    assert counted(server) == {"list": 2, "get": 4, "patch": 14}


async def test_a_collection_with_many_other_objects_is_not_listed_completely(
    server: APIServer, client: dynkube.Client
) -> None:
    for index in range(100):
        server.create(config(f"a{index}"))
    server.forget_requests()

    report = await client.apply_all([*configs(4), config("a7", a="1")])

    assert outcomes(report)[-1] == ("changed", "configmap/a7")
    assert counted(server)["list"] == 1


async def test_a_collection_of_several_pages_is_listed(server: APIServer, client: dynkube.Client) -> None:
    await client.apply_all(configs(600, a="1"))
    counted(server)

    report = await client.apply_all(configs(600, a="1"))

    assert report.counts == {"unchanged": 600}
    assert counted(server) == {"list": 2}


async def test_without_permission_to_list_each_object_is_read(server: APIServer, client: dynkube.Client) -> None:
    server.fail(status=403, verb="list", resource="configmaps")

    report = await client.apply_all(configs(10))

    assert report.counts == {"created": 10}
    assert counted(server) == {"list": 1, "get": 10, "patch": 10}


async def test_secrets_are_not_listed(server: APIServer, client: dynkube.Client) -> None:
    secrets = [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"s{index}"}} for index in range(10)]

    await client.apply_all(secrets)

    assert counted(server, "secrets") == {"get": 10, "patch": 10}


@pytest.mark.parametrize("diff", [False, True])
async def test_an_object_of_another_set_is_recognised_in_a_list(
    server: APIServer, client: dynkube.Client, diff: bool
) -> None:
    await client.apply_all(configs(10), prune=ApplySet("one"))

    run: Any = client.diff_all if diff else client.apply_all
    report = await run(configs(10), prune=ApplySet("two"))

    assert all("belongs to another ApplySet" in str(entry.error) for entry in report if entry.object in configs(10))
    assert not report.ok


async def test_an_endless_list_of_empty_pages_is_not_continued(server: APIServer, client: dynkube.Client) -> None:
    tokens = count()

    def without_items(page: JSONObject) -> JSONObject:
        return {**page, "items": [], "metadata": {**page["metadata"], "continue": f"page-{next(tokens)}"}}

    server.inject(Rewrite(without_items), verb="list", resource="configmaps")

    report = await client.apply_all(configs(50, a="1"))

    assert report.counts == {"created": 50}
    assert counted(server) == {"list": 1, "get": 50, "patch": 50}
