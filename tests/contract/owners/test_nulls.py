"""Nulls in what is applied: they are owned, they say nothing about what is inside, and few of them are shown."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config
from tests.contract.owners.kit import TEXT, Apply, applied, owned, play, served, words


@pytest.mark.parametrize(
    ("data", "fields"),
    [({"a": None}, ["a"]), ({"a": "1", "b": None}, ["a", "b"]), (None, [""])],
    ids=str,
)
async def test_who_applies_a_null_owns_it(cluster: Cluster, data: JSONObject | None, fields: list[str]) -> None:
    code, obj = await applied(cluster, "configmaps", {**config(), "data": data}, "one")

    assert code == 201
    assert sorted(field or "" for field in owned(obj, "data").get("one", [""])) == fields


async def test_a_null_in_the_place_of_a_map_takes_nothing_out_of_it(cluster: Cluster) -> None:
    await applied(cluster, "configmaps", {**config(), "data": {"a": "1"}}, "one")

    code, obj = await applied(cluster, "configmaps", {**config(), "data": None}, "two")

    assert (code, obj["data"]) == (200, {"a": "1"})


async def test_a_null_in_the_place_of_a_value_of_another_is_a_conflict(cluster: Cluster) -> None:
    await applied(cluster, "configmaps", {**config(), "data": {"a": "1"}}, "one")

    code, refused = await applied(cluster, "configmaps", {**config(), "data": {"a": None}}, "two")

    assert (code, refused["details"]["causes"][0]["field"]) == (409, ".data.a")


@pytest.mark.since("1.25", "it was kept and shown before")
async def test_a_null_that_a_definition_does_not_allow_is_owned_and_not_shown(cluster: Cluster) -> None:
    anything = {"x-kubernetes-preserve-unknown-fields": True}
    await cluster.define(cluster.definition(versions=[served({"any": anything, "text": TEXT})]))

    obj = await play(cluster, [Apply("one", {"any": None, "text": "x"})])

    assert (obj["spec"], owned(obj)) == ({"text": "x"}, words({"one": "any text"}))


async def test_a_null_of_another_type_than_the_definition_says_is_not_valid(widgets: Cluster) -> None:
    code, refused = await applied(widgets, "widgets", widgets.widget(spec={"struct": None}), "one")

    assert (code, refused["details"]["causes"][0]["field"]) == (422, "spec.struct")
