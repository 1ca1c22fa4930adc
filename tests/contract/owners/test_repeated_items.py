"""Lists of type map with duplicate keys: creates and updates may write them, and applies can remove the duplicates.

All items with the same key are then owned together: https://github.com/kubernetes/kubernetes/issues/113482
"""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, owners, workload
from tests.contract.owners.kit import applied

pytestmark = pytest.mark.since("1.29", "writing duplicates removed all owners, and then every apply failed")
A, B, OTHER_B = ({"name": name, "value": value} for name, value in (("A", "1"), ("B", "1"), ("B", "2")))


def deployment(*env: JSONObject, **container: object) -> JSONObject:
    body = workload()
    body["spec"]["template"]["spec"] = {
        "containers": [{"name": "app", "image": "app:1", "env": list(env), **container}]
    }
    return body


def _container(fields: JSONObject) -> JSONObject:
    for name in ("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"app"}'):
        fields = fields.get(name, {})
    return fields


def env_of(obj: JSONObject) -> list[str]:
    (container,) = obj["spec"]["template"]["spec"]["containers"]
    return [f"{entry['name']}={entry['value']}" for entry in container.get("env", ())]


def owned(obj: JSONObject) -> dict[str, JSONObject]:
    """Return the owned fields of environment variables by owner and name; empty if duplicates are owned together."""
    found = {manager: _container(fields).get("f:env", {}) for manager, fields in owners(obj).items()}
    return {
        manager: {element[11:-2]: set(below) - {"."} for element, below in fields.items() if element != "."}
        for manager, fields in found.items()
        if fields
    }


EACH = {"f:name", "f:value"}


async def test_a_create_owns_duplicates_together(cluster: Cluster) -> None:
    obj = await cluster.create("deployments", deployment(A, B, OTHER_B), params={"fieldManager": "maker"})

    assert env_of(obj) == ["A=1", "B=1", "B=2"]
    assert owned(obj) == {"maker:Update": {"A": EACH, "B": set()}}


async def test_an_apply_of_other_items_keeps_duplicates(cluster: Cluster) -> None:
    await cluster.create("deployments", deployment(A, B, OTHER_B), params={"fieldManager": "maker"})

    obj = await cluster.apply("deployments", deployment({"name": "C", "value": "1"}), "me")

    assert env_of(obj) == ["A=1", "B=1", "B=2", "C=1"]
    assert owned(obj)["me"] == {"C": EACH}


async def test_an_update_that_changes_their_number_owns_duplicates(cluster: Cluster) -> None:
    await cluster.create("deployments", deployment(B), params={"fieldManager": "maker"})
    there = await cluster.get("deployments", "d")
    there["spec"]["template"]["spec"]["containers"][0]["env"] = [B, OTHER_B]

    several = await cluster.update("deployments", there, params={"fieldManager": "other"})
    assert owned(several) == {"other:Update": {"B": set()}}

    several["spec"]["template"]["spec"]["containers"][0]["env"] = [B]
    one = await cluster.update("deployments", several, params={"fieldManager": "third"})
    assert owned(one) == {"third:Update": {"B": EACH}}


async def test_applying_one_of_the_duplicates_is_a_conflict(cluster: Cluster) -> None:
    await cluster.create("deployments", deployment(A, B, OTHER_B), params={"fieldManager": "maker"})

    code, error = await applied(cluster, "deployments", deployment(B), "me")

    assert code == 409
    assert [cause["field"] for cause in error["details"]["causes"]] == [
        '.spec.template.spec.containers[name="app"].env[name="B"]'
    ]


async def test_a_forced_apply_replaces_duplicates(cluster: Cluster) -> None:
    await cluster.create("deployments", deployment(A, B, OTHER_B), params={"fieldManager": "maker"})

    obj = await cluster.apply("deployments", deployment(OTHER_B), "me", force=True)

    assert env_of(obj) == ["A=1", "B=2"]
    assert owned(obj) == {"maker:Update": {"A": EACH}, "me": {"B": EACH}}


async def test_applying_duplicates_is_an_error(cluster: Cluster) -> None:
    code, error = await applied(cluster, "deployments", deployment(B, OTHER_B), "me")

    assert code == 500
    assert 'env: duplicate entries for key [name="B"]' in error["message"]


async def test_ports_that_differ_only_in_a_defaulted_key_are_not_duplicates(cluster: Cluster) -> None:
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    obj = await cluster.apply("deployments", deployment(A, ports=ports), "me")

    mine = _container(owners(obj)["me"])["f:ports"]
    assert set(mine) == {
        'k:{"containerPort":80,"protocol":"TCP"}',
        'k:{"containerPort":80,"protocol":"UDP"}',
    }


def env(name: str, value: str = "", *, field: str = "") -> JSONObject:
    source = {"valueFrom": {"fieldRef": {"fieldPath": field}}} if field else {"value": value}
    return {"name": name, **source}


async def written(cluster: Cluster, *states: list[JSONObject]) -> JSONObject:
    """Create a Deployment with these variables, then update it to each next state, by ``first``, ``second``, ..."""
    obj = await cluster.create("deployments", deployment(*states[0]), params={"fieldManager": "first"})
    for manager, state in zip(("second", "third"), states[1:], strict=False):
        obj["spec"]["template"]["spec"]["containers"][0]["env"] = state
        obj = await cluster.update("deployments", obj, params={"fieldManager": manager})
    return obj


UPDATES: dict[str, tuple[list[list[JSONObject]], dict[str, dict[str, set[str]]]]] = {
    "another value of a duplicate": (
        [[A, B, OTHER_B], [A, B, env("B", "3")]],
        {"first:Update": {"A": EACH}, "second:Update": {"B": set()}},
    ),
    "another field of a duplicate": (
        [[A, B, OTHER_B], [A, B, env("B", field="metadata.name")]],
        {"first:Update": {"A": EACH}, "second:Update": {"B": set()}},
    ),
    "a new duplicate with another field": (
        [[A, B], [A, B, env("B", field="metadata.name")]],
        {"first:Update": {"A": EACH}, "second:Update": {"B": set()}},
    ),
    "a new item beside duplicates": (
        [[B, OTHER_B], [B, OTHER_B, A]],
        {"first:Update": {"B": set()}, "second:Update": {"A": EACH}},
    ),
    "another value of an item beside duplicates": (
        [[A, B, OTHER_B], [env("A", "2"), B, OTHER_B]],
        {"first:Update": {"A": {"f:name"}, "B": set()}, "second:Update": {"A": {"f:value"}}},
    ),
}


@pytest.mark.parametrize(("states", "owners"), UPDATES.values(), ids=UPDATES)
async def test_an_update_owns_the_duplicates_or_fields_that_it_changes(
    cluster: Cluster, states: list[list[JSONObject]], owners: dict[str, dict[str, set[str]]]
) -> None:
    assert owned(await written(cluster, *states)) == owners


async def test_an_item_beside_duplicates_can_be_applied(cluster: Cluster) -> None:
    await written(cluster, [A, B, OTHER_B])

    code, error = await applied(cluster, "deployments", deployment(env("A", "2")), "me")
    obj = await cluster.apply("deployments", deployment(env("A", "2")), "me", force=True)

    assert (code, len(error["details"]["causes"])) == (409, 1)
    assert env_of(obj) == ["A=2", "B=1", "B=2"]
    assert owned(obj) == {"first:Update": {"A": {"f:name"}, "B": set()}, "me": {"A": EACH}}


async def test_duplicates_written_by_an_update_stay_when_the_item_is_no_longer_applied(cluster: Cluster) -> None:
    obj = await cluster.apply("deployments", deployment(A, B), "me")
    obj["spec"]["template"]["spec"]["containers"][0]["env"] = [A, B, OTHER_B]
    await cluster.update("deployments", obj, params={"fieldManager": "other"})

    remaining = await cluster.apply("deployments", deployment(A), "me")

    assert env_of(remaining) == ["A=1", "B=1", "B=2"]
    assert owned(remaining) == {"me": {"A": EACH}, "other:Update": {"B": set()}}
