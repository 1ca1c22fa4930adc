"""Lists: selectors, chunks of one snapshot, and every rule about resourceVersions."""

from __future__ import annotations

import pytest

from dynkube.errors import APIError, BadRequest, Gone, Invalid, ServerTimeout
from dynkube.testing._calls.refuse import ContinueExpired
from tests.testing.engine.cluster import CRDS, Cluster, config, definition, pod, version, widget

TOKEN = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiJhIn0"


@pytest.fixture
def five(cluster: Cluster) -> Cluster:
    for name in "edcba":
        cluster.create("configmaps", config(name, labels={"tier": "fe" if name in "ace" else "be"}))
    return cluster


def test_a_list_is_ordered_by_namespace_and_name_as_stored(cluster: Cluster) -> None:
    cluster.create("namespaces", {"metadata": {"name": "default-b"}})
    for namespace, name in (("default", "z"), ("default-b", "a"), ("default", "a-b"), ("default", "a")):
        cluster.create("configmaps", config(name), namespace=namespace)

    # Keys are compared as text, and '-' comes before '/': as in etcd, default-b/ is in front of default/.
    assert cluster.names("configmaps") == ["a", "a", "a-b", "z"]
    assert cluster.names("configmaps", namespace="default") == ["a", "a-b", "z"]


def test_items_carry_their_type_only_if_they_are_custom(five: Cluster) -> None:
    five.create(CRDS, definition())
    five.create("widgets", widget())

    listed = five.list_of("configmaps")
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert not {"kind", "apiVersion"} & set(listed["items"][0])
    assert five.list_of("widgets")["items"][0]["kind"] == "Widget"


@pytest.mark.parametrize(
    ("selectors", "names"),
    [
        ({"labelSelector": "tier=fe"}, ["a", "c", "e"]),
        ({"labelSelector": "tier notin (fe),!other"}, ["b", "d"]),
        ({"fieldSelector": "metadata.name=b"}, ["b"]),
        ({"fieldSelector": "metadata.namespace=default,metadata.name!=b"}, ["a", "c", "d", "e"]),
        ({"labelSelector": "tier=fe", "fieldSelector": "metadata.name==c"}, ["c"]),
        ({"labelSelector": " "}, ["a", "b", "c", "d", "e"]),
    ],
)
def test_selectors_select(five: Cluster, selectors: dict[str, str], names: list[str]) -> None:
    assert five.names("configmaps", **selectors) == names


