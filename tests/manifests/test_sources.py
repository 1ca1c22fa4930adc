"""The kinds of sources, and the positions of their objects."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from dynkube.errors import InvalidInput
from dynkube.manifests import ManifestSource, leaves
from dynkube.manifests._manifest import Manifest
from dynkube.manifests._sources import read
from dynkube.meta import Unstructured
from tests.manifests.kit import config

A = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
B = A.replace("name: a", "name: b")


def found(source: ManifestSource, stdin: str = "") -> list[Manifest]:
    return read(leaves(source), io.BytesIO(stdin.encode()).read)


def names(source: ManifestSource, stdin: str = "") -> list[tuple[str, str]]:
    return [(manifest.checked.name, str(manifest.place)) for manifest in found(source, stdin)]


@pytest.mark.parametrize("obj", [config("a"), Unstructured(config("a"))], ids=["a dict", "an object"])
def test_an_object_is_a_source(obj: ManifestSource) -> None:
    assert names(obj) == [("a", "<object 1>")]


@pytest.mark.parametrize(
    "text", [A, A.encode(), "\ufeff" + A, A.encode("utf-16")], ids=["str", "utf-8", "BOM", "utf-16"]
)
def test_strings_and_bytes_are_sources(text: str | bytes) -> None:
    assert names(text) == [("a", "<text>:1")]


@pytest.mark.parametrize("first", [A, '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}\n'])
@pytest.mark.parametrize("between", ["---\n\ufeff", "\ufeff---\n", "\ufeff---\n\ufeff", "---\n\ufeff# comment\n"])
def test_a_byte_order_mark_may_be_before_any_document(first: str, between: str) -> None:
    assert [name for name, _ in names(f"\ufeff{first}{between}{B}")] == ["a", "b"]


def test_a_byte_order_mark_may_be_before_any_json_object() -> None:
    text = '{"apiVersion":"v1","kind":"ConfigMap",\n\t"metadata":{"name":"a\ufeff"}}\n'

    assert names(text + "\ufeff" + text) == [("a\ufeff", "<text>:1"), ("a\ufeff", "<text>:3")]


def test_json_is_a_source_with_one_object_or_several() -> None:
    text = '{"apiVersion":"v1","kind":"ConfigMap",\n\t"metadata":{"name":"a"}}\n'

    assert names(text + text.replace('"a"', '"b"')) == [("a", "<text>:1"), ("b", "<text>:3")]


def test_yaml_in_flow_style_is_a_source() -> None:
    assert names("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}") == [("a", "<text>:1")]


def test_a_folder_is_read_recursively_in_order_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b.yml", "sub/deep/a.yaml", "sub/c.json", "notes.md", ".git/x.yaml", ".hidden.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(A.replace("name: a", f"name: {path.stem}"))

    assert names(tmp_path) == [
        ("b", f"{tmp_path}/b.yml:1"),
        ("c", f"{tmp_path}/sub/c.json:1"),
        ("a", f"{tmp_path}/sub/deep/a.yaml:1"),
    ]


def test_a_dash_is_standard_input() -> None:
    assert names("-", stdin=f"# first\n{A}---\n{B}") == [("a", "<stdin>:2"), ("b", "<stdin>:6")]


def test_a_mix_of_sources_is_a_source(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text(A)

    mixed: list[ManifestSource] = [
        config("x"),
        [tmp_path / "f.yaml", str(tmp_path)],
        (part for part in [B, config("y")]),
    ]

    assert names(mixed) == [
        ("x", "<object 1>"),
        ("a", f"{tmp_path}/f.yaml:1"),
        ("a", f"{tmp_path}/f.yaml:1"),
        ("b", "<text>:1"),
        ("y", "<object 2>"),
    ]


@pytest.mark.parametrize("source", [7, None, [config("a"), 7], ""])
def test_invalid_sources_are_rejected_at_once(source: ManifestSource) -> None:
    with pytest.raises(InvalidInput, match="source is"):
        leaves(source)


def test_empty_documents_are_skipped() -> None:
    assert names(f"---\n# nothing here\n---\n{A}---\n---\n") == [("a", "<text>:4")]


def test_directives_and_document_markers_with_content_are_supported() -> None:
    text = "%YAML 1.1\n---\n" + A + "...\n%YAML 1.1\n--- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"

    assert [name for name, _ in names(text)] == ["a", "b"]


def test_items_of_lists_are_objects_with_their_line() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n"
        "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
        "- apiVersion: v1\n  kind: ConfigMapList\n  items:\n  - metadata: {name: b}\n"
    )

    assert [name for name, _ in names(text)] == ["a", "b"]
    assert [place for _, place in names(text)] == ["<text>:4", "<text>:5 items[0]"]
    assert found(text)[1].checked.kind == "ConfigMap"


@pytest.mark.parametrize("kind_first", [True, False])
def test_items_of_a_json_list_have_their_line(kind_first: bool) -> None:
    a, b, c = (json.dumps(config(name, x='[]{},:\\"')) for name in "abc")
    head = ['"kind": "List", "apiVersion": "v1"', '"metadata": {"n": [{"items": [1]}, "\\\\"]}']
    items = f'"items":\n[{a}\n,\n {b}, \n{{"kind": "ConfigMapList",\n"items": [{c}]}}]'
    parts = [*head, items] if kind_first else [items, *head]

    found = names("\n{" + "\n,".join(parts) + "}\n" + json.dumps(config("d")))

    shift = 2 if kind_first else 0
    lines = [3 + shift, 5 + shift, 6 + shift]
    assert found[:2] == [("a", f"<text>:{lines[0]}"), ("b", f"<text>:{lines[1]}")]
    assert found[2:] == [("c", f"<text>:{lines[2]} items[0]"), ("d", "<text>:10")]


def test_items_on_one_line_have_their_index() -> None:
    items = [config("a"), {"kind": "ConfigMapList", "apiVersion": "v1", "items": [config("b")]}]
    text = json.dumps({"kind": "List", "apiVersion": "v1", "items": items})

    assert names(text) == [("a", "<text>:1 items[0]"), ("b", "<text>:1 items[1].items[0]")]


@pytest.mark.parametrize(("kind", "group"), [("ShoppingList", "example.com/v1"), ("List", "example.com/v1")])
def test_an_object_with_a_name_is_not_a_list(kind: str, group: str) -> None:
    named = {"apiVersion": group, "kind": kind, "metadata": {"name": "a"}, "items": ["milk"]}

    assert names(named) == [("a", "<object 1>")]
    assert names(json.dumps(named)) == [("a", "<text>:1")]


def test_a_core_list_may_have_a_name() -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "metadata": {"name": "x"}, "items": [config("a")]})

    assert names(text) == [("a", "<text>:1")]


def test_a_number_out_of_range_is_kept_as_a_string() -> None:
    text = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"commit": 1e999}}'

    (found,) = read(leaves(text), lambda: b"")

    assert found.checked["data"] == {"commit": "1e999"}


def test_a_list_whose_items_are_null_is_empty() -> None:
    assert names("apiVersion: v1\nkind: List\nitems:\n") == []


def test_a_list_without_items_is_empty() -> None:
    assert names("apiVersion: v1\nkind: List\nitems: []\n") == []


def test_later_changes_of_a_dict_do_not_change_the_manifest() -> None:
    obj = config("a", key="before")
    (manifest,) = found(obj)

    obj["data"]["key"] = "after"

    assert manifest.checked["data"] == {"key": "before"}
