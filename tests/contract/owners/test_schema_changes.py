"""CRDs whose lists and maps change between atomic and granular after fields have owners."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import CRDS, JSONObject
from tests.contract.owners.kit import (
    TEXT,
    Apply,
    Update,
    applied,
    atomic,
    field_sets,
    force,
    keyed,
    owned,
    play,
    served,
    struct,
)

PAIR = struct(a=TEXT, b=TEXT)
ITEM = struct(name=TEXT, value=TEXT)
TOGETHER = {"pair": atomic(PAIR), "list": {"type": "array", "items": ITEM, "x-kubernetes-list-type": "atomic"}}
APART = {"pair": PAIR, "list": keyed(ITEM, "name")}
VALUES = {"pair": {"a": "1"}, "list": [{"name": "x", "value": "1"}]}
EACH = "pair.a list[x] list[x].name list[x].value"


async def update_schema(cluster: Cluster, spec: JSONObject) -> None:
    """Change the schema of Widgets, and wait until the server uses it: until an additional marker field is allowed."""
    mark = f"mark{len(str(spec))}"
    versions = [served({**spec, mark: TEXT})]
    await cluster.patch(CRDS, f"widgets.{cluster.group}", {"spec": {"versions": versions}})

    async def counts() -> bool:
        body = cluster.widget("probe", spec={mark: "x"})
        code, _ = await applied(cluster, "widgets", body, "probe", dryRun="All")
        return code < 400

    await cluster.until(counts)


async def create_crd(cluster: Cluster, spec: JSONObject) -> None:
    await cluster.create_crd(cluster.crd(versions=[served(spec)]))


@pytest.mark.since("1.22", "values that became atomic lost their owners")
async def test_the_owner_of_a_part_owns_the_whole_after_it_becomes_atomic(cluster: Cluster) -> None:
    await create_crd(cluster, APART)
    before = await play(cluster, [Apply("one", VALUES), Update("ctl", {**VALUES, "pair": {"a": "1", "b": "1"}})])
    assert owned(before) == field_sets({"one": EACH, "ctl:Update": "pair.b"})

    await update_schema(cluster, TOGETHER)
    code, error = await applied(cluster, "widgets", cluster.widget(spec={"pair": {"b": "2"}}), "two")

    assert code == 409
    assert sorted((cause["field"], cause["message"].split('"')[1]) for cause in error["details"]["causes"]) == [
        (".spec.pair", "ctl"),
        (".spec.pair", "one"),
    ]
    obj = await cluster.patch("widgets", "w", {"metadata": {"labels": {"x": "y"}}}, params={"fieldManager": "ctl"})
    assert owned(obj) == field_sets({"one": "pair list", "ctl:Update": "pair"})


@pytest.mark.since("1.22", "atomic maps were merged")
async def test_the_owner_of_an_atomic_value_owns_no_parts_after_it_becomes_granular(cluster: Cluster) -> None:
    await create_crd(cluster, TOGETHER)
    before = await play(cluster, [Apply("one", VALUES)])
    assert owned(before) == field_sets({"one": "pair list"})

    await update_schema(cluster, APART)
    code, obj = await applied(cluster, "widgets", cluster.widget(spec={"pair": {"a": "2"}}), "two")

    assert (code, obj["spec"]["pair"]) == (200, {"a": "2"})
    assert owned(obj) == field_sets({"one": "pair list", "two": "pair.a"})


@pytest.mark.since("1.22", "atomic maps were merged")
async def test_the_owner_of_a_formerly_atomic_value_owns_its_parts_after_the_next_apply(cluster: Cluster) -> None:
    await create_crd(cluster, TOGETHER)
    await play(cluster, [Apply("one", VALUES)])
    await update_schema(cluster, APART)

    obj = await play(cluster, [Apply("one", VALUES)])

    assert (obj["spec"], owned(obj)) == (VALUES, field_sets({"one": EACH}))


@pytest.mark.since("1.25", "the rules for keys of lists were different")
async def test_items_are_found_by_a_new_key_with_a_default(cluster: Cluster) -> None:
    port = struct(port={"type": "integer"}, protocol={**TEXT, "default": "TCP"}, name=TEXT)
    await create_crd(cluster, {"ports": keyed(port, "port")})
    await play(cluster, [Apply("one", {"ports": [{"port": 80, "name": "a"}]})])

    await update_schema(cluster, {"ports": keyed(port, "port", "protocol", required=["port"])})
    obj = await play(cluster, [Apply("one", {"ports": [{"port": 80, "name": "b"}]})])

    assert obj["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "name": "b"}]
    assert owned(obj) == field_sets({"one": "ports[80,TCP] ports[80,TCP].port ports[80,TCP].name"})


def item(**more: object) -> JSONObject:
    return {"name": "a", **more}


def owned_items(*items: JSONObject) -> dict[str, set[str]]:
    """Return the owners after ``one`` has applied these items; keys are name, and id if there is one."""
    names = ["list[" + ",".join(str(each[key]) for key in ("id", "name") if key in each) + "]" for each in items]
    fields = [f"{name}.{field}" for name, each in zip(names, items, strict=True) for field in each]
    return {"one": {*names, *fields}}


ONE, TWO = item(id=1, value="1"), item(id=2, value="2")
NEW_KEYS: dict[str, tuple[list[JSONObject], list[JSONObject]]] = {
    "a field that becomes a key": ([ONE], [item(id=1, value="2")]),
    "another item of the same name": ([ONE], [ONE, TWO]),
}


@pytest.mark.since("1.25", "the rules for keys of lists were different")
@pytest.mark.parametrize(("before", "after"), NEW_KEYS.values(), ids=NEW_KEYS)
async def test_items_are_identified_by_an_additional_key(
    cluster: Cluster, before: list[JSONObject], after: list[JSONObject]
) -> None:
    fields = struct(name=TEXT, id={"type": "integer"}, value=TEXT)
    await create_crd(cluster, {"list": keyed(fields, "name")})
    await play(cluster, [Apply("one", {"list": before})])

    await update_schema(cluster, {"list": keyed(fields, "name", "id")})
    obj = await play(cluster, [Apply("one", {"list": after})])

    assert (obj["spec"]["list"], owned(obj)) == (after, owned_items(*after))


@pytest.mark.since("1.22", "values that became atomic lost their owners")
async def test_a_manager_without_parts_does_not_own_the_whole_after_it_becomes_atomic(cluster: Cluster) -> None:
    await create_crd(cluster, APART)
    await play(cluster, [Apply("one", {"pair": {"a": "1"}}), force("two", {"pair": {"a": "2"}})])

    await update_schema(cluster, TOGETHER)
    code, error = await applied(cluster, "widgets", cluster.widget(spec={"pair": {"b": "1"}}), "three")
    assert code == 409
    assert [cause["message"] for cause in error["details"]["causes"]] == ['conflict with "two"']

    obj = await play(cluster, [force("two", {"pair": {"b": "1"}})])
    assert (obj["spec"], owned(obj)) == ({"pair": {"b": "1"}}, field_sets({"two": "pair"}))