def test_fields_can_be_selected_where_the_kind_says_so(cluster: Cluster) -> None:
    spec = {"type": "object", "properties": {"color": {"type": "string"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    selectable = [{"jsonPath": ".spec.color"}]
    cluster.create(CRDS, definition(versions=[version(schema=schema, selectableFields=selectable)]))
    for name, color in (("a", "red"), ("b", "blue")):
        cluster.create("widgets", widget(name, spec={"color": color}))
        cluster.create("pods", pod(name, nodeName=color, hostNetwork=color == "red"))

    assert cluster.names("widgets", fieldSelector="spec.color=red") == ["a"]
    assert cluster.names("pods", fieldSelector="spec.nodeName=blue,status.phase=Pending") == ["b"]
    assert cluster.names("pods", fieldSelector="spec.hostNetwork=true") == ["a"]


@pytest.mark.parametrize(
    ("resource", "params", "words"),
    [
        ("configmaps", {"labelSelector": "a=b="}, "found '=', expected: ',' or 'end"),
        ("configmaps", {"labelSelector": "a in b"}, "found 'b' expected: '\\('"),
        ("configmaps", {"labelSelector": "a in (b"}, "found '', expected: ',', or '\\)'"),
        ("configmaps", {"labelSelector": "-a=b"}, "name part must consist of alphanumeric"),
        ("configmaps", {"labelSelector": "a > b"}, "must be an integer"),
        ("configmaps", {"fieldSelector": "metadata.name"}, "can't understand 'metadata.name'"),
        ("configmaps", {"fieldSelector": "data.k=v"}, '"data.k" is not a known field selector: only "metadata.name"'),
        ("pods", {"fieldSelector": "spec.x=v"}, "field label not supported: spec.x"),
        ("nodes", {"fieldSelector": "metadata.namespace=v"}, "field label not supported: metadata.namespace"),
        ("pods", {"limit": "ten"}, 'strconv.ParseInt: parsing "ten": invalid syntax'),
        ("pods", {"resourceVersion": "x"}, 'parsing "x": invalid syntax'),
        ("pods", {"continue": "nonsense"}, "continue key is not valid"),
    ],
)
def test_parameters_that_do_not_parse_are_refused(
    cluster: Cluster, resource: str, params: dict[str, str], words: str
) -> None:
    with pytest.raises(BadRequest, match=words):
        cluster.list_of(resource, **params)


def test_chunks_are_of_one_snapshot_whatever_happens_between_them(five: Cluster) -> None:
    first = five.list_of("configmaps", limit="2")
    five.delete("configmaps", "c")
    five.create("configmaps", config("f"))
    five.patch("configmaps", "d", {"data": {"k": "changed"}})

    second = five.list_of("configmaps", limit="2", **{"continue": first["metadata"]["continue"]})
    third = five.list_of("configmaps", limit="2", **{"continue": second["metadata"]["continue"]})

    chunks = [[item["metadata"]["name"] for item in chunk["items"]] for chunk in (first, second, third)]
    assert chunks == [["a", "b"], ["c", "d"], ["e"]]
    assert second["items"][1]["data"] == {"k": "v"}
    assert [chunk["metadata"].get("remainingItemCount") for chunk in (first, second, third)] == [3, 1, None]
    assert len({chunk["metadata"]["resourceVersion"] for chunk in (first, second, third)}) == 1
    assert "continue" not in third["metadata"]


def test_with_a_selector_the_rest_is_not_counted(five: Cluster) -> None:
    first = five.list_of("configmaps", limit="2", labelSelector="tier=fe")

    assert "remainingItemCount" not in first["metadata"]
    token = first["metadata"]["continue"]
    assert five.names("configmaps", limit="2", labelSelector="tier=fe", **{"continue": token}) == ["e"]


def test_an_expired_token_brings_one_that_continues_inconsistently(five: Cluster) -> None:
    token = five.list_of("configmaps", limit="2")["metadata"]["continue"]
    five.delete("configmaps", "c")
    five.engine.compact()

    with pytest.raises(Gone, match="too old to display a consistent list") as caught:
        five.list_of("configmaps", limit="9", **{"continue": token})
    assert isinstance(caught.value, ContinueExpired)
    assert caught.value.reason == "Expired"
    assert five.names("configmaps", limit="9", **{"continue": caught.value.continue_token}) == ["d", "e"]


def test_an_exact_version_shows_the_past(five: Cluster) -> None:
    past = five.list_of("configmaps")["metadata"]["resourceVersion"]
    five.delete("configmaps", "a")

    exact = five.list_of("configmaps", resourceVersion=past, resourceVersionMatch="Exact")

    assert len(exact["items"]) == 5
    assert exact["metadata"]["resourceVersion"] == past
    assert five.names("configmaps", resourceVersion=past, resourceVersionMatch="NotOlderThan") == ["b", "c", "d", "e"]
    assert five.names("configmaps", resourceVersion=past) == ["b", "c", "d", "e"]
    # Without a match a limit makes the version exact, for clients that are older than the parameter.
    assert five.names("configmaps", resourceVersion=past, limit="1") == ["a"]


def test_version_zero_takes_what_the_cache_has_and_the_cache_does_not_chunk(five: Cluster) -> None:
    assert len(five.names("configmaps", resourceVersion="0", limit="2")) == 5


def test_a_version_that_is_gone_or_still_to_come_is_told_as_such(five: Cluster) -> None:
    five.engine.compact()
    with pytest.raises(Gone, match=rf"too old resource version: 5 \({five.engine.revision}\)"):
        five.list_of("configmaps", resourceVersion="5", resourceVersionMatch="Exact")

    with pytest.raises(ServerTimeout) as caught:
        five.list_of("configmaps", resourceVersion="999")
    assert caught.value.reason == "Timeout"
    assert caught.value.causes[0].reason == "ResourceVersionTooLarge"
    assert caught.value.retry_after == 1


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"resourceVersionMatch": "Exact"}, Invalid, "is forbidden unless resourceVersion is provided"),
        ({"resourceVersion": "0", "resourceVersionMatch": "Exact"}, Invalid, '"exact" is forbidden for .* "0"'),
        ({"resourceVersion": "1", "resourceVersionMatch": "Newer"}, Invalid, 'Unsupported value: "Newer"'),
        ({"sendInitialEvents": "true"}, Invalid, "sendInitialEvents is forbidden for list"),
        ({"continue": TOKEN, "resourceVersion": "1"}, BadRequest, "not allowed when using continue"),
    ],
)
def test_parameters_that_contradict_each_other_are_refused(
    cluster: Cluster, params: dict[str, str], error: type[APIError], words: str
) -> None:
    with pytest.raises(error, match=words):
        cluster.list_of("configmaps", **params)
