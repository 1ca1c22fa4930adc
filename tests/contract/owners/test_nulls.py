"""Null values in applied configurations: they are owned, but remove nothing, and few of them are stored."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config
from tests.contract.owners.kit import TEXT, Apply, applied, field_sets, owned, play, served


@pytest.mark.parametrize(
    ("data", "fields"),
    [({"a": None}, ["a"]), ({"a": "1", "b": None}, ["a", "b"]), (None, [""])],
    ids=str,
)
async def test_an_applied_null_is_owned(cluster: Cluster, data: JSONObject | None, fields: list[str]) -> None:
    code, obj = await applied(cluster, "configmaps", {**config(), "data": data}, "one")

    assert code == 201
    assert sorted(field or "" for field in owned(obj, "data").get("one", [""])) == fields


async def test_a_null_instead_of_a_map_removes_nothing(cluster: Cluster) -> None:
    await applied(cluster, "configmaps", {**config(), "data": {"a": "1"}}, "one")

    code, obj = await applied(cluster, "configmaps", {**config(), "data": None}, "two")

    assert (code, obj["data"]) == (200, {"a": "1"})


async def test_a_null_for_a_value_of_another_manager_is_a_conflict(cluster: Cluster) -> None:
    await applied(cluster, "configmaps", {**config(), "data": {"a": "1"}}, "one")

    code, error = await applied(cluster, "configmaps", {**config(), "data": {"a": None}}, "two")

    assert (code, error["details"]["causes"][0]["field"]) == (409, ".data.a")


@pytest.mark.since("1.25", "it was stored")
async def test_a_null_that_the_schema_does_not_allow_is_owned_and_dropped(cluster: Cluster) -> None:
    anything = {"x-kubernetes-preserve-unknown-fields": True}
    await cluster.create_crd(cluster.crd(versions=[served({"any": anything, "text": TEXT})]))

    obj = await play(cluster, [Apply("one", {"any": None, "text": "x"})])

    assert (obj["spec"], owned(obj)) == ({"text": "x"}, field_sets({"one": "any text"}))


async def test_a_null_instead_of_an_object_is_invalid(widgets: Cluster) -> None:
    code, error = await applied(widgets, "widgets", widgets.widget(spec={"struct": None}), "one")

    assert (code, error["details"]["causes"][0]["field"]) == (422, "spec.struct")
