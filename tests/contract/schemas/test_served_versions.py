"""Several versions of a resource with different schemas, one of which is the storage version."""

from __future__ import annotations

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, structural, version
from tests.contract.schemas.kit import STRING


async def _two_versions(cluster: Cluster) -> None:
    new = structural(a=STRING, new={**STRING, "default": "n"})
    old = structural(a=STRING, old={**STRING, "default": "o"})
    versions = [version("v1", schema=new), version("v1beta1", storage=False, schema=old)]
    await cluster.create_crd(cluster.crd(versions=versions))


async def _spec_of(cluster: Cluster, resource: str) -> JSONObject:
    spec: JSONObject = (await cluster.get(resource, "w"))["spec"]
    return spec


async def test_an_object_is_shown_without_the_fields_of_other_versions(cluster: Cluster) -> None:
    await _two_versions(cluster)

    await cluster.create("widgets.v1", cluster.widget(spec={"a": "x"}))

    assert await _spec_of(cluster, "widgets.v1") == {"a": "x", "new": "n"}
    assert await _spec_of(cluster, "widgets.v1beta1") == {"a": "x"}


async def test_fields_that_the_storage_version_lacks_are_dropped(cluster: Cluster) -> None:
    await _two_versions(cluster)

    body = cluster.widget(api_version="v1beta1", spec={"a": "x", "old": "kept?"})
    response = await cluster.create("widgets.v1beta1", body)

    assert response["spec"] == {"a": "x"}
    assert await _spec_of(cluster, "widgets.v1") == {"a": "x", "new": "n"}


async def test_unknown_fields_are_those_of_the_requested_version(cluster: Cluster) -> None:
    await _two_versions(cluster)
    body = cluster.widget(api_version="v1beta1", spec={"new": "x"})

    response = await cluster.call("POST", cluster.path("widgets.v1beta1"), body=body)

    assert response.code == 201
    assert response.warnings == (['unknown field "spec.new"'] if cluster.version >= (1, 25) else [])
