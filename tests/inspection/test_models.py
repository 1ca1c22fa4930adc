"""Models of kinds: their types, their names, and their source."""

from __future__ import annotations

import ast
import keyword
from types import ModuleType
from typing import Any, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import InvalidInput
from dynkube.inspection._model_source import module_source
from dynkube.inspection._models import Models
from dynkube.inspection._stub_modules import modules_of_crds
from dynkube.meta import GVK
from tests.informers.kit import crd

WIDGET = GVK("example.com", "v1", "Widget")
TEXTS = st.text(max_size=60) | st.sampled_from(['"""', '\\"""', "\\", 'a"', "x\n\n    import os", "\u202e", "\r\n"])


def source(schema: dict[str, Any], *, schemas: dict[str, Any] | None = None, partial_objects: bool = False) -> str:
    models = Models(schemas or {}, partial_objects=partial_objects)
    models.add(WIDGET, schema)
    return module_source(models.all(), "Widgets.")


def imported(text: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the module of a source, as msgspec looks annotations up."""
    module = ModuleType("generated_models")
    monkeypatch.setitem(__import__("sys").modules, module.__name__, module)
    exec(text, module.__dict__)
    return module


def annotation(schema: dict[str, Any], **options: Any) -> str:
    """Return the annotation of an optional field with a schema."""
    text = source({"type": "object", "properties": {"it": schema}}, **options)
    return next(line for line in text.splitlines() if line.startswith("    it: ")).removeprefix("    it: ")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "str | None = None"),
        ({"type": "string", "format": "date-time"}, "str | None = None"),
        ({"type": "integer", "format": "int64"}, "int | None = None"),
        ({"type": "number"}, "float | None = None"),
        ({"type": "boolean", "nullable": True}, "bool | None = None"),
        ({"type": "array", "items": {"type": "integer"}}, "list[int] | None = None"),
        ({"type": "object"}, "dict[str, Any] | None = None"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "dict[str, str] | None = None"),
        ({"x-kubernetes-preserve-unknown-fields": True}, "Any = None"),
        ({"x-kubernetes-int-or-string": True}, "int | str | None = None"),
        ({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}, "int | str | None = None"),
        ({"oneOf": [{"type": "string"}, {"type": "number"}]}, "float | str | None = None"),
        ({"type": "string", "enum": ["A", "it's"]}, "Literal['A', \"it's\"] | None = None"),
        ({"type": "integer", "enum": [1, 2]}, "int | None = None"),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "WidgetIt | None = None"),
        ({"allOf": [{"$ref": "#/components/schemas/io.k8s.Time"}], "default": {}}, "str | None = None"),
        ({"$ref": "#/components/schemas/missing"}, "Any = None"),
        (True, "Any = None"),
    ],
)
def test_each_schema_has_its_annotation(schema: dict[str, Any], expected: str) -> None:
    assert annotation(schema, schemas={"io.k8s.Time": {"type": "string", "format": "date-time"}}) == expected


def test_required_fields_have_no_default_unless_objects_may_be_partial() -> None:
    schema = {"type": "object", "properties": {"it": {"type": "string"}}, "required": ["it"]}

    assert "    it: str\n" in source(schema)
    assert "    it: str | None = None\n" in source(schema, partial_objects=True)


def test_a_schema_may_contain_itself_and_two_may_have_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    node = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/a.v1.Node"}}},
    }
    other = {"type": "object", "properties": {"name": {"type": "string"}}}
    properties = {
        "tree": {"$ref": "#/components/schemas/a.v1.Node"},
        "node": {"$ref": "#/components/schemas/b.v2.Node"},
    }
    text = source({"type": "object", "properties": properties}, schemas={"a.v1.Node": node, "b.v2.Node": other})

    module = imported(text, monkeypatch)
    found = msgspec.json.decode(b'{"tree": {"children": [{}]}, "node": {"name": "x"}}', type=module.Widget)

    assert found.tree.children[0].children is None
    assert type(found.tree) is not type(found.node)


@pytest.mark.parametrize(
    "key", ["from", "$ref", "x-kubernetes-a", "9lives", "list", "str", "None", "msgspec", "a.b", "é", "_", ""]
)
def test_what_python_cannot_name_is_renamed(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = {
        "type": "object",
        "properties": {key: {"type": "array", "items": {"type": "string"}}, "z": {"type": "string"}},
    }
    module = imported(source(schema), monkeypatch)

    found = msgspec.json.decode(msgspec.json.encode({key: ["x"], "z": "y"}), type=module.Widget)

    attribute = next(name for name in module.Widget.__struct_fields__ if getattr(found, name) == ["x"])
    assert attribute.isidentifier()
    assert not keyword.iskeyword(attribute)
    assert get_type_hints(module.Widget)
    assert msgspec.to_builtins(found)[key] == ["x"]


@given(TEXTS, TEXTS, TEXTS)
def test_no_text_of_a_cluster_becomes_code(description: str, key: str, value: str) -> None:
    field = {"type": "string", "description": description, "enum": [value, "b"]}
    text = source({"type": "object", "description": description, "properties": {key: field}})

    tree = ast.parse(text)

    kinds = {type(node) for node in tree.body}
    assert kinds == {ast.Expr, ast.ImportFrom, ast.Import, ast.ClassDef, ast.Assign}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            assert {type(each) for each in node.body} <= {ast.Expr, ast.AnnAssign}


def test_crds_of_one_version_share_a_module_and_have_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = modules_of_crds([crd(), crd("gadgets", served=("v1", "v2"))])

    assert sorted(modules) == ["example_com_v1", "example_com_v2"]
    module = imported(modules["example_com_v1"], monkeypatch)
    widget = msgspec.json.decode(b'{"metadata": {"name": "a", "labels": {"b": "c"}}}', type=module.Widget)
    assert (widget.kind, widget.apiVersion, widget.metadata.labels) == ("Widget", "example.com/v1", {"b": "c"})
    assert module.Gadget


def test_a_schema_that_is_nested_too_deeply_is_an_error() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        schema = {"type": "object", "properties": {"a": schema}}

    with pytest.raises(InvalidInput, match="nested more than 64 levels deep"):
        source(schema)


@pytest.mark.parametrize(
    "wrong", [{}, {"spec": {}}, {"spec": {"group": "g", "names": {"kind": "K"}, "versions": [{"name": "v1"}]}}]
)
def test_what_is_no_crd_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="is not a CustomResourceDefinition with a schema for each version"):
        modules_of_crds([wrong])
