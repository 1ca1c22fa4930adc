"""The schemas of built-in types that the package contains, and their use by kinds."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from dynkube.meta import GVK
from dynkube_testing._kinds.builtin import builtin_kinds
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._kinds.schemas import BuiltinSchemas


def _kind(api_version: str, name: str) -> Kind:
    return next(kind for kind in builtin_kinds() if (kind.api_version, kind.kind) == (api_version, name))


def _field(schema: Any, path: str) -> Any:
    for name in path.split("."):
        schema = schema["items"] if name == "[]" else schema["properties"][name]
    return schema


@pytest.mark.parametrize("kind", builtin_kinds(), ids=lambda kind: f"{kind.api_version}-{kind.kind}")
def test_every_builtin_kind_has_a_schema_with_the_fields_of_an_object(kind: Kind) -> None:
    schema: Any = kind.schema

    assert {"apiVersion", "kind", "metadata"} <= schema["properties"].keys()


@pytest.mark.parametrize(
    ("field", "keyword", "value"),
    [
        ("spec.containers", "x-kubernetes-list-map-keys", ["name"]),
        ("spec.containers", "x-kubernetes-patch-merge-key", "name"),
        ("spec.containers.[].ports", "x-kubernetes-list-map-keys", ["containerPort", "protocol"]),
        ("spec.containers.[].ports", "x-kubernetes-patch-merge-key", "containerPort"),
        ("spec.containers.[].ports.[].protocol", "default", "TCP"),
        ("spec.volumes", "x-kubernetes-patch-strategy", "merge,retainKeys"),
        ("spec.nodeSelector", "x-kubernetes-map-type", "atomic"),
        ("metadata.finalizers", "x-kubernetes-list-type", "set"),
        ("spec.containers.[].livenessProbe.httpGet.port", "x-kubernetes-int-or-string", True),
        ("spec.terminationGracePeriodSeconds", "format", "int64"),
        ("metadata.creationTimestamp", "format", "date-time"),
    ],
)
def test_the_schema_of_pods_has_the_keywords_of_the_published_document(field: str, keyword: str, value: object) -> None:
    pod = _kind("v1", "Pod").schema

    assert _field(pod, field)[keyword] == value


def test_quantities_have_the_format_quantity() -> None:
    requests = _field(_kind("v1", "Pod").schema, "spec.containers.[].resources.requests")

    assert requests["additionalProperties"]["format"] == "quantity"


def test_all_references_to_a_type_are_the_same_dict() -> None:
    deployment = _kind("apps/v1", "Deployment").schema
    job = _kind("batch/v1", "Job").schema

    assert _field(deployment, "spec.template") is _field(job, "spec.template")
    assert _kind("apps/v1", "Deployment").schema is deployment


def test_a_recursive_type_is_a_cycle_of_dicts() -> None:
    schema = _field(_kind("apiextensions.k8s.io/v1", "CustomResourceDefinition").schema, "spec.versions.[].schema")

    props = _field(schema, "openAPIV3Schema")

    assert _field(props, "not") is props
    assert _field(props, "properties")["additionalProperties"] is props


def test_fields_of_any_type_preserve_unknown_fields() -> None:
    review = _kind("apps/v1", "ControllerRevision").schema

    assert _field(review, "data")["x-kubernetes-preserve-unknown-fields"] is True


def test_empty_defaults_are_left_out() -> None:
    containers = _field(_kind("v1", "Pod").schema, "spec.containers")

    assert "default" not in containers["items"]


def test_definitions_are_available_by_name_with_unresolved_references() -> None:
    schemas = BuiltinSchemas()

    name = schemas.name_of(GVK("", "v1", "Pod"))

    assert name == "io.k8s.api.core.v1.Pod"
    assert schemas.definitions[name]["properties"]["spec"] == {
        "allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}],
        "default": {},
    }
    assert schemas.name_of(GVK("", "v1", "PodList")) == "io.k8s.api.core.v1.PodList"
    assert schemas.name_of(GVK("example.com", "v1", "Widget")) is None
    assert schemas.release.startswith("1.")


def test_schemas_contain_no_descriptions() -> None:
    def keywords(schema: Any) -> set[str]:
        parts = [*schema.get("properties", {}).values(), *schema.get("allOf", ())]
        parts += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
        return set(schema).union(*map(keywords, parts))

    found = set().union(*map(keywords, BuiltinSchemas().definitions.values()))

    assert "properties" in found
    assert not found & {"description", "title", "example", "externalDocs"}


@pytest.mark.real_time
def test_creating_a_server_does_not_read_the_schemas() -> None:
    script = (
        "import dynkube_testing; dynkube_testing.APIServer()\n"
        "from dynkube_testing._kinds.schemas import builtin_schemas\n"
        "assert '_file' not in vars(builtin_schemas())"
    )

    subprocess.run([sys.executable, "-c", script], check=True)
