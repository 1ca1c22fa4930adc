"""All validation rules of published CRDs are accepted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dynkube.meta._yaml import loading as yaml
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._definitions.expressions import Expressions

DATA = Path(__file__).parents[4] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the published CRDs are not available")


def documents(pattern: str) -> Iterator[tuple[str, JSONObject]]:
    for path in sorted(DATA.glob(pattern)):
        for _, document in yaml.load_located(path.read_text()):
            assert isinstance(document, dict)
            yield path.name, document


def crds() -> list[JSONObject]:
    return [found for _, found in documents("*/crds/*.yaml") if found["kind"] == "CustomResourceDefinition"]


def schemas() -> Iterator[JSONObject]:
    for crd in crds():
        for version in crd["spec"]["versions"]:
            yield version["schema"]["openAPIV3Schema"]


def count_of_rules(schema: Any) -> int:
    below = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    own = len(schema.get("x-kubernetes-validations") or ()) if isinstance(schema, dict) else 0
    return own + sum(map(count_of_rules, below))


def test_every_published_rule_compiles_within_the_limits_of_costs() -> None:
    expressions = Expressions()

    causes = [cause for schema in schemas() for cause in expressions.causes(schema, "schema")]

    assert causes == []
    assert sum(map(count_of_rules, schemas())) > 250
