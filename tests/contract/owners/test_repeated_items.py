"""Lists whose items should be unique, and are not: creates and updates may say so, and applies can mend it.

The items of the same key are one value then: https://github.com/kubernetes/kubernetes/issues/113482
"""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, owners, workload
from tests.contract.owners.kit import applied

pytestmark = pytest.mark.since("1.29", "whoever wrote such a list wiped out all owners, and nobody could apply then")
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
    """Who owns which entries, by name, and what of them: ``{}`` for all there is together."""
    found = {who: _container(fields).get("f:env", {}) for who, fields in owners(obj).items()}
    return {
        who: {element[11:-2]: set(below) - {"."} for element, below in fields.items() if element != "."}
        for who, fields in found.items()
        if fields
    }


EACH = {"f:name", "f:value"}


async def test_who_creates_them_owns_them_together(cluster: Cluster) -> None:
    obj = await cluster.create("deployments", deployment(A, B, OTHER_B), params={"fieldManager": "maker"})

    assert env_of(obj) == ["A=1", "B=1", "B=2"]
    assert owned(obj) == {"maker:Update": {"A": EACH, "B": set()}}


async def test_applies_of_other_items_leave_them(cluster: Cluster) -> None:
    await cluster.create("deployments", deployment(A, B, OTHER_B), params={"fieldManager": "maker"})

    obj = await cluster.apply("deployments", deployment({"name": "C", "value": "1"}), "me")

    assert env_of(obj) == ["A=1", "B=1", "B=2", "C=1"]
    assert owned(obj)["me"] == {"C": EACH}


async def test_another_number_of_them_is_another_value(cluster: Cluster) -> None:
    await cluster.create("deployments", deployment(B), params={"fieldManager": "maker"})
    there = await cluster.get("deployments", "d")
    there["spec"]["template"]["spec"]["containers"][0]["env"] = [B, OTHER_B]

    several = await cluster.update("deployments", there, params={"fieldManager": "other"})
    assert owned(several) == {"other:Update": {"B": set()}}

    several["spec"]["template"]["spec"]["containers"][0]["env"] = [B]
    one = await cluster.update("deployments", several, params={"fieldManager": "third"})
    assert owned(one) == {"third:Update": {"B": EACH}}


async def test_to_apply_one_of_them_is_a_conflict_with_who_has_them(cluster: Cluster) -> None:
    await cluster.create("deployments", deployment(A, B, OTHER_B), params={"fieldManager": "maker"})

    code, refused = await applied(cluster, "deployments", deployment(B), "me")

    assert code == 409
    assert [cause["field"] for cause in refused["details"]["causes"]] == [
        '.spec.template.spec.containers[name="app"].env[name="B"]'
    ]


async def test_forced_one_takes_their_place(cluster: Cluster) -> None:
    await cluster.create("deployments", deployment(A, B, OTHER_B), params={"fieldManager": "maker"})

    obj = await cluster.apply("deployments", deployment(OTHER_B), "me", force=True)

    assert env_of(obj) == ["A=1", "B=2"]
    assert owned(obj) == {"maker:Update": {"A": EACH}, "me": {"B": EACH}}


async def test_they_cannot_be_applied(cluster: Cluster) -> None:
    code, refused = await applied(cluster, "deployments", deployment(B, OTHER_B), "me")

    assert code == 500
    assert 'env: duplicate entries for key [name="B"]' in refused["message"]


async def test_ports_that_differ_in_a_defaulted_key_only_are_not_the_same(cluster: Cluster) -> None:
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    obj = await cluster.apply("deployments", deployment(A, ports=ports), "me")

    mine = _container(owners(obj)["me"])["f:ports"]
    assert set(mine) == {
        'k:{"containerPort":80,"protocol":"TCP"}',
        'k:{"containerPort":80,"protocol":"UDP"}',
    }
