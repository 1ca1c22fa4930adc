"""Sets of fields, and FieldsV1, their encoding."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from dynkube import FieldPath, FieldSet
from dynkube.errors import InvalidInput, InvalidObject
from dynkube.fields import ItemValue
from tests.fields.strategies import field_sets, paths

# In kube-apiserver's format and order.
WRITTEN = {
    "f:metadata": {
        "f:finalizers": {".": {}, r'v:"\u003cb\u003e \u0026 c"': {}, 'v:"a"': {}},
        "f:labels": {"f:app.kubernetes.io/name": {}},
    },
    "f:spec": {
        "f:containers": {
            'k:{"name":"web"}': {
                ".": {},
                "f:image": {},
                "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
            }
        },
        "f:numbers": {"v:1e-7": {}, "v:0.00001": {}, "v:1.5": {}, "v:10": {}},
        "f:selector": {},
    },
}


def test_fields_v1_survives_a_round_trip() -> None:
    fields = FieldSet.from_fields_v1(WRITTEN)

    assert fields.to_fields_v1() == WRITTEN
    assert [str(path) for path in fields.within(".spec.containers")] == [
        '.spec.containers[name="web"]',
        '.spec.containers[name="web"].image',
        '.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"]',
        '.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"].containerPort',
    ]


def in_order(node: dict[str, Any]) -> list[Any]:
    return [(key, in_order(below)) for key, below in node.items()]


def test_fields_are_encoded_in_the_servers_order() -> None:
    fields = FieldSet(reversed(list(FieldSet.from_fields_v1(WRITTEN))))

    assert in_order(fields.to_fields_v1()) == in_order(WRITTEN)


@given(field_sets)
def test_any_set_survives_a_round_trip_through_fields_v1(fields: FieldSet) -> None:
    written = fields.to_fields_v1()

    assert FieldSet.from_fields_v1(written) == fields
    assert in_order(FieldSet.from_fields_v1(written).to_fields_v1()) == in_order(written)


@given(field_sets, field_sets, paths)
def test_field_sets_have_the_operations_of_sets(one: FieldSet, other: FieldSet, path: FieldPath) -> None:
    mine, theirs = set(one), set(other)

    assert set(one | other) == mine | theirs
    assert set(one & other) == mine & theirs
    assert set(one - other) == mine - theirs
    assert set(one ^ other) == mine ^ theirs
    assert (one <= other) == (mine <= theirs)
    assert (path in one) == (path in mine)
    assert hash(one | other) == hash(other | one)
    assert list(one) == sorted(mine)


@given(field_sets)
def test_leaves_are_exactly_the_fields_without_children(fields: FieldSet) -> None:
    leaves = fields.leaves()

    assert all(fields.within(path) == FieldSet([path]) for path in leaves)
    assert all(len(fields.within(path)) > 1 for path in fields - leaves)


@given(field_sets, paths)
def test_within_and_without_partition_a_set(fields: FieldSet, path: FieldPath) -> None:
    for chosen in (path, *fields):
        assert fields.within(chosen) | fields.without(chosen) == fields
        assert not fields.within(chosen) & fields.without(chosen)
        assert not fields.without(chosen).within(chosen)


def test_paths_may_be_given_as_strings() -> None:
    fields = FieldSet([".spec.replicas", ".spec.paused", "metadata.labels.app"])

    assert ".spec.replicas" in fields
    assert ".spec" not in fields
    assert list(map(str, fields - {".spec.paused"})) == [".metadata.labels.app", ".spec.replicas"]
    assert not {".spec.paused"} - fields
    assert fields & {".spec.paused"} == FieldSet([".spec.paused"])
    assert str(fields.without(".metadata", ".spec.paused")) == ".spec.replicas"
    assert eval(repr(fields)) == fields


def test_string_values_that_go_escapes_are_found_in_sets() -> None:
    fields = FieldSet.from_fields_v1(WRITTEN)

    assert FieldPath.parse(".metadata.finalizers") / ItemValue("<b> & c") in fields
    assert FieldSet.from_fields_v1({"f:a": {'v:"<"': {}}}).to_fields_v1() == {"f:a": {r'v:"\u003c"': {}}}


@pytest.mark.parametrize(
    ("encoded", "message"),
    [
        ({"spec": {}}, "'spec': expected a prefix"),
        ({"f:spec": {"x:a": {}}}, "'x:a': expected a prefix"),
        ({"f:a": {'k:{"name"}': {}}}, "invalid key"),
        ({"f:a": {"k:[]": {}}}, "invalid key"),
        ({"f:a": {"k:{}": {}}}, "invalid key"),
        ({"f:a": {"v:": {}}}, "invalid key"),
        ({"f:a": {"i:one": {}}}, "invalid key"),
        ({"f:a": {"i:-1": {}}}, "invalid key"),
        ({"f:a": {"v:" + "[" * 5000 + "]" * 5000: {}}}, "invalid key"),
        ({"f:spec": {"f:a": 7}}, "has 7 at .spec.a, expected an object"),
        ({"f:spec": []}, r"has \[\] at .spec, expected an object"),
        ([], r"has \[\] at ., expected an object"),
    ],
)
def test_invalid_fields_v1_is_rejected(encoded: Any, message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        FieldSet.from_fields_v1(encoded)


def test_deeply_nested_fields_can_be_decoded_and_printed() -> None:
    encoded: dict[str, Any] = {}
    for _ in range(2000):
        encoded = {"f:a": encoded}

    (path,) = FieldSet.from_fields_v1(encoded)

    assert len(path) == 2000
    assert len(str(path)) == 4000


def test_a_single_string_is_rejected() -> None:
    with pytest.raises(InvalidInput, match=r"use FieldSet\(\['.spec'\]\)"):
        FieldSet(".spec")


def test_the_path_of_the_whole_object_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="the whole object"):
        FieldSet(["."])
