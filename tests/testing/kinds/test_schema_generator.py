"""The tool that generates the schemas of built-in types from the OpenAPI documents of a release."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TOOL = Path(__file__).parents[3] / "tools/builtin_schemas.py"
REF = "#/components/schemas/"


@pytest.fixture
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("builtin_schemas_tool", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _write(folder: Path, name: str, schemas: dict[str, Any]) -> None:
    (folder / name).write_text(json.dumps({"components": {"schemas": schemas}}))


def _kinds(*groups: str) -> dict[str, Any]:
    return {"x-kubernetes-group-version-kind": [{"group": group, "version": "v1", "kind": "Opt"} for group in groups]}


def test_keeps_types_and_defaults_and_drops_descriptions(tool: ModuleType) -> None:
    schema = {
        "description": "Some words.",
        "type": "object",
        "required": ["a"],
        "properties": {
            "description": {"description": "More words.", "type": "string", "default": ""},
            "a": {"type": "array", "items": {"description": "x", "allOf": [{"$ref": REF + "B"}], "default": {}}},
        },
    }

    assert tool.facts(schema) == {
        "type": "object",
        "required": ["a"],
        "properties": {
            "description": {"type": "string", "default": ""},
            "a": {"type": "array", "items": {"allOf": [{"$ref": REF + "B"}], "default": {}}},
        },
    }


def test_reads_stable_versions_only_and_merges_their_shared_types(tool: ModuleType, tmp_path: Path) -> None:
    _write(tmp_path, "api__v1_openapi.json", {"Opt": {"type": "object", **_kinds("")}, "A": {"type": "string"}})
    _write(tmp_path, "apis__apps__v1_openapi.json", {"Opt": {"type": "object", **_kinds("apps", "")}})
    _write(tmp_path, "apis__apps__v1beta1_openapi.json", {"Beta": {"type": "string"}})

    found = tool.collect(tmp_path)

    assert found == {"A": {"type": "string"}, "Opt": {"type": "object", **_kinds("", "apps")}}


def test_the_output_does_not_depend_on_the_order_of_the_types(tool: ModuleType) -> None:
    one = tool.encode("1.36.3", {"A": {"$ref": REF + "B"}, "B": {"type": "string"}})
    other = tool.encode("1.36.3", {"B": {"type": "string"}, "A": {"$ref": REF + "B"}})

    assert one == other
    assert json.loads(gzip.decompress(one))["release"] == "1.36.3"


def test_rejects_contradictory_documents(tool: ModuleType, tmp_path: Path) -> None:
    _write(tmp_path, "api__v1_openapi.json", {"A": {"type": "string"}})
    _write(tmp_path, "apis__apps__v1_openapi.json", {"A": {"type": "integer"}})

    with pytest.raises(SystemExit, match="A is defined in two ways"):
        tool.collect(tmp_path)


def test_rejects_references_to_missing_types(tool: ModuleType) -> None:
    with pytest.raises(SystemExit, match="not defined: B"):
        tool.encode("1.36.3", {"A": {"$ref": REF + "B"}})


def test_rejects_a_folder_without_documents(tool: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has no documents"):
        tool.collect(tmp_path)
