"""The methods of an APIServer that make requests without a client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dynkube.errors import AlreadyExists, Conflict, InvalidInput, NoMatch, NotFound
from dynkube.meta import GVR
from dynkube_testing import APIServer


def configmap(name: str, **metadata: object) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": {"x": "1"}}


@pytest.fixture
def bare() -> APIServer:
    """A server that is not running; these methods do not need a running one."""
    return APIServer()


def test_objects_are_mappings_or_yaml(bare: APIServer) -> None:
    bare.create(configmap("a"))
    bare.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}")

    assert [item["metadata"]["name"] for item in bare.list("configmaps")] == ["a", "b"]


def test_a_namespaced_object_without_a_namespace_is_created_in_default(bare: APIServer) -> None:
    bare.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    stored = bare.create(configmap("a"))
    other = bare.create(configmap("a", namespace="shop"))

    assert (stored["metadata"]["namespace"], other["metadata"]["namespace"]) == ("default", "shop")
    assert bare.get("cm", "a")["metadata"]["uid"] == stored["metadata"]["uid"]
    assert bare.get("cm", "a", "shop")["metadata"]["uid"] == other["metadata"]["uid"]


def test_changing_a_returned_object_does_not_change_the_server(bare: APIServer) -> None:
    bare.create(configmap("a"))["data"]["x"] = "changed"
    bare.list("configmaps")[0]["data"]["x"] = "changed"

    assert bare.get("configmaps", "a")["data"] == {"x": "1"}


@pytest.mark.parametrize(
    "resource", ["configmaps", "configmap", "cm", "ConfigMap", "configmaps.v1", GVR("", "v1", "configmaps")]
)
def test_resources_are_named_as_kubectl_names_them(bare: APIServer, resource: str | GVR) -> None:
    assert str(bare.kind(resource).gvr) == "configmaps.v1"


def test_without_a_version_the_preferred_one_is_used(bare: APIServer) -> None:
    assert str(bare.kind("hpa").gvr) == "horizontalpodautoscalers.v2.autoscaling"
    assert str(bare.kind("hpa.v1.autoscaling").gvr) == "horizontalpodautoscalers.v1.autoscaling"


def test_lists_can_be_restricted_by_namespace_and_selectors(bare: APIServer) -> None:
    bare.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    bare.create(configmap("a", labels={"tier": "front"}))
    bare.create(configmap("b"))
    bare.create(configmap("c", namespace="shop"))

    def names(**options: Any) -> list[str]:
        return [item["metadata"]["name"] for item in bare.list("configmaps", **options)]

    assert names() == ["a", "b", "c"]
    assert names(namespace="shop") == ["c"]
    assert names(label_selector="tier=front") == ["a"]
    assert names(field_selector="metadata.name=b") == ["b"]


def test_an_update_checks_the_resource_version(bare: APIServer) -> None:
    first = bare.create(configmap("a"))
    second = bare.update({**first, "data": {"x": "2"}})

    assert second["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
    with pytest.raises(Conflict):
        bare.update(first)


def test_applying_creates_and_then_merges(bare: APIServer) -> None:
    bare.apply(configmap("a"))
    stored = bare.apply({**configmap("a"), "data": {"y": "2"}}, field_manager="other")

    assert stored["data"] == {"x": "1", "y": "2"}


def test_error_responses_are_raised(bare: APIServer) -> None:
    bare.create(configmap("a"))

    with pytest.raises(AlreadyExists):
        bare.create(configmap("a"))
    bare.delete("configmaps", "a")
    with pytest.raises(NotFound, match='configmaps "a" not found'):
        bare.delete("configmaps", "a")


@pytest.mark.parametrize(
    ("obj", "error", "message"),
    [
        ({"kind": "ConfigMap"}, InvalidInput, "must have apiVersion and kind"),
        ("just text", InvalidInput, "is a str, not a mapping"),
        ("a: [", InvalidInput, "not YAML: yaml: line"),
        ({"apiVersion": "acme.example/v1", "kind": "Widget"}, NoMatch, "does not serve acme.example/v1 Widget"),
    ],
)
def test_invalid_objects_are_rejected(
    bare: APIServer, obj: dict[str, object] | str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        bare.create(obj)


def test_the_error_for_an_unserved_resource_names_it(bare: APIServer) -> None:
    with pytest.raises(NoMatch, match="'unicorns'"):
        bare.list("unicorns")


def test_a_folder_is_loaded_namespaces_first_and_can_be_loaded_again(bare: APIServer, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n")
    (tmp_path / "b.yml").write_text("---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\n")
    (tmp_path / "c.json").write_text(
        '{"kind": "List", "items": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}]}'
    )
    (tmp_path / "notes.txt").write_text("not a manifest")

    loaded = bare.load(tmp_path)
    again = bare.load(tmp_path)

    assert [item["kind"] for item in loaded] == ["Namespace", "ConfigMap", "Secret"]
    assert [item["metadata"]["uid"] for item in again] == [item["metadata"]["uid"] for item in loaded]


def test_the_error_for_invalid_yaml_has_file_and_position(bare: APIServer, tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("a: 1\nb: [")

    with pytest.raises(InvalidInput, match=r"broken\.yaml: yaml: line 3, column 1"):
        bare.load(file)


def test_loading_a_missing_file_raises_file_not_found(bare: APIServer, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        bare.load(tmp_path / "missing.yaml")


def test_without_managed_fields_only_applies_are_recorded() -> None:
    quick = APIServer(managed_fields=False)

    quick.update({**quick.create(configmap("a")), "data": {"x": "2"}})
    quick.apply(configmap("b"))

    assert "managedFields" not in quick.get("cm", "a")["metadata"]
    assert quick.get("cm", "b")["metadata"]["managedFields"][0]["operation"] == "Apply"
