"""``compare``: the differences between two objects, with list items matched, and without fields set by the server."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import MISSING, Unstructured, compare
from dynkube.errors import InvalidInput, InvalidObject
from dynkube.fields import FieldPath


def pod(spec: Any = None, *, kind: str = "Pod", **fields: Any) -> Unstructured:
    metadata = {"name": "web", "namespace": "shop", **fields.pop("metadata", {})}
    return Unstructured({"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec or {}, **fields})


def changes(before: Any, after: Any) -> list[str]:
    return list(map(str, compare(before, after).changes))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]},
            {"containers": [{"name": "b", "image": "b:2"}, {"name": "a", "image": "a:1"}]},
            ['.spec.containers[name="b"].image: "b:1" -> "b:2"'],
        ),
        (
            {"ports": [{"port": 80, "protocol": "TCP"}, {"port": 80, "protocol": "UDP", "nodePort": 1}]},
            {"ports": [{"port": 80, "protocol": "UDP", "nodePort": 2}]},
            [
                '.spec.ports[port=80,protocol="TCP"]: {"port": 80, "protocol": "TCP"} -> ',
                '.spec.ports[port=80,protocol="UDP"].nodePort: 1 -> 2',
            ],
        ),
        ({"env": []}, {"env": [{"name": "A", "value": "1"}]}, ['.spec.env[name="A"]:  -> {"name": "A", "value": "1"}']),
        ({"args": ["a", "b"]}, {"args": ["a"]}, ['.spec.args: ["a", "b"] -> ["a"]']),
        ({"args": ["a", "b"]}, {"args": ["a", "c"]}, ['.spec.args[1]: "b" -> "c"']),
        (
            {"env": [{"name": "A"}, {"name": "A", "value": "1"}]},
            {"env": [{"name": "A"}]},
            ['.spec.env: [{"name": "A"}, {"name": "A", "value": "1"}] -> [{"name": "A"}]'],
        ),
        ({"a": True}, {"a": 1}, [".spec.a: true -> 1"]),
        ({"a": {"b": 1}}, {}, [".spec.a.b: 1 -> "]),
    ],
)
def test_list_items_are_matched_by_heuristics_without_managed_fields(before: Any, after: Any, expected: Any) -> None:
    assert changes(pod(before), pod(after)) == expected


def test_managed_fields_give_the_list_keys_and_the_owners_of_differences() -> None:
    fields: dict[str, Any] = {"f:spec": {"f:rules": {'k:{"host":"a"}': {".": {}, "f:path": {}, "f:host": {}}}}}
    entry = {"manager": "ci", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
    before = pod({"rules": [{"host": "a", "path": "/"}, {"host": "b"}]})
    after = pod({"rules": [{"host": "b"}, {"host": "a", "path": "/x"}]}, metadata={"managedFields": [entry]})

    (change,) = compare(before, after).changes

    assert str(change) == '.spec.rules[host="a"].path: "/" -> "/x"'
    assert [manager.name for manager in change.managers] == ["ci"]


def test_fields_set_by_the_server_are_left_out() -> None:
    noise = {"resourceVersion": "1", "generation": 1, "uid": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}
    later = {"resourceVersion": "2", "generation": 2, "uid": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}

    assert not compare(pod(metadata=noise), pod(metadata=later))


def test_another_object_with_the_same_name_is_a_difference() -> None:
    assert changes(pod(metadata={"uid": "a"}), pod(metadata={"uid": "b"})) == ['.metadata.uid: "a" -> "b"']


@pytest.mark.parametrize(("before", "after"), [("Secret", "ConfigMap"), ("ConfigMap", "Secret")])
def test_values_of_a_secret_are_hidden_even_if_the_other_object_is_not_a_secret(before: str, after: str) -> None:
    diff = compare(pod(kind=before, data={"a": "b25l"}), pod(kind=after, data={"a": "b25l"}))

    assert "b25l" not in f"{diff}{diff._repr_html_()}{diff.before}{diff.after}"


def test_values_of_secrets_are_hidden() -> None:
    diff = compare(pod(kind="Secret", data={"a": "b25l"}), pod(kind="Secret", data={"a": "dHdv"}))

    assert str(diff.changes[0]) == '.data.a: "*** (before)" -> "*** (after)"'
    assert not any(word in f"{diff}{diff._repr_html_()}{diff.before}" for word in ("b25l", "dHdv"))


def test_one_side_may_be_none() -> None:
    gone = compare(pod({"a": 1}), None, names=("was", "is"))

    assert gone.after is None
    assert {change.after for change in gone.changes} == {MISSING}
    assert str(gone).startswith("--- was Pod shop/web\n+++ is Pod shop/web\n")
    assert compare(None, {"kind": "Pod", "metadata": {"name": "a"}}).subject == "Pod a"


@pytest.mark.parametrize(
    ("before", "after", "kind", "message"),
    [
        (None, None, InvalidInput, "both None"),
        ("pod", None, InvalidInput, "before is a str"),
        ({}, [{}], InvalidInput, "after is a list"),
        ({"kind": 7}, None, InvalidObject, "not a Kubernetes object"),
        ({}, {"metadata": {"managedFields": [7]}}, InvalidObject, "managedFields"),
    ],
)
def test_an_invalid_object_is_rejected(before: Any, after: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        compare(before, after)


@pytest.mark.parametrize(
    ("before", "after", "ignore", "left"),
    [
        ({"replicas": 1, "paused": True}, {"replicas": 2}, ["spec.replicas"], [".spec.paused: true -> "]),
        ({"a": {"b": {"c": 1}}}, {}, [".spec.a.b.c"], []),
        ({"a": {"b": 1}}, {"a": {}}, [".spec.a.b"], []),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, [".spec.a.b"], [".spec.a.c:  -> 2"]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": 4}}, [".spec.a"], []),
        ({"a": [{"name": "x", "v": 1}, {"name": "y"}]}, {"a": [{"name": "y"}]}, ['.spec.a[name="x"]'], []),
        ({"a": ["p", "q", "r"]}, {"a": ["p", "x", "y"]}, [".spec.a[1]", ".spec.a[2]"], []),
        ({"a": ["p", "q"]}, {"a": ["q"]}, ['.spec.a[="p"]'], []),
        ({"a": 1}, {"a": 2}, [".spec.b", ".spec.a.c", ".status"], [".spec.a: 1 -> 2"]),
    ],
)
def test_ignored_fields_are_left_out(before: Any, after: Any, ignore: list[str], left: list[str]) -> None:
    first, second = pod(before), pod(after)
    found = compare(first, second, ignore=ignore)

    assert (list(map(str, found.changes)), bool(str(found))) == (left, bool(left))
    assert (first, second) == (pod(before), pod(after))


def test_objects_of_two_clusters_are_compared_without_what_identifies_them() -> None:
    one, other = (pod(metadata={"uid": uid, "creationTimestamp": uid}) for uid in ("1", "2"))

    assert [str(each.path) for each in compare(one, other).changes] == [".metadata.uid", ".metadata.creationTimestamp"]
    assert not compare(one, other, ignore=[FieldPath.parse(".metadata.uid"), ".metadata.creationTimestamp"])


@pytest.mark.parametrize(
    ("ignore", "error"),
    [
        (".spec", "ignore is '.spec': pass a list of paths"),
        ([""], "ignore has the path of the whole object|path is empty"),
        ([".a["], "invalid path"),
        ([FieldPath()], "ignore has the path of the whole object"),
    ],
)
def test_paths_to_ignore_are_checked(ignore: Any, error: str) -> None:
    with pytest.raises(InvalidInput, match=error):
        compare(pod(), pod(), ignore=ignore)
