"""``Unstructured``: keeps the bytes it was read from; its contents are read-only."""

from __future__ import annotations

import copy
import gc
import inspect
import json
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from dynkube.client import Applied, Change
from dynkube.errors import InvalidInput, InvalidObject
from dynkube.meta import REMOVE, Unstructured
from dynkube.meta._common import BodyCache
from dynkube.meta._wire.objects import ObjectDecoder

RAW = (
    b'{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"shop","uid":"u1",'
    b'"resourceVersion":"42","generation":3,"labels":{"app":"web"},"annotations":{"note":"x"}},'
    b'"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"c","image":"nginx"}]}},"ratio":1.50}}'
)


def deployment() -> Unstructured:
    return Unstructured(RAW)


def test_an_object_round_trips_byte_for_byte() -> None:
    assert deployment().json == RAW


def test_the_header_is_available_without_decoding_the_body() -> None:
    obj = Unstructured(b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"n":1e999}}')

    assert (obj.api_version, obj.kind, obj.name, obj.namespace, obj.key) == ("v1", "Pod", "a", "", ("", "a"))
    assert (obj.uid, obj.resource_version, obj.generation, obj.deletion_timestamp) == ("", "", 0, None)


def test_an_object_reads_like_a_dict() -> None:
    obj = deployment()

    assert obj["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx"
    assert obj.get("status") is None
    assert list(obj) == ["kind", "apiVersion", "metadata", "spec"]
    assert obj == json.loads(RAW)
    assert (dict(obj.labels), dict(obj.annotations)) == ({"app": "web"}, {"note": "x"})
    assert (obj != json.loads(RAW), obj != {}, obj != 1) == (False, True, True)


def test_an_object_matches_a_mapping_pattern() -> None:
    match deployment():
        case {"kind": "Deployment", "spec": {"replicas": count}}:
            assert count == 2
        case other:
            pytest.fail(f"{other!r} was not matched")


def test_a_big_integer_and_unicode_survive() -> None:
    obj = Unstructured({"metadata": {"name": "a"}, "n": 2**63 + 1, "s": "ü\u2028"})

    assert (obj["n"], obj["s"]) == (2**63 + 1, "ü\u2028")


@pytest.mark.parametrize(
    "change",
    [
        lambda o: o["spec"].update(replicas=3),
        lambda o: o["spec"].__setitem__("replicas", 3),
        lambda o: o["spec"].pop("replicas"),
        lambda o: o["spec"].setdefault("x", 1),
        lambda o: o["spec"].__ior__({"x": 1}),
        lambda o: o["spec"]["template"]["spec"]["containers"].append({}),
        lambda o: o["spec"]["template"]["spec"]["containers"].sort(),
        lambda o: o["spec"]["template"]["spec"]["containers"].__delitem__(0),
        lambda o: o["spec"]["template"]["spec"]["containers"].__iadd__([1]),
        lambda o: o.labels.__setitem__("a", "b"),
    ],
)
def test_contents_are_read_only(change: Any) -> None:
    obj = deployment()

    with pytest.raises((TypeError, AttributeError)):
        change(obj)

    assert obj == json.loads(RAW)


def replace_a_field(obj: Any) -> None:
    obj["spec"] = {}


def delete_a_field(obj: Any) -> None:
    del obj["spec"]


def change_a_nested_field(obj: Any) -> None:
    obj["spec"]["replicas"] = 3


@pytest.mark.parametrize("change", [replace_a_field, delete_a_field, change_a_nested_field])
def test_the_error_for_a_change_says_what_to_do_instead(change: Callable[[Any], None]) -> None:
    with pytest.raises(TypeError, match=r"to_dict\(\).*transform"):
        change(deployment())


def test_attribute_access_to_a_field_suggests_the_key() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'spec': access fields by key, obj\['spec'\]") as caught:
        deployment().spec  # type: ignore[attr-defined]  # noqa: B018  # invalid on purpose

    assert caught.value.name == "spec"
    assert not hasattr(deployment(), "_repr_latex_")


@pytest.mark.parametrize("method", ["update", "pop", "setdefault", "copy"])
def test_mutating_methods_suggest_a_copy(method: str) -> None:
    with pytest.raises(
        AttributeError, match=rf"no attribute '{method}': .*read-only.*modify a copy \(obj\.to_dict\(\)\)"
    ):
        getattr(deployment(), method)


def test_a_private_copy_may_be_changed() -> None:
    obj = deployment()

    document = obj.to_dict()
    document["spec"]["replicas"] = 9
    deep = copy.deepcopy(obj["spec"])
    deep["template"]["spec"]["containers"].append({})

    assert (obj["spec"]["replicas"], len(obj["spec"]["template"]["spec"]["containers"])) == (2, 1)


def test_parts_of_an_object_have_the_copy_methods_that_errors_recommend() -> None:
    spec = deployment()["spec"]
    containers = spec["template"]["spec"]["containers"]

    with pytest.raises(TypeError, match=r"modify a copy \(obj\.to_dict\(\)\)"):
        spec["replicas"] = 9
    with pytest.raises(TypeError, match=r"modify a copy \(list\.to_list\(\)\)"):
        containers.append({})
    changed, extended = spec.to_dict(), containers.to_list()
    changed["template"]["spec"]["containers"][0]["image"] = extended[0]["image"] = "web:9"

    assert (type(changed), type(extended)) == (dict, list)
    assert containers[0]["image"] == deployment()["spec"]["template"]["spec"]["containers"][0]["image"] != "web:9"


def test_transform_changes_fields_of_a_copy() -> None:
    obj = deployment()

    new = obj.transform(
        ["spec", "replicas"], 5,
        ["spec", "template", "spec", "containers", 0, "image"], lambda image: image + ":2",
        ["metadata", "labels", "app"], REMOVE,
        ["metadata", "annotations", "team"], "a",
        ["status", "phase"], "New",
    )  # fmt: skip

    assert new["spec"]["replicas"] == 5
    assert new["spec"]["template"]["spec"]["containers"] == [{"name": "c", "image": "nginx:2"}]
    assert (dict(new.labels), dict(new.annotations)) == ({}, {"note": "x", "team": "a"})
    assert new["status"] == {"phase": "New"}
    assert obj == json.loads(RAW)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["spec"],), "pairs"),
        (("spec.replicas", 3), "not a sequence of keys"),
        (([], 3), "not a sequence of keys"),
        ((["spec", "replicas", "x"], 3), "'x' requires a mapping, found an int"),
        ((["spec", 0], 3), "0 is a list index, but the value there is not a list"),
        ((["spec", "template", "spec", "containers", 4], 3), "index 4 is out of range for a list of 1"),
        ((["spec", None], 3), "neither a key nor a list index"),
    ],
)
def test_invalid_paths_are_rejected_by_transform(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        deployment().transform(*arguments)


def test_evolve_replaces_whole_fields() -> None:
    new = deployment().evolve(spec={"replicas": 1})

    assert new["spec"] == {"replicas": 1}
    assert new.name == "web"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"", "not a Kubernetes object"),
        (b"[]", "it is a list, expected a mapping$"),
        ("{", "not a Kubernetes object"),
        ({"metadata": {"labels": {"a": 1}}}, r"metadata.labels\[...\] is a number, expected a string: put it"),
        ({"metadata": {"name": 7}}, "metadata.name is a number, expected a string: put it in quotes"),
        ({"metadata": {"name": True}}, "metadata.name is a boolean, expected a string: put it in quotes"),
        ({"metadata": {"name": ["a"]}}, "metadata.name is a list, expected a string$"),
        ({"metadata": []}, "metadata is a list, expected a mapping$"),
        ({"spec": {1, 2}.__iter__()}, "cannot be written as JSON"),
        (7, "not an int"),
    ],
)
def test_the_error_for_an_invalid_object_names_the_field(source: Any, message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        Unstructured(source)


def test_equality_depends_on_content_not_on_bytes() -> None:
    spaced = Unstructured(json.dumps(json.loads(RAW), indent=1))

    assert spaced == deployment()
    assert hash(spaced) == hash(deployment())
    assert spaced.json != RAW
    assert deployment() != deployment().transform(["spec", "replicas"], 1)


def test_copies_and_pickles_are_equal() -> None:
    obj = deployment()

    assert copy.deepcopy(obj) is obj
    assert pickle.loads(pickle.dumps(obj)) == obj
    assert pickle.loads(pickle.dumps(obj["spec"])) == obj["spec"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (RAW, "<Deployment apps/v1 shop/web rv=42>"),
        ({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}}, "<Node v1 n>"),
        ({}, "<object ? (unnamed)>"),
    ],
)
def test_the_repr_is_short_and_has_no_content(source: Any, text: str) -> None:
    assert repr(Unstructured(source)) == text


