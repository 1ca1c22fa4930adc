"""``load``: create objects from files, folders, strings and mappings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dynkube.errors import Invalid, InvalidInput, NoMatch
from dynkube_testing import APIServer
from tests.contract.objects import version
from tests.testing.engine.cluster import crd, widget

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


@pytest.fixture
def bare() -> APIServer:
    """A server that is not running; loading does not need a running one."""
    return APIServer()


def names(server: APIServer, resource: str = "configmaps") -> list[str]:
    return [item["metadata"]["name"] for item in server.list(resource)]


def test_strings_paths_and_objects_can_be_loaded_together(bare: APIServer, tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(CONFIG % "b")

    bare.load([CONFIG % "a", tmp_path / "b.yaml", str(tmp_path), {"kind": "List", "items": []}])

    assert names(bare) == ["a", "b"]


def test_output_of_kubectl_is_loaded_with_status_and_can_be_loaded_again(bare: APIServer) -> None:
    dump = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default", "resourceVersion": "4711"},
        "spec": {"containers": [{"name": "c", "image": "web:1"}]},
        "status": {"phase": "Running"},
    }

    bare.load(dump)
    bare.load(dump)

    assert [pod["status"]["phase"] for pod in bare.list("pods")] == ["Running"]


def test_a_custom_resource_of_kind_namespace_keeps_its_status(bare: APIServer) -> None:
    bare.load(crd("namespaces", "Namespace", versions=[version(subresources={"status": {}})]))

    bare.load(widget("a", status={"phase": "Dreaming"}) | {"kind": "Namespace"})

    assert bare.get("namespaces.example.com", "a")["status"] == {"phase": "Dreaming"}


def test_loading_a_changed_crd_again_updates_it(bare: APIServer) -> None:
    bare.load([widget("w"), crd()])
    bare.load([widget("w"), crd(scope="Namespaced", versions=[version(), version("v2", storage=False)])])

    assert bare.get("widgets.v2.example.com", "w")["apiVersion"] == "example.com/v2"


def test_items_of_a_typed_list_get_their_kind_from_the_list(bare: APIServer) -> None:
    bare.load({"apiVersion": "v1", "kind": "ConfigMapList", "items": [{"metadata": {"name": "a"}}]})

    assert names(bare) == ["a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: [", r"seed\.yaml: yaml: line 3, column 1"),
        ("---\n---\n\n- a\n", r"seed\.yaml:4: a document is a list, not a Kubernetes object"),
        (CONFIG % "a" + "---\nkind: Pod\n", r"seed\.yaml:5: the object must have apiVersion and kind as strings"),
        ("kind: List\nitems: [1]", r"seed\.yaml:1: items\[0\]: a document is an int"),
    ],
)
def test_the_error_for_an_invalid_object_has_file_and_line(
    bare: APIServer, tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "seed.yaml"
    file.write_text(text)

    with pytest.raises(InvalidInput, match=message):
        bare.load(file)


def test_the_error_for_an_unserved_kind_has_file_and_line(bare: APIServer, tmp_path: Path) -> None:
    file = tmp_path / "seed.yaml"
    file.write_text("\n\napiVersion: acme.example/v1\nkind: Widget\nmetadata: {name: w}\n")

    with pytest.raises(NoMatch, match=r"seed\.yaml:3: the embedded server does not serve acme\.example/v1 Widget"):
        bare.load(file)


def test_an_error_response_gets_a_note_with_the_position_of_the_object(bare: APIServer) -> None:
    with pytest.raises(Invalid) as caught:
        bare.load(CONFIG % "a" + "---\n" + CONFIG % "No_Name")

    assert caught.value.__notes__ == ["in <text>:5"]
    assert names(bare) == ["a"], "objects created before the error stay"


def test_a_folder_without_manifests_is_rejected(bare: APIServer, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"the folder has no \.yaml, \.yml or \.json file"):
        bare.load(tmp_path)


@pytest.mark.parametrize(("source", "called"), [(b"a: 1", "bytes"), (7, "an int")])
def test_sources_of_unsupported_types_are_rejected(bare: APIServer, source: object, called: str) -> None:
    with pytest.raises(InvalidInput, match=f"not {called}"):
        bare.load(source)  # type: ignore[arg-type]  # invalid on purpose


def test_named_pipes_and_devices_are_rejected(bare: APIServer, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")

    for path, kind in ((tmp_path / "fifo", "a named pipe"), (Path("/dev/zero"), "a device")):
        with pytest.raises(OSError, match=f"it is {kind}"):
            bare.load(path)


@pytest.mark.parametrize("level", ["[{}]", "{{<<: [{}]}}"], ids=["aliases", "merge keys"])
def test_excessive_aliasing_is_rejected_before_it_is_expanded(bare: APIServer, level: str) -> None:
    levels = "".join(f"a{n}: &a{n} {level.format(', '.join([f'*a{n - 1}'] * 10))}\n" for n in range(1, 9))

    with pytest.raises(InvalidInput, match=r"<text>: yaml: line \d+, column \d+: document contains excessive aliasing"):
        bare.load(f"{CONFIG % 'a'}a0: &a0 {{k: v}}\n{levels}")
    with pytest.raises(InvalidInput, match=r"the object is not YAML: .* document contains excessive aliasing"):
        bare.create(f"{CONFIG % 'a'}a0: &a0 {{k: v}}\n{levels}")


def nested(levels: int) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    for _ in range(levels):
        spec = {"a": spec}
    return widget("w") | {"spec": spec}


def shared(levels: int) -> dict[str, Any]:
    spec: dict[str, Any] = {"a": "b"}
    for _ in range(levels):
        spec = dict.fromkeys("abcdefgh", spec)
    return widget("w") | {"spec": spec}


def within_itself() -> dict[str, Any]:
    obj = widget("w")
    return obj | {"spec": obj.setdefault("spec", {}) | {"obj": obj}} | {"more": obj.setdefault("more", [obj])}


@pytest.mark.parametrize(
    ("obj", "problem"),
    [
        (within_itself(), "contains itself"),
        (nested(1_000), "is nested more than 300 levels deep"),
        (shared(12), "repeats shared parts too often"),
    ],
    ids=["itself", "deep", "shared"],
)
@pytest.mark.parametrize("verb", ["create", "update", "apply", "load"])
def test_objects_that_cannot_be_encoded_are_rejected(
    bare: APIServer, obj: dict[str, Any], problem: str, verb: str
) -> None:
    bare.load(crd())

    with pytest.raises(InvalidInput, match=f"the object {problem}"):
        getattr(bare, verb)(obj)


def test_lists_that_contain_themselves_are_rejected(bare: APIServer) -> None:
    manifests: list[Any] = []
    manifests.append(manifests)

    with pytest.raises(InvalidInput, match="contain themselves or are nested too deeply"):
        bare.load(manifests)
