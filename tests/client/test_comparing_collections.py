"""``compare_all``: the differences between two collections of objects, matched by kind, namespace and name."""

from __future__ import annotations

from typing import Any

import pytest

import dynkube
from dynkube import Comparison, Unstructured, compare_all
from dynkube.errors import InvalidInput, InvalidObject
from dynkube_testing import APIServer

NAMES = ("staging", "production")


def config(name: str, value: str = "1", *, namespace: str = "shop", uid: str = "", kind: str = "ConfigMap") -> Any:
    metadata = {"name": name, "namespace": namespace, **({"uid": uid, "creationTimestamp": uid} if uid else {})}
    return Unstructured({"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": {"a": value, "b": value}})


def subjects(diffs: Any) -> list[str]:
    return [diff.subject for diff in diffs]


def test_objects_that_differ_and_those_of_one_collection_are_found() -> None:
    before = [config("same", uid="1"), config("web"), config("old"), config("web", kind="Secret")]
    after = [config("new"), config("web", "2"), config("same", uid="2"), config("web", kind="Secret")]

    found = compare_all(before, after, names=NAMES)

    assert subjects(found) == ["ConfigMap shop/new", "ConfigMap shop/old", "ConfigMap shop/web"]
    assert [subjects(some) for some in (found.added, found.removed, found.changed)] == [
        [each] for each in subjects(found)
    ]
    assert (found.same, len(found), bool(found)) == (2, 3, True)
    assert str(found).splitlines() == [
        "OBJECT              DIFFERENCE",
        "ConfigMap shop/new  only in production",
        "ConfigMap shop/old  only in staging",
        "ConfigMap shop/web  .data.a, .data.b",
        "1 differ, 2 do not, 1 only in staging, 1 only in production",
    ]
    assert repr(found).startswith("<Comparison of staging and production: 1 differ")


def test_nothing_differs_between_equal_and_between_empty_collections() -> None:
    for objects in ([], [config("a"), config("b")]):
        found = compare_all(objects, objects)
        assert (list(found), bool(found), str(found)) == ([], False, f"0 differ, {len(objects)} do not")


def test_objects_are_matched_by_group_and_not_by_version() -> None:
    old = Unstructured({"apiVersion": "x/v1", "kind": "A", "metadata": {"name": "a"}})
    new = Unstructured({"apiVersion": "x/v2", "kind": "A", "metadata": {"name": "a"}})
    other = Unstructured({"apiVersion": "y/v1", "kind": "A", "metadata": {"name": "a"}})

    assert [str(change.path) for diff in compare_all([old], [new]) for change in diff.changes] == [".apiVersion"]
    assert len(compare_all([old], [other])) == 2


def test_two_namespaces_are_compared_without_their_names() -> None:
    before, after = [config("a"), config("b")], [config("a", namespace="test"), config("b", "2", namespace="test")]

    found = compare_all(before, after, across_namespaces=True)

    assert [str(change.path) for diff in found for change in diff.changes] == [".data.a", ".data.b"]
    assert found.same == 1


def test_fields_can_be_left_out() -> None:
    found = compare_all([config("a", "1")], [config("a", "2")], ignore=[".data.a"])

    assert [str(change.path) for diff in found for change in diff.changes] == [".data.b"]
    assert not compare_all([config("a", "1")], [config("a", "2")], ignore=[".data"])


@pytest.mark.parametrize(
    ("before", "options", "message"),
    [
        (config("a"), {}, "before is a Unstructured: pass a list of objects"),
        ("deploy", {}, "before is a str: pass a list of objects"),
        (5, {}, "before is a int: pass a list of objects"),
        ([config("a"), "b"], {}, r"before\[1\] is a str: pass objects"),
        ([{"kind": "A"}], {}, r"before\[0\] has no kind or no name: pass complete objects"),
        ([config("a"), config("a")], {}, "before has two objects ConfigMap a: select one of them"),
        (
            [config("a"), config("a", namespace="x")],
            {"across_namespaces": True},
            "before has two objects ConfigMap a in namespaces shop and x: select one of them",
        ),
        ([config("a")], {"ignore": ["."]}, "ignore has the path of the whole object"),
        ([], {"ignore": ".status"}, "ignore is '.status': pass a list of paths"),
        ([], {"names": ("a",)}, r"names is \('a',\): pass a pair of strings"),
    ],
)
def test_bad_input_is_named(before: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        compare_all(before, [], **options)


def test_an_object_that_cannot_be_parsed_is_an_error() -> None:
    with pytest.raises(InvalidObject):
        compare_all([Unstructured(b'{"kind":"A","metadata":{"name":"a"},"spec":[}')], [])


async def test_lists_and_informers_of_two_clusters_are_compared() -> None:
    async with APIServer() as one, APIServer() as other:
        for server, value in ((one, "1"), (other, "2")):
            server.create(config("web", value, namespace="default").to_dict())
        async with (
            dynkube.connect(transport=one.transport()) as east,
            dynkube.connect(transport=other.transport()) as west,
            west.informer("configmaps.v1") as configs,
        ):
            await configs.wait_synced()
            found = compare_all(await east.get("configmaps"), configs, names=("east", "west"))

    assert isinstance(found, Comparison)
    assert [str(change) for diff in found for change in diff.changes] == ['.data.a: "1" -> "2"', '.data.b: "1" -> "2"']
