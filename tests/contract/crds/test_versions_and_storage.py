"""Versions of a CRD: stored, served, deprecated and removed; and ``status.storedVersions``."""

from __future__ import annotations

import pytest

from dynkube.errors import Invalid
from tests.contract.cluster import Cluster
from tests.contract.objects import CRDS, JSONObject, version


def _versions(*versions: JSONObject) -> JSONObject:
    return {"spec": {"versions": list(versions)}}


def _name(cluster: Cluster) -> str:
    return f"widgets.{cluster.group}"


async def _stored(cluster: Cluster) -> list[str]:
    found = await cluster.get(CRDS, _name(cluster))
    stored: list[str] = found["status"]["storedVersions"]
    return stored


async def test_a_new_storage_version_is_added_to_the_stored_versions(cluster: Cluster) -> None:
    await cluster.create_crd()

    await cluster.patch(CRDS, _name(cluster), _versions(version("v1", storage=False), version("v2")))

    assert await _stored(cluster) == ["v1", "v2"]


async def test_a_version_can_be_removed_when_it_is_not_in_stored_versions(cluster: Cluster) -> None:
    await cluster.create_crd(cluster.crd(versions=[version("v1"), version("v2", storage=False)]))
    await cluster.patch(CRDS, _name(cluster), _versions(version("v1", storage=False), version("v2")))
    message = "v1 was previously a storage version" if cluster.version >= (1, 25) else "must appear in spec.versions"
    with pytest.raises(Invalid, match=rf"status.storedVersions\[0\]: .*{message}"):
        await cluster.patch(CRDS, _name(cluster), _versions(version("v2")))

    await cluster.patch(f"{CRDS}/status", _name(cluster), {"status": {"storedVersions": ["v2"]}})
    await cluster.patch(CRDS, _name(cluster), _versions(version("v2")))

    assert await _stored(cluster) == ["v2"]
    await cluster.until_not_served("widgets.v1")


async def test_the_next_write_adds_the_storage_version_to_stored_versions(cluster: Cluster) -> None:
    await cluster.create_crd(cluster.crd(versions=[version("v1"), version("v2", storage=False)]))

    await cluster.patch(f"{CRDS}/status", _name(cluster), {"status": {"storedVersions": ["v2"]}})

    assert await _stored(cluster) == ["v2"]
    await cluster.patch(CRDS, _name(cluster), {"metadata": {"labels": {"a": "b"}}})
    assert await _stored(cluster) == ["v2", "v1"]


async def test_empty_stored_versions_become_the_storage_version(cluster: Cluster) -> None:
    await cluster.create_crd()

    await cluster.patch(f"{CRDS}/status", _name(cluster), {"status": {"storedVersions": []}})

    assert await _stored(cluster) == ["v1"]


async def test_an_unknown_stored_version_makes_the_next_write_invalid(cluster: Cluster) -> None:
    await cluster.create_crd()

    await cluster.patch(f"{CRDS}/status", _name(cluster), {"status": {"storedVersions": ["v7"]}})

    message = "missing from" if cluster.version >= (1, 25) else "must appear in"
    with pytest.raises(Invalid, match=rf'storedVersions\[0\]: Invalid value: "v7": {message} spec.versions'):
        await cluster.patch(CRDS, _name(cluster), {"metadata": {"labels": {"a": "b"}}})


