"""Create: what the server sets, what it generates, what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import AlreadyExists, APIError, BadRequest, Invalid, NotFound
from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import CRDS, Cluster, config, definition, widget


def test_a_created_object_gets_its_identity_from_the_server(cluster: Cluster) -> None:
    created = cluster.create("configmaps", config(uid="mine", generation=9, creationTimestamp="1999-01-01T00:00:00Z"))

    metadata = created["metadata"]
    assert metadata["namespace"] == "default"
    assert metadata["creationTimestamp"] == "2026-01-02T03:04:05Z"
    assert len(metadata["uid"]) == 36
    assert int(metadata["resourceVersion"]) == cluster.engine.revision
    assert "generation" not in metadata
    assert cluster.get("configmaps", "a") == created


def test_each_write_takes_the_next_resource_version_whatever_it_writes(cluster: Cluster) -> None:
    first = cluster.create("configmaps", config())
    second = cluster.create("namespaces", {"metadata": {"name": "shop"}})

    versions = [int(obj["metadata"]["resourceVersion"]) for obj in (first, second)]
    assert versions[1] == versions[0] + 1


def test_a_generated_name_begins_with_its_base(cluster: Cluster) -> None:
    body = {"metadata": {"generateName": "job-"}}
    names = {cluster.create("configmaps", body)["metadata"]["name"] for _ in range(3)}

    assert len(names) == 3
    assert all(name.startswith("job-") and len(name) == 9 for name in names)


def test_a_taken_name_is_refused(cluster: Cluster) -> None:
    cluster.create("configmaps", config())

    with pytest.raises(AlreadyExists, match='configmaps "a" already exists') as caught:
        cluster.create("configmaps", config())
    assert (caught.value.status.kind, caught.value.status.name) == ("configmaps", "a")


def test_a_dry_run_answers_and_stores_nothing(cluster: Cluster) -> None:
    before = cluster.engine.revision
    answer = cluster.create("configmaps", config(), params={"dryRun": "All"})

    assert answer["metadata"]["uid"]
    assert "resourceVersion" not in answer["metadata"]
    assert cluster.engine.revision == before
    with pytest.raises(NotFound):
        cluster.get("configmaps", "a")


def test_built_in_objects_may_leave_out_their_type_and_custom_ones_may_not(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())

    assert cluster.create("configmaps", {"metadata": {"name": "a"}})["kind"] == "ConfigMap"
    with pytest.raises(BadRequest, match="Object 'Kind' is missing"):
        cluster.create("widgets", {"apiVersion": "example.com/v1", "metadata": {"name": "w"}})


def test_what_a_caller_passes_is_neither_changed_nor_kept(cluster: Cluster) -> None:
    body = config(labels={"a": "1"})
    cluster.create("configmaps", body)
    body["metadata"]["labels"]["a"] = body["data"]["k"] = "changed"

    assert body == {**config(labels={"a": "changed"}), "data": {"k": "changed"}}
    assert cluster.get("configmaps", "a")["data"] == {"k": "v"}


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        ([], BadRequest, "must be a JSON object"),
        ({**config(), "apiVersion": "v2"}, BadRequest, 'no kind "ConfigMap" is registered for version "v2"'),
        ({**config(), "kind": "Secret"}, BadRequest, "Secret in version .* cannot be handled as a ConfigMap"),
        ({"metadata": []}, BadRequest, "cannot unmarshal array into .* ConfigMap.metadata of type v1.ObjectMeta"),
        (
            {"metadata": {"name": 1}},
            BadRequest,
            "cannot unmarshal number into .* ObjectMeta.metadata.name of type string",
        ),
        (
            config(labels={"a": 1}),
            BadRequest,
            "cannot unmarshal number into .* ObjectMeta.metadata.labels of type string",
        ),
        (config(namespace="other"), BadRequest, "does not match the namespace sent on the request"),
        (config(resourceVersion="5"), APIError, "resourceVersion should not be set on objects to be created"),
        ({"metadata": {}}, Invalid, 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName'),
    ],
)
def test_a_body_that_is_no_such_object_is_refused(
    cluster: Cluster, body: Any, error: type[APIError], words: str
) -> None:
    with pytest.raises(error, match=words):
        cluster.create("configmaps", body)


@pytest.mark.parametrize(
    ("metadata", "field", "words"),
    [
        ({"name": "No_Good"}, "metadata.name", "lowercase RFC 1123 subdomain"),
        ({"name": "a" * 254}, "metadata.name", "no more than 253"),
        ({"labels": {"-a": "b"}}, "metadata.labels", "name part must consist of"),
        ({"labels": {"a": "b c"}}, "metadata.labels", "a valid label must be an empty string or"),
        ({"labels": {"/a": "b"}}, "metadata.labels", "prefix part must be non-empty"),
        ({"annotations": {"a b": "c"}}, "metadata.annotations", "name part must consist of"),
        ({"annotations": {"a": "x" * 300_000}}, "metadata.annotations", "Too long"),
        ({"finalizers": ["plain"]}, "metadata.finalizers[0]", "neither a standard finalizer name nor"),
        (
            {"ownerReferences": [{"kind": "A", "name": "b", "uid": "c"}]},
            "metadata.ownerReferences.apiVersion",
            "empty",
        ),
    ],
)
def test_bad_metadata_is_a_cause_with_its_field(cluster: Cluster, metadata: JSONObject, field: str, words: str) -> None:
    with pytest.raises(Invalid) as caught:
        cluster.create("configmaps", config(**{"name": "a", **metadata}))

    (cause,) = caught.value.causes
    assert cause.field == field
    assert words in cause.message


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"dryRun": "Some"}, 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        ({"fieldValidation": "Loose"}, 'fieldValidation: Unsupported value: "Loose"'),
        ({"fieldManager": "x" * 129}, "fieldManager: Too long"),
    ],
)
def test_unknown_options_are_refused(cluster: Cluster, params: dict[str, str], words: str) -> None:
    with pytest.raises(Invalid) as caught:
        cluster.create("configmaps", config(), params=params)

    assert words in caught.value.status.message
    assert caught.value.status.message.startswith('CreateOptions.meta.k8s.io "" is invalid')


def test_a_custom_object_starts_at_generation_one_and_without_status(cluster: Cluster) -> None:
    cluster.create(CRDS, definition())

    assert cluster.create("widgets", widget(spec={"a": 1}))["metadata"]["generation"] == 1


def test_a_name_whose_object_is_on_its_way_out_is_taken_still(cluster: Cluster) -> None:
    cluster.create("configmaps", config(finalizers=["example.com/wait"]))
    cluster.delete("configmaps", "a")

    with pytest.raises(AlreadyExists, match='object is being deleted: configmaps "a" already exists'):
        cluster.create("configmaps", config())