def test_objects_cost_the_garbage_collector_nothing() -> None:
    decoded = ObjectDecoder(bodies=BodyCache()).decode(RAW)
    read = deployment()
    assert read["spec"]["replicas"] == decoded["spec"]["replicas"]

    assert not any(map(gc.is_tracked, [decoded, read, Applied(RAW, Change.CREATED)]))
    with pytest.raises(TypeError, match="weak reference"):
        weakref.ref(read)


def test_a_class_of_objects_has_the_signature_of_its_initializer() -> None:
    assert list(inspect.signature(Unstructured).parameters) == ["source"]
    assert list(inspect.signature(Applied).parameters) == ["source", "change"]
    with pytest.raises(TypeError, match="source"):
        Unstructured()  # type: ignore[call-arg]


def test_an_object_within_other_json_is_rejected_with_the_way_to_do_it() -> None:
    with pytest.raises(InvalidObject, match=r"it contains an Unstructured \(use its to_dict\(\)\)"):
        deployment().evolve(spec={"template": deployment()})


def test_the_number_of_cached_decoded_bodies_is_limited() -> None:
    decoder = ObjectDecoder(bodies=BodyCache(limit=2))
    objects = [decoder.decode(bytes(bytearray(RAW))) for _ in range(3)]  # each has its own bytes, as on the wire

    bodies = [obj["spec"] for obj in objects]

    assert objects[0]["spec"] is not bodies[0]
    assert objects[0]["spec"] == bodies[0]
    assert objects[2]["spec"] is bodies[2]