async def test_a_write_to_status_changes_metadata_and_not_the_spec(cluster: Cluster) -> None:
    await cluster.create_crd()

    patch = {"metadata": {"labels": {"a": "b"}}, "spec": {"scope": "Cluster"}}
    written = await cluster.patch(f"{CRDS}/status", _name(cluster), patch)

    assert written["metadata"].get("labels") == ({"a": "b"} if cluster.version >= (1, 25) else None)
    assert written["spec"]["scope"] == "Namespaced"
    assert written["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("patch", "cause"),
    [
        ({"scope": "Cluster"}, 'spec.scope: Invalid value: "Cluster": field is immutable'),
        ({"names": {"kind": "Gadget"}}, 'spec.names.kind: Invalid value: "Gadget": field is immutable'),
        ({"names": {"plural": "gadgets"}}, 'spec.names.plural: Invalid value: "gadgets": field is immutable'),
        ({"group": "other.com"}, 'spec.group: Invalid value: "other.com": field is immutable'),
    ],
)
async def test_group_names_and_scope_of_an_established_crd_are_immutable(
    cluster: Cluster, patch: JSONObject, cause: str
) -> None:
    await cluster.create_crd()

    with pytest.raises(Invalid) as caught:
        await cluster.patch(CRDS, _name(cluster), {"spec": patch})

    assert f"{caught.value.causes[0].field}: {caught.value.causes[0].message}" == cause


async def test_an_object_is_read_in_every_served_version(cluster: Cluster) -> None:
    versions = [version("v1"), version("v1beta1", storage=False), version("v3", storage=False, served=False)]
    await cluster.create_crd(cluster.crd(versions=versions))
    await cluster.create("widgets.v1beta1", cluster.widget(api_version="v1beta1", spec={"a": 1}))

    for name in ("v1", "v1beta1"):
        found = await cluster.get(f"widgets.{name}", "w")
        assert (found["apiVersion"], found["spec"]) == (f"{cluster.group}/{name}", {"a": 1})
    unserved = cluster.path("widgets").replace("/v1/", "/v3/")
    assert (await cluster.call("GET", unserved)).code == 404


async def test_watches_and_lists_return_objects_in_the_requested_version(cluster: Cluster) -> None:
    await cluster.create_crd(cluster.crd(versions=[version("v1"), version("v1beta1", storage=False)]))

    async with cluster.watch("widgets.v1beta1") as events:
        await cluster.create("widgets.v1", cluster.widget(spec={"a": 1}))
        event = await events.next()
    listed = await cluster.list_of("widgets.v1beta1")

    assert event["object"]["apiVersion"] == f"{cluster.group}/v1beta1"
    assert (listed["apiVersion"], listed["kind"]) == (f"{cluster.group}/v1beta1", "WidgetList")
    assert listed["items"][0]["apiVersion"] == f"{cluster.group}/v1beta1"


async def test_a_body_of_another_version_is_a_400(cluster: Cluster) -> None:
    await cluster.create_crd(cluster.crd(versions=[version("v1"), version("v1beta1", storage=False)]))

    response = await cluster.call("POST", cluster.path("widgets.v1"), body=cluster.widget(api_version="v1beta1"))

    assert (response.code, response.body["reason"]) == (400, "BadRequest")
    group = cluster.group
    assert response.body["message"] == (
        f"the API version in the data ({group}/v1beta1) does not match the expected API version ({group}/v1)"
    )


@pytest.mark.parametrize(
    ("served", "message"),
    [
        ("v1beta1", "{group}/v1beta1 Widget is deprecated; use {group}/v1 Widget"),
        ("v2alpha1", "use something else"),
        ("v2", ""),
        ("v1", ""),
        ("v3", "{group}/v3 Widget is deprecated"),
    ],
)
async def test_the_warning_of_a_deprecated_version_names_a_newer_one_if_there_is_one(
    cluster: Cluster, served: str, message: str
) -> None:
    versions = [
        version("v1"),
        version("v1beta1", storage=False, deprecated=True),
        version("v2alpha1", storage=False, deprecated=True, deprecationWarning="use something else"),
        version("v2", storage=False, served=served == "v2"),
        version("v3", storage=False, deprecated=True),
    ]
    await cluster.create_crd(cluster.crd(versions=versions))

    response = await cluster.call("GET", cluster.path(f"widgets.{served}"))

    expected = f'299 - "{message.format(group=cluster.group)}"' if message else None
    assert response.headers.get("Warning") == expected
