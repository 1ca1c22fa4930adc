"""``managedFields`` after creates, updates, patches and applies, and resetting them."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import ApplyConflict
from tests.contract.cluster import MERGE, STRATEGIC, Cluster
from tests.contract.objects import JSONObject, config, owners, pod, version, workload

ENTRY = {"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}
READ = pytest.mark.since("1.22", "with such an entry all entries were dropped")


def by(manager: str, **more: str) -> dict[str, str]:
    return {"fieldManager": manager, **more}


async def reset(cluster: Cluster, value: Any) -> JSONObject:
    """Set ``managedFields`` by a patch of a manager that writes nothing else."""
    patch = {"metadata": {"managedFields": value}}
    return await cluster.patch("configmaps", "a", patch, params=by("resetter"))


async def test_a_create_owns_all_fields_of_its_body(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", config(labels={"a": "b"}), params=by("maker"))

    fields = {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:data": {".": {}, "f:k": {}}}
    assert owners(created) == {"maker:Update": fields}


async def test_a_create_owns_the_defaults(cluster: Cluster) -> None:
    await cluster.create("serviceaccounts", {"metadata": {"name": "default"}})
    created = await cluster.create("pods", pod(), params=by("maker"))

    spec = owners(created)["maker:Update"]["f:spec"]
    container = spec["f:containers"]['k:{"name":"app"}']
    assert set(container) >= {".", "f:name", "f:image", "f:imagePullPolicy", "f:resources"}
    assert set(spec) >= {"f:dnsPolicy", "f:restartPolicy", "f:schedulerName"}
    assert "." not in spec, "each Pod has a spec, so it has no owner"


async def test_an_update_takes_the_fields_that_it_changes_from_others(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", {**config(), "data": {"a": "1", "b": "1"}}, params=by("one"))

    updated = await cluster.update("configmaps", {**created, "data": {"a": "2", "c": "3"}}, params=by("two"))

    assert owners(updated) == {
        "one:Update": {"f:data": {}},
        "two:Update": {"f:data": {"f:a": {}, "f:c": {}}},
    }


async def test_a_patch_owns_the_fields_that_it_changes(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(), params=by("one"))

    patched = await cluster.patch("configmaps", "a", {"data": {"k": "v", "l": "w"}}, params=by("two"))

    assert owners(patched)["two:Update"] == {"f:data": {"f:l": {}}}


async def test_a_removed_field_has_no_owner(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(), params=by("one"))
    await cluster.patch("configmaps", "a", {"data": {"l": "w"}}, params=by("two"))

    patched = await cluster.patch("configmaps", "a", {"data": {"l": None}}, params=by("three"))

    assert owners(patched) == {"one:Update": {"f:data": {".": {}, "f:k": {}}}}


async def test_a_strategic_patch_owns_list_items_by_key(cluster: Cluster) -> None:
    await cluster.create("deployments", workload(), params=by("one"))
    containers = [{"name": "app", "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "1"}}}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}

    patched = await cluster.patch("deployments", "d", patch, STRATEGIC, params=by("two"))

    items = owners(patched)["two:Update"]["f:spec"]["f:template"]["f:spec"]["f:containers"]
    port: JSONObject = {".": {}, "f:containerPort": {}, "f:protocol": {}}
    ports = {".": {}, 'k:{"containerPort":80,"protocol":"TCP"}': port}
    limits: JSONObject = {"f:limits": {".": {}, "f:cpu": {}}}
    assert items == {'k:{"name":"app"}': {"f:ports": ports, "f:resources": limits}}


async def test_applies_and_updates_of_one_manager_are_separate_entries(cluster: Cluster) -> None:
    await cluster.apply("configmaps", config(), "me")
    patched = await cluster.patch("configmaps", "a", {"data": {"l": "w"}}, params=by("me"))

    assert owners(patched) == {"me": {"f:data": {"f:k": {}}}, "me:Update": {"f:data": {"f:l": {}}}}


async def test_an_apply_conflicts_with_the_creator(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(), params=by("maker"))

    with pytest.raises(ApplyConflict) as caught:
        await cluster.apply("configmaps", {**config(), "data": {"k": "other"}}, "me")
    assert caught.value.causes[0].message == 'conflict with "maker" using v1'


@pytest.mark.since("1.22", "entries did not have a subresource")
async def test_the_status_is_owned_through_its_subresource(cluster: Cluster) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(subresources={"status": {}})]))
    created = await cluster.create("widgets", cluster.widget(spec={"a": 1}, status={"x": 1}), params=by("one"))

    written = await cluster.update("widgets/status", {**created, "status": {"ready": True}}, params=by("one"))

    assert owners(written) == {
        "one:Update": {"f:spec": {".": {}, "f:a": {}}},
        "one:Update:status": {"f:status": {".": {}, "f:ready": {}}},
    }
    with pytest.raises(ApplyConflict) as caught:
        await cluster.apply("widgets/status", cluster.widget(status={"ready": False}), "two")
    assert 'conflict with "one" with subresource "status" using' in caught.value.status.message


async def test_updates_in_two_api_versions_are_separate_entries(cluster: Cluster) -> None:
    versions = [version(), version("v2", storage=False)]
    await cluster.create_crd(cluster.crd(versions=versions))
    await cluster.create("widgets", cluster.widget(spec={"a": 1}), params=by("one"))

    await cluster.patch("widgets.v2", "w", {"spec": {"b": 1}}, params=by("one"))
    entries = (await cluster.get("widgets", "w"))["metadata"]["managedFields"]

    assert [(entry["manager"], entry["apiVersion"].partition("/")[2]) for entry in entries] == [
        ("one", "v1"),
        ("one", "v2"),
    ]
    applied = {**cluster.widget(spec={"b": 2}), "apiVersion": f"{cluster.group}/v1"}
    with pytest.raises(ApplyConflict) as caught:
        await cluster.apply("widgets", applied, "two")
    assert f'conflict with "one" using {cluster.group}/v2: .spec.b' in caught.value.status.message


async def test_applies_in_all_api_versions_are_one_entry(cluster: Cluster) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(), version("v2", storage=False)]))
    await cluster.apply("widgets", cluster.widget(spec={"a": 1}), "me")

    body = {**cluster.widget(spec={"b": 1}), "apiVersion": f"{cluster.group}/v2"}
    moved = await cluster.apply("widgets.v2", body, "me")

    assert moved["spec"] == {"b": 1}
    (entry,) = moved["metadata"]["managedFields"]
    assert entry["apiVersion"] == f"{cluster.group}/v2"


@pytest.mark.parametrize("value", [[], [{}]])
async def test_empty_managed_fields_stop_the_tracking_of_owners(cluster: Cluster, value: Any) -> None:
    await cluster.create("configmaps", config())

    assert "managedFields" not in (await reset(cluster, value))["metadata"]
    written = await cluster.patch("configmaps", "a", {"data": {"l": "w"}}, params=by("two"))
    assert "managedFields" not in written["metadata"]


async def test_the_first_apply_after_a_reset_adds_before_first_apply(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(labels={"a": "b"}))
    await reset(cluster, [])

    with pytest.raises(ApplyConflict) as caught:
        await cluster.apply("configmaps", {**config(), "data": {"k": "other"}}, "me")
    assert caught.value.causes[0].message == 'conflict with "before-first-apply" using v1'

    applied = await cluster.apply("configmaps", {**config(), "data": {"l": "w"}}, "me")
    assert owners(applied) == {
        "me": {"f:data": {"f:l": {}}},
        "before-first-apply:Update": {
            "f:data": {".": {}, "f:k": {}},
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        },
    }


@pytest.mark.parametrize(
    "value",
    [
        None,
        [{"manager": "x"}],
        pytest.param([{**ENTRY, "operation": "Other"}], marks=READ),
        [{**ENTRY, "fieldsType": "V2"}],
        pytest.param([{**ENTRY, "apiVersion": ""}], marks=READ),
        [{**ENTRY, "fieldsV1": {"a": {}}}],
    ],
)
async def test_null_or_invalid_managed_fields_change_nothing(cluster: Cluster, value: Any) -> None:
    created = await cluster.create("configmaps", config(), params=by("one"))

    patched = await reset(cluster, value)

    assert patched["metadata"]["managedFields"] == created["metadata"]["managedFields"]


async def test_managed_fields_can_be_set(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(), params=by("one"))
    fields: JSONObject = {"f:data": {"f:k": {}}}
    entry = {"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}

    patched = await reset(cluster, [entry])

    assert owners(patched) == {"x": fields}


async def test_entries_with_an_unknown_api_version_are_dropped(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(), params=by("one"))
    entry = {"manager": "x", "operation": "Update", "apiVersion": "v9", "fieldsType": "FieldsV1"}

    patched = await reset(cluster, [{**entry, "fieldsV1": {"f:data": {"f:k": {}}}}])

    assert "managedFields" not in patched["metadata"]


async def test_managed_fields_cannot_be_set_through_the_status(cluster: Cluster) -> None:
    await cluster.create("deployments", workload(), params=by("one"))

    patch = {"metadata": {"managedFields": []}, "status": {"replicas": 1}}
    patched = await cluster.patch("deployments/status", "d", patch, MERGE, params=by("two"))

    assert "one:Update" in owners(patched)


@pytest.mark.since("1.27", "a first apply without changes was a write")
async def test_an_apply_that_changes_nothing_has_no_time(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(), params=by("one"))

    applied = await cluster.apply("configmaps", config(), "me")

    assert ["time" in entry for entry in applied["metadata"]["managedFields"]] == [False, True]


async def test_an_update_that_creates_owns_all_fields_of_its_body(cluster: Cluster) -> None:
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}

    created = await cluster.update("leases", lease, params=by("maker"))

    assert owners(created) == {"maker:Update": {"f:spec": {"f:holderIdentity": {}}}}


async def test_a_create_without_fields_owns_nothing(cluster: Cluster) -> None:
    created = await cluster.create("leases", {"metadata": {"name": "l"}, "spec": {}})

    assert "managedFields" not in created["metadata"]


async def test_the_oldest_of_more_than_ten_updaters_become_one(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(), params=by("m0"))
    for number in range(1, 12):
        await cluster.patch("configmaps", "a", {"data": {f"k{number}": "v"}}, params=by(f"m{number:02}"))

    found = owners(await cluster.get("configmaps", "a"))
    assert len(found) == 10
    assert "ancient-changes:Update" in found
    assert sum(len(fields["f:data"]) for fields in found.values()) == 13
