"""CRDs of ``apiextensions.k8s.io/v1beta1``, which kube-apiserver 1.22 and later do not serve."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import CRDS, JSONObject, conditions

PATH = "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions"


def _old(cluster: Cluster, **spec: object) -> JSONObject:
    names = {"plural": "widgets", "kind": "Widget"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{cluster.group}"},
        "spec": {"group": cluster.group, "scope": "Namespaced", "names": names, "version": "v1", **spec},
    }


async def _skip_unless_served(cluster: Cluster) -> None:
    if cluster.version >= (1, 22):
        pytest.skip("removed in 1.22")


async def test_old_servers_warn_of_v1beta1_and_newer_ones_respond_with_404(cluster: Cluster) -> None:
    response = await cluster.call("POST", PATH, body=_old(cluster), params={"dryRun": "All"})

    if cluster.version >= (1, 22):
        assert (response.code, response.body["reason"]) == (404, "NotFound")
    else:
        (warning,) = response.warnings
        assert response.code == 201
        assert "is deprecated in v1.16+, unavailable in v1.22+" in warning


async def test_a_non_structural_schema_has_a_condition_and_is_served(cluster: Cluster) -> None:
    await _skip_unless_served(cluster)
    schema = {"openAPIV3Schema": {"properties": {"spec": {"properties": {"a": {"type": "string"}}}}}}
    body = _old(cluster, validation=schema)

    await cluster.request("POST", PATH, body=body)
    cluster.leftovers.append(f"{PATH}/widgets.{cluster.group}")

    created = await cluster.get(CRDS, f"widgets.{cluster.group}")
    stored = await cluster.wait_for(CRDS, created, lambda found: "NonStructuralSchema" in conditions(found))
    assert conditions(stored)["NonStructuralSchema"] == ("True", "Violations")
    assert stored["spec"]["preserveUnknownFields"] is True
    cluster.register_crd(stored)
    await cluster.until_served("widgets")
    created_widget = await cluster.create("widgets", cluster.widget(spec={"a": "x", "b": 1}))
    assert created_widget["spec"] == {"a": "x", "b": 1}
