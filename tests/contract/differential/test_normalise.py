"""Normalising hides only values that servers choose."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.contract.cluster import Response
from tests.contract.differential.normalise import normalised
from tests.contract.objects import JSONObject, config

UIDS = ("0f3a7a39-1f6b-4c0b-9b3f-5d6b8f0a1c11", "0f3a7a39-1f6b-4c0b-9b3f-5d6b8f0a1c22")
OTHER_UIDS = ("aaaaaaaa-1f6b-4c0b-9b3f-5d6b8f0a1c11", "bbbbbbbb-1f6b-4c0b-9b3f-5d6b8f0a1c22")


@pytest.fixture(autouse=True)
def _counted() -> None:
    """Override the fixture that runs a test once for each backend, as no server is used here."""


def stored(name: str, uid: str, version: int, **more: Any) -> JSONObject:
    made = config(name, uid=uid, resourceVersion=str(version), creationTimestamp="2020-01-01T00:00:00Z")
    return {**made, **more}


def three_versions(uids: tuple[str, str], versions: tuple[int, int, int]) -> list[JSONObject]:
    """Return two objects, and a later version of the first one."""
    first, second, third = versions
    return [stored("a", uids[0], first), stored("b", uids[1], second), stored("a", uids[0], third)]


def symbols(bodies: list[JSONObject]) -> list[JSONObject]:
    return normalised([Response(code=200, headers={}, body=copy.deepcopy(body)) for body in bodies])


def test_responses_that_differ_in_uids_and_versions_are_equal() -> None:
    assert symbols(three_versions(UIDS, (5, 9, 12))) == symbols(three_versions(OTHER_UIDS, (100, 101, 4000)))


@pytest.mark.parametrize(
    "changed",
    [
        [stored("a", UIDS[0], 5), stored("b", UIDS[1], 9), stored("a", UIDS[1], 12)],
        [stored("a", UIDS[0], 5), stored("b", UIDS[0], 9), stored("a", UIDS[0], 12)],
        [stored("a", UIDS[0], 5), stored("b", UIDS[1], 9), stored("a", UIDS[0], 5)],
        [stored("a", UIDS[0], 9), stored("b", UIDS[1], 5), stored("a", UIDS[0], 12)],
        [stored("a", UIDS[0], 5), stored("b", UIDS[1], 9), stored("a", UIDS[0], 12, data={"k": "w"})],
        [stored("a", UIDS[0], 5), stored("b", UIDS[1], 9), stored("c", UIDS[0], 12)],
    ],
    ids=["another object", "the same object", "no write", "another order", "another content", "another name"],
)
def test_responses_that_differ_otherwise_stay_different(changed: list[JSONObject]) -> None:
    assert symbols(changed) != symbols(three_versions(UIDS, (5, 9, 12)))


def service(uid: str, address: str) -> JSONObject:
    return stored("a", uid, 5, kind="Service", spec={"clusterIP": address, "clusterIPs": [address]})


def test_reuse_of_the_address_of_a_deleted_service_is_not_compared() -> None:
    again = [service(UIDS[0], "10.0.0.7"), service(UIDS[1], "10.0.0.7")]
    another = [service(UIDS[0], "10.0.0.8"), service(UIDS[1], "10.0.0.9")]

    assert symbols(again) == symbols(another)


def test_a_changed_address_of_one_service_is_a_difference() -> None:
    unmoved = [service(UIDS[0], "10.0.0.7"), service(UIDS[0], "10.0.0.7")]
    moved = [service(UIDS[0], "10.0.0.7"), service(UIDS[0], "10.0.0.8")]

    assert symbols(unmoved) != symbols(moved)


def test_an_address_in_a_table_has_the_symbol_of_its_service() -> None:
    row = {"cells": ["a", "10.0.0.7"], "object": {"metadata": {"uid": UIDS[0]}}}

    shown, listed = symbols([service(UIDS[0], "10.0.0.7"), {"rows": [row]}])

    assert listed["body"]["rows"][0]["cells"][1] == shown["body"]["spec"]["clusterIP"]


def test_a_missing_field_is_a_difference() -> None:
    without = three_versions(UIDS, (5, 9, 12))
    del without[2]["metadata"]["creationTimestamp"]

    assert symbols(without) != symbols(three_versions(UIDS, (5, 9, 12)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2020-01-01T00:00:00Z", "2021-02-03T04:05:06Z"),
        ("2020-01-01T00:00:00.000001Z", "2021-02-03T04:05:06.123456Z"),
        ("gen-bcdfg", "gen-hjklm"),
        (UIDS[0], OTHER_UIDS[0]),
        ("ResourceVersion in object meta: 5", "ResourceVersion in object meta: 5"),
    ],
)
def test_generated_values_within_strings_are_equal(one: str, other: str) -> None:
    assert symbols([{"message": f"before {one} behind"}]) == symbols([{"message": f"before {other} behind"}])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000001Z"),
        ("gen-bcdfg", "gen-bcdfgh"),
        ("gen-bcdfg", "gen-"),
        ("port 80", "port 81"),
        ('Invalid value: "{\\"a\\":1}"', 'Invalid value: "{\\"a\\":2}"'),
    ],
)
def test_other_strings_stay_different(one: str, other: str) -> None:
    assert symbols([{"message": one}]) != symbols([{"message": other}])


def test_the_order_of_fields_in_a_quoted_object_is_not_compared() -> None:
    one, other = ('Invalid value: "{\\"a\\":1,\\"b\\":2}": bad', 'Invalid value: "{\\"b\\":2,\\"a\\":1}": bad')

    assert symbols([{"message": one}]) == symbols([{"message": other}])


def error(*causes: tuple[str, str], group: str = "") -> JSONObject:
    listed = [{"reason": "FieldValueInvalid", "field": field, "message": message} for field, message in causes]
    text = ", ".join(f"{field}: {message}" for field, message in causes)
    return {"kind": "Status", "message": f"x is invalid: [{text}]", "details": {"group": group, "causes": listed}}


def test_only_causes_of_the_same_field_are_compared_in_any_order() -> None:
    same = symbols([error(("a", "1"), ("a", "2"))]) == symbols([error(("a", "2"), ("a", "1"))])
    swapped = symbols([error(("a", "1"), ("b", "2"))]) == symbols([error(("b", "2"), ("a", "1"))])

    assert (same, swapped) == (True, False)


def test_causes_of_custom_resources_are_compared_completely_in_any_order() -> None:
    group = "x.example.com"
    one, other = error(("a", "1"), ("b", "2"), group=group), error(("b", "2"), ("a", "1"), group=group)

    assert symbols([one]) == symbols([other])
    assert symbols([one]) != symbols([error(("a", "1"), group=group)])


def test_the_version_of_a_list_is_not_compared_and_those_of_its_items_are() -> None:
    def listed(version: str, item: int) -> list[JSONObject]:
        body = {
            "kind": "ConfigMapList",
            "metadata": {"resourceVersion": version},
            "items": [stored("a", UIDS[0], item)],
        }
        return [stored("a", UIDS[0], 5), body]

    assert symbols(listed("9", 5)) == symbols(listed("5000", 5))
    assert symbols(listed("9", 5)) != symbols(listed("9", 7))
