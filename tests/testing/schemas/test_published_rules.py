"""All validation rules of published CRDs can be evaluated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dynkube.meta._yaml import loading as yaml
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._schemas.cellibrary import CEL

DATA = Path(__file__).parents[4] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the published CRDs are not available")


def documents(pattern: str) -> Iterator[tuple[str, JSONObject]]:
    for path in sorted(DATA.glob(pattern)):
        for _, document in yaml.load_located(path.read_text()):
            assert isinstance(document, dict)
            yield path.name, document


def crds() -> list[JSONObject]:
    return [found for _, found in documents("*/crds/*.yaml") if found["kind"] == "CustomResourceDefinition"]


def rules(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for rule in schema.get("x-kubernetes-validations") or ():
            yield rule["rule"]
            if "messageExpression" in rule:
                yield rule["messageExpression"]
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from rules(part)


def test_every_published_rule_compiles() -> None:
    language = CEL()

    compiled = [language.compile(rule) for crd in crds() for rule in rules(crd)]

    assert len(compiled) > 250
