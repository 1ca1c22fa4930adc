"""Versions of a definition: stored, served, deprecated, taken away; and what may be said of them in its status."""

from __future__ import annotations

import pytest

from dynkube.errors import Invalid
from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import CRDS, Cluster, definition, read_ended, version, widget

NAME = "widgets.example.com"


def _stored(cluster: Cluster) -> list[str]:
    stored: list[str] = cluster.get(CRDS, NAME)["status"]["storedVersions"]
    return stored


def _versions(*versions: JSONObject) -> JSONObject:
    return {"spec": {"versions": list(versions)}}


def test_a_version_goes_once_nothing_is_stored_in_it(cluster: Cluster) -> None:
    cluster.create(CRDS, definition(versions=[version("v1"), version("v2", storage=False)]))
    cluster.patch(CRDS, NAME, _versions(version("v1", storage=False), version("v2")))
    with pytest.raises(Invalid, match=r"status.storedVersions\[0\]: .* v1 was previously a storage version"):
        cluster.patch(CRDS, NAME, _versions(version("v2")))

    cluster.patch(CRDS, NAME, {"status": {"storedVersions": ["v2"]}}, subresource="status")
    cluster.patch(CRDS, NAME, _versions(version("v2")))

    assert _stored(cluster) == ["v2"]
    assert not cluster.serves("widgets.v1.example.com")


def test_the_storage_version_comes_back_into_a_list_that_was_trimmed_too_far(cluster: Cluster) -> None:
    cluster.create(CRDS, definition(versions=[version("v1"), version("v2", storage=False)]))

    cluster.patch(CRDS, NAME, {"status": {"storedVersions": ["v2"]}}, subresource="status")

    assert _stored(cluster) == ["v2"]
    cluster.patch(CRDS, NAME, {"metadata": {"labels": {"a": "b"}}})
    assert _stored(cluster) == ["v2", "v1"]


def test_an_empty_list_of_stored_versions_means_the_one_that_stores(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())

    cluster.patch(CRDS, NAME, {"status": {"storedVersions": []}}, subresource="status")

    assert _stored(cluster) == ["v1"]


def test_stored_versions_that_do_not_exist_are_refused_by_the_next_write(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())

    cluster.patch(CRDS, NAME, {"status": {"storedVersions": ["v7"]}}, subresource="status")

    with pytest.raises(Invalid, match=r'storedVersions\[0\]: Invalid value: "v7": missing from spec.versions'):
        cluster.patch(CRDS, NAME, {"metadata": {"labels": {"a": "b"}}})


def test_the_status_takes_metadata_along_and_leaves_the_spec(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())

    patch = {"metadata": {"labels": {"a": "b"}}, "spec": {"scope": "Cluster"}}
    written = cluster.patch(CRDS, NAME, patch, subresource="status")

    assert written["metadata"]["labels"] == {"a": "b"}
    assert written["spec"]["scope"] == "Namespaced"
    assert written["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("patch", "cause"),
    [
        ({"scope": "Cluster"}, 'spec.scope: Invalid value: "Cluster": field is immutable'),
        ({"names": {"kind": "Gadget"}}, 'spec.names.kind: Invalid value: "Gadget": field is immutable'),
        ({"names": {"plural": "gadgets"}}, 'spec.names.plural: Invalid value: "gadgets": field is immutable'),
        ({"group": "other.com"}, 'spec.group: Invalid value: "other.com": field is immutable'),
    ],
)
def test_what_an_established_definition_is_about_does_not_change(
    cluster: Cluster, patch: JSONObject, cause: str
) -> None:
    cluster.create(CRDS, definition())

    with pytest.raises(Invalid) as caught:
        cluster.patch(CRDS, NAME, {"spec": patch})

    assert [f"{found.field}: {found.message}" for found in caught.value.causes] == [cause]


def test_scope_and_kind_may_change_before_a_definition_is_established() -> None:
    cluster = Cluster(establish_delay=5)
    cluster.create(CRDS, definition())

    names = {"kind": "Gadget", "listKind": None, "singular": None}
    changed = cluster.patch(CRDS, NAME, {"spec": {"scope": "Cluster", "names": names}})

    assert changed["spec"]["names"]["listKind"] == "GadgetList"
    assert changed["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("v1beta1", "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"),
        ("v2alpha1", "use something else"),
        ("v2", ""),
        ("v1", ""),
        ("v3", "example.com/v3 Widget is deprecated"),
    ],
)
def test_a_deprecated_version_names_a_better_one_if_there_is_one(cluster: Cluster, asked: str, words: str) -> None:
    versions = [
        version("v1"),
        version("v1beta1", storage=False, deprecated=True),
        version("v2alpha1", storage=False, deprecated=True, deprecationWarning="use something else"),
        version("v2", storage=False, served=asked == "v2"),
        version("v3", storage=False, deprecated=True),
    ]

    cluster.create(CRDS, definition(versions=versions))

    assert cluster.kind(f"widgets.{asked}.example.com").warning == words


async def test_an_edit_of_the_schema_holds_for_the_next_request_and_ends_the_watches(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())
    stream = cluster.watch("widgets")

    spec = {"type": "object", "properties": {"size": {"type": "integer", "maximum": 3}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    cluster.patch(CRDS, NAME, _versions(version(schema=schema)))

    assert await read_ended(stream) == []
    with pytest.raises(Invalid, match=r"spec.size: Invalid value: 4: spec.size in body should be less than"):
        cluster.create("widgets", widget(spec={"size": 4}))
