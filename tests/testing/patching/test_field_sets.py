"""The field sets in ``managedFields``, and an engine that does not record them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.builtin import builtin_kinds
from dynkube_testing._patching.comparing import changes
from dynkube_testing._patching.contents import MISSING, all_fields_v1, fields_of, value_at
from dynkube_testing._patching.elements import Path
from dynkube_testing._patching.fieldset import from_fields_v1, says, to_fields_v1
from dynkube_testing._patching.shapes import shape_of
from tests.contract.objects import config
from tests.testing.engine.cluster import Cluster

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)


def keyed(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[JSONObject]]:
    """A list that is merged by ``name``; the names of its items are unique."""
    item = st.fixed_dictionaries({"name": st.sampled_from("abc")}, optional=fields)
    return st.lists(item, max_size=3, unique_by=lambda one: str(one["name"]))


PODS = shape_of(next(kind for kind in builtin_kinds() if kind.kind == "Pod"))
_CONTAINERS = keyed(image=st.text("i", max_size=1), args=_VALUES, env=keyed(value=st.text("v", max_size=1)))
_OBJECTS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"name": st.just("a")}, optional={"labels": st.dictionaries(st.just("l"), st.just("v"))}
        )
    },
    optional={"spec": st.fixed_dictionaries({"containers": _CONTAINERS}, optional={"other": _VALUES}), "data": _VALUES},
)


@given(_OBJECTS)
def test_field_sets_survive_a_round_trip_through_fields_v1(obj: JSONObject) -> None:
    fields, _ = changes({}, obj, PODS)

    assert from_fields_v1(to_fields_v1(fields)) == fields
    assert from_fields_v1(all_fields_v1(obj, PODS)) == fields


@given(_OBJECTS)
def test_every_field_of_an_object_is_found(obj: JSONObject) -> None:
    shape = PODS
    for path in fields_of(obj, shape):
        assert value_at(obj, path, shape) is not MISSING


def places(obj: JSONObject) -> frozenset[Path]:
    """Return the paths of all fields and items of an object, including containers."""
    return changes({}, obj, PODS)[0] - ALWAYS_THERE


KEYED = {"f:containers", "f:env"}
ALWAYS_THERE = {("f:metadata",), ("f:spec",), ("f:spec", "f:containers")}


@given(_OBJECTS, _OBJECTS)
def test_changes_equal_a_comparison_of_every_field(old: JSONObject, new: JSONObject) -> None:
    before, after = places(old), places(new)

    written, gone = changes(old, new, PODS)

    changed = {
        path
        for path in before & after
        if (was := value_at(old, path, PODS)) != (now := value_at(new, path, PODS))
        and not (isinstance(was, dict) and isinstance(now, dict))
        and not (None in (was, now) and isinstance(was or now, dict) and (was or now))
        and not (isinstance(was, list) and isinstance(now, list) and path[-1] in KEYED)
    }
    assert written - ALWAYS_THERE == (after - before) | changed
    assert gone - ALWAYS_THERE == before - after


@given(_OBJECTS)
def test_membership_in_encoded_field_sets_can_be_tested_without_decoding(obj: JSONObject) -> None:
    fields = fields_of(obj, PODS)
    prefixes = {path[:length] for path in fields for length in range(1, len(path))}

    assert all(says(to_fields_v1(fields), path) == (path in fields) for path in fields | prefixes)


def test_without_managed_fields_the_entries_of_applies_are_kept() -> None:
    cluster = Cluster(managed_fields=False)
    applied = cluster.apply("configmaps", config(), "me")
    changed = {**applied, "data": {"k": "w"}, "metadata": {**applied["metadata"]}}
    del changed["metadata"]["managedFields"]

    assert cluster.update("configmaps", changed)["metadata"]["managedFields"] == applied["metadata"]["managedFields"]
