"""CustomResourceDefinitions that are refused, and with which causes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dynkube.errors import Invalid
from dynkube.testing._calls.api import JSONObject
from tests.testing.engine.cluster import CRDS, Cluster, definition, version


def _with(**spec: Any) -> Callable[[], JSONObject]:
    return lambda: definition(**spec)


def _named(**names: Any) -> Callable[[], JSONObject]:
    return lambda: definition(names={"plural": "widgets", "kind": "Widget", **names})


def _renamed() -> JSONObject:
    return {**definition(), "metadata": {"name": "other.example.com"}}


def _protected() -> JSONObject:
    return {**definition(group="widgets.k8s.io"), "metadata": {"name": "widgets.widgets.k8s.io"}}


@pytest.mark.parametrize(
    ("make", "field", "words"),
    [
        (_renamed, "metadata.name", 'must be spec.names.plural+"."+spec.group'),
        (_with(scope="Everywhere"), "spec.scope", 'supported values: "Cluster", "Namespaced"'),
        (_with(scope=None), "spec.scope", "Required value"),
        (_protected, "metadata.annotations[api-approved.kubernetes.io]", "protected groups must have approval"),
        (_named(plural="Widgets"), "spec.names.plural", "DNS-1035 label"),
        (_named(kind="Wid get"), "spec.names.kind", "DNS-1035 label"),
        (_named(kind=None), "spec.names.kind", "Required value"),
        (_named(listKind="Widget"), "spec.names.listKind", "kind and listKind may not be the same"),
        (_named(shortNames=["w", "W"]), "spec.names.shortNames[1]", "DNS-1035 label"),
        (_with(versions=[version("v1"), version("v2")]), "spec.versions", "exactly one version marked as storage"),
        (_with(versions=[version(storage=False)]), "spec.versions", "exactly one version marked as storage"),
        (_with(versions=[version(), version(storage=False)]), "spec.versions", "must contain unique version names"),
        (_with(versions=[version("V1")]), "spec.versions[0].name", "DNS-1035 label"),
        (_with(versions=[version(schema=None)]), "spec.versions[0].schema.openAPIV3Schema", "Required value"),
        (
            _with(
                versions=[
                    version(subresources={"scale": {"specReplicasPath": ".size", "statusReplicasPath": ".status.n"}})
                ]
            ),
            "spec.versions[0].subresources.scale.specReplicasPath",
            "should be a json path under .spec",
        ),
    ],
)
def test_a_definition_that_makes_no_sense_is_refused(
    cluster: Cluster, make: Callable[[], JSONObject], field: str, words: str
) -> None:
    with pytest.raises(Invalid) as caught:
        cluster.create(CRDS, make())

    found = {cause.field: cause.message for cause in caught.value.causes}
    assert words in found.get(field, f"no cause for {field}, but {found}")
    assert not cluster.serves("widgets.v1.example.com")


def test_a_group_needs_a_domain(cluster: Cluster) -> None:
    body = {**definition(group="example"), "metadata": {"name": "widgets.example"}}

    with pytest.raises(
        Invalid, match=r'spec.group: Invalid value: "example": should be a domain with at least one dot'
    ):
        cluster.create(CRDS, body)


def test_a_definition_without_a_spec_is_refused(cluster: Cluster) -> None:
    with pytest.raises(Invalid, match=r"spec\.group: Required value"):
        cluster.create(CRDS, {"metadata": {"name": "widgets.example.com"}})
