"""Definitions that are in use out there: accepted, all of their rules evaluated, their example objects stored."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._schemas.cellibrary import CEL
from dynkube.testing._wire import yaml
from tests.testing.engine.cluster import CRDS, Cluster

DATA = Path(__file__).parents[4] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the published definitions are not here")


def documents(pattern: str) -> Iterator[tuple[str, JSONObject]]:
    for path in sorted(DATA.glob(pattern)):
        for _, document in yaml.load_located(path.read_text()):
            assert isinstance(document, dict)
            yield path.name, document


def definitions() -> list[JSONObject]:
    return [found for _, found in documents("*/crds/*.yaml") if found["kind"] == "CustomResourceDefinition"]


@cache
def kinds() -> frozenset[tuple[str, str]]:
    return frozenset(
        (f"{found['spec']['group']}/{version['name']}", found["spec"]["names"]["kind"])
        for found in definitions()
        for version in found["spec"]["versions"]
        if version["served"]
    )


def examples() -> list[Any]:
    return [
        pytest.param(found, id=f"{name}:{found['kind']}:{found['metadata']['name']}")
        for name, found in documents("*/examples/**/*.yaml")
        if (found.get("apiVersion"), found.get("kind")) in kinds()
    ]


def rules(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for rule in schema.get("x-kubernetes-validations") or ():
            yield rule["rule"]
            if "messageExpression" in rule:
                yield rule["messageExpression"]
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from rules(part)


@pytest.fixture(scope="module")
def served() -> Cluster:
    cluster = Cluster()
    for definition in definitions():
        cluster.create(CRDS, definition)
    return cluster


def test_every_rule_compiles() -> None:
    language = CEL()

    compiled = [language.compile(rule) for definition in definitions() for rule in rules(definition)]

    assert len(compiled) > 250


@pytest.mark.parametrize("example", examples())
def test_an_example_is_stored_as_it_is_without_a_word(served: Cluster, example: JSONObject) -> None:
    kind = served.engine.registry.find(example["apiVersion"], example["kind"])
    assert kind is not None
    params = {"dryRun": "All", "fieldValidation": "Strict"}
    namespace = "default" if kind.namespaced else ""
    body = {**example, "metadata": {**example["metadata"], "namespace": namespace}} if namespace else example
    resource = f"{kind.gvr.resource}.{kind.gvr.version}.{kind.gvr.group}"

    result = served.engine.handle(served.request("create", resource, body=body, namespace=namespace, params=params))

    assert result.warnings == ()
    assert result.document.data["spec"].keys() >= example["spec"].keys()
