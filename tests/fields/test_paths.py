"""Paths: construction, comparison, and lookup in an object."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given

from dynkube import FieldPath, Unstructured
from dynkube.errors import InvalidInput
from dynkube.fields import Field, ItemIndex, ItemKey, ItemValue
from dynkube.meta import MISSING
from tests.fields.strategies import paths

POD = {
    "metadata": {"labels": {"app.kubernetes.io/name": "shop"}, "finalizers": ["a", "b"], "generateName": None},
    "spec": {
        "containers": [
            {
                "name": "side",
                "image": "side:1",
                "ports": [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}],
            },
            {"name": "web", "image": "web:1", "args": ["--verbose", "--port=80"]},
        ],
        "tolerations": [{"key": "a"}],
    },
}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (".metadata.labels['app.kubernetes.io/name']", "shop"),
        (".metadata.finalizers[='b']", "b"),
        (".metadata.generateName", None),
        (".spec.containers[name=web].image", "web:1"),
        (".spec.containers[name=web]", POD["spec"]["containers"][1]),  # type: ignore[index]  # a plain dict
        (".spec.containers[1].args[0]", "--verbose"),
        (".spec.containers[name=side].ports[containerPort=53,protocol=UDP]", {"containerPort": 53, "protocol": "UDP"}),
        (".", POD),
    ],
)
def test_a_path_finds_the_value_at_it(text: str, found: Any) -> None:
    assert FieldPath.parse(text).find(Unstructured(POD)) == found


def test_an_item_that_omits_a_key_with_a_default_is_found() -> None:
    path = FieldPath.parse(".spec.containers[name=side].ports[containerPort=53,protocol=TCP].containerPort")

    assert path.find(POD) == 53


@pytest.mark.parametrize(
    "text",
    [
        ".spec.nothing",
        ".metadata.labels.app",
        ".metadata.generateName.below",
        ".metadata.finalizers[='c']",
        ".metadata.finalizers[name=a]",
        ".spec.containers[name=db].image",
        ".spec.containers[9]",
        ".spec.containers.name",
        ".spec.tolerations[effect=NoSchedule]",
        ".metadata[0]",
        ".metadata.labels[=shop]",
    ],
)
def test_a_path_without_a_value_is_missing(text: str) -> None:
    assert FieldPath.parse(text).find(POD) is MISSING


def test_numbers_strings_and_booleans_are_distinct() -> None:
    items = [{"id": True}, {"id": "1"}, {"id": 1.0, "is": "a number"}]

    assert FieldPath([ItemKey({"id": 1})]).find(items) == items[2]  # type: ignore[arg-type]  # a list as a document
    assert ItemKey({"id": 1}) != ItemKey({"id": True})
    assert ItemValue(1) == ItemValue(1.0)


def test_a_path_can_be_built_step_by_step() -> None:
    path = FieldPath() / "spec" / "containers" / {"name": "web"} / "args" / 0

    assert path == FieldPath.parse(".spec.containers[name=web].args[0]")
    assert path.parent / ItemIndex(0) == path
    assert path.steps == (Field("spec"), Field("containers"), ItemKey({"name": "web"}), Field("args"), ItemIndex(0))


def test_steps_can_be_matched_by_patterns() -> None:
    match (FieldPath() / "a.b" / {"name": "web"}).steps:
        case (Field(name), ItemKey({"name": key})):
            assert (name, key) == ("a.b", "web")
        case other:
            pytest.fail(f"{other} is not the path built above")


def test_a_path_is_within_itself_and_its_parents() -> None:
    path = FieldPath.parse(".spec.template.spec")

    assert path.is_within(FieldPath())
    assert path.is_within(path)
    assert path.is_within(path.parent)
    assert not path.is_within(path / "containers")
    assert not path.is_within(FieldPath.parse(".spec.template.metadata"))


def test_paths_are_sorted_as_by_the_server() -> None:
    keys = [".a[id=1]", ".a[id=10]", '.a[id="1"]']
    values = [".a[=2]", '.a[="1"]', ".a[=true]", ".a[=[1]]", ".a[={}]", ".a[=null]"]
    wanted = [FieldPath.parse(text) for text in (".a", ".a.b", *keys, *values, ".a[0]", ".a[2]", ".b")]

    assert sorted([*wanted[5:], *wanted[:5]]) == wanted


@given(paths)
def test_a_path_can_be_copied_and_pickled(path: FieldPath) -> None:
    assert pickle.loads(pickle.dumps(path)) == path == copy.deepcopy(path)
    assert hash(pickle.loads(pickle.dumps(path))) == hash(path)


@pytest.mark.parametrize("thing", [FieldPath.parse(".spec"), Field("spec"), ItemKey({"a": 1})])
def test_paths_and_steps_are_immutable(thing: Any) -> None:
    with pytest.raises(AttributeError, match="is immutable"):
        thing.steps = ()

    with pytest.raises(AttributeError, match="is immutable"):
        del thing.wire


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (FieldPath, ".spec", r"FieldPath.parse\('.spec'\)"),
        (FieldPath, ["spec"], "a step must be a Field, ItemKey, ItemValue or ItemIndex, not 'spec'"),
        (FieldPath.parse, 7, "a path must be a string like '.spec.replicas' or a FieldPath, not 7"),
        (Field, 7, "a field name must be a string, not 7"),
        (Field, "a\ud800", "lone surrogate at offset 1"),
        (ItemKey, {}, "at least one key field"),
        (ItemKey, "name", "at least one key field"),
        (ItemKey, {7: "a"}, "a field name must be a string, not 7"),
        (ItemValue, float("nan"), "nan is not valid JSON"),
        (ItemValue, {"a": object()}, "is not valid JSON"),
        (ItemIndex, -1, "an integer >= 0, not -1"),
        (ItemIndex, True, "an integer >= 0, not True"),
    ],
)
def test_invalid_paths_and_steps_are_rejected(make: Any, given: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make(given)
