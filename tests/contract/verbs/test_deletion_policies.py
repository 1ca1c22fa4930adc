"""Propagation policies of deletes, from the request, the object or its kind: the finalizers that they set.

The garbage collector processes dependents, and is not part of kube-apiserver: so these tests assert only the response.
"""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import BadRequest, Conflict, InternalError, NotFound
from tests.contract.cluster import Cluster
from tests.contract.objects import config, pod

HELD = "example.com/hold"


@pytest.mark.parametrize(
    ("before", "options", "after"),
    [
        ([], {"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ([], {"propagationPolicy": "Orphan"}, ["orphan"]),
        ([], {"orphanDependents": True}, ["orphan"]),
        ([HELD], {"propagationPolicy": "Background"}, [HELD]),
        ([HELD], {"propagationPolicy": "Foreground"}, [HELD, "foregroundDeletion"]),
        (["orphan", HELD], {}, ["orphan", HELD]),
        (["orphan", HELD], {"propagationPolicy": "Background"}, [HELD]),
        (["orphan", HELD], {"orphanDependents": False}, [HELD]),
        (["foregroundDeletion"], {}, ["foregroundDeletion"]),
        (["foregroundDeletion"], {"propagationPolicy": "Orphan"}, ["orphan"]),
    ],
)
async def test_the_policy_of_the_request_overrides_that_of_the_object(
    cluster: Cluster, before: list[str], options: dict[str, Any], after: list[str]
) -> None:
    await cluster.create("configmaps", config(finalizers=before))

    metadata = (await cluster.delete("configmaps", "a", body=options))["metadata"]

    assert sorted(metadata["finalizers"]) == sorted(after)
    assert (bool(metadata["deletionTimestamp"]), metadata["deletionGracePeriodSeconds"]) == (True, 0)


async def test_a_policy_can_remove_the_finalizer_that_would_keep_the_object(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(finalizers=["foregroundDeletion"]))

    response = await cluster.delete("configmaps", "a", body={"propagationPolicy": "Background"})

    assert response["status"] == "Success"
    with pytest.raises(NotFound):
        await cluster.get("configmaps", "a")


async def test_the_policy_can_change_while_the_object_is_being_deleted(cluster: Cluster) -> None:
    await cluster.create("configmaps", config(finalizers=[HELD]))
    await cluster.delete("configmaps", "a")

    first = await cluster.delete("configmaps", "a", body={"propagationPolicy": "Foreground"})
    then = await cluster.delete("configmaps", "a", body={"propagationPolicy": "Orphan"})

    assert sorted(first["metadata"]["finalizers"]) == [HELD, "foregroundDeletion"]
    assert sorted(then["metadata"]["finalizers"]) == [HELD, "orphan"]


async def test_the_default_policy_of_jobs_is_orphan(cluster: Cluster) -> None:
    spec = {"template": {"spec": pod(restartPolicy="Never")["spec"]}}
    await cluster.create("jobs", {"metadata": {"name": "a"}, "spec": spec})

    assert (await cluster.delete("jobs", "a"))["metadata"]["finalizers"] == ["orphan"]


async def test_events_ignore_the_policy(cluster: Cluster) -> None:
    regarding = {"kind": "Pod", "name": "p", "namespace": cluster.namespace}
    await cluster.create("events", {"metadata": {"name": "a"}, "involvedObject": regarding})

    assert (await cluster.delete("events", "a", body={"propagationPolicy": "Foreground"}))["status"] == "Success"


@pytest.mark.parametrize(
    ("params", "finalizers"),
    [
        ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ({"propagationPolicy": "Orphan", "gracePeriodSeconds": "5"}, ["orphan"]),
        ({"orphanDependents": "yes"}, ["orphan"]),
    ],
)
async def test_options_can_be_in_the_query(cluster: Cluster, params: dict[str, str], finalizers: list[str]) -> None:
    await cluster.create("configmaps", config())

    response = await cluster.delete("configmaps", "a", params=params)

    assert response["metadata"]["finalizers"] == finalizers


async def test_the_query_is_ignored_if_there_is_a_body(cluster: Cluster) -> None:
    await cluster.create("configmaps", config())

    response = await cluster.delete("configmaps", "a", params={"propagationPolicy": "Orphan"}, body={})

    assert response["status"] == "Success"


@pytest.mark.parametrize(
    ("body", "expected", "old"),
    [
        ({"gracePeriodSeconds": "5"}, "string * DeleteOptions.gracePeriodSeconds of type int64", "GracePeriodSeconds"),
        ({"gracePeriodSeconds": True}, "bool * DeleteOptions.gracePeriodSeconds of type int64", "GracePeriodSeconds"),
        ({"dryRun": "All"}, "string * DeleteOptions.dryRun of type []string", "DryRun"),
        ({"preconditions": []}, "array * DeleteOptions.preconditions of type v1.Preconditions", "Preconditions"),
        ({"preconditions": {"uid": 5}}, "number * Preconditions.preconditions.uid of type types.UID", "Preconditions"),
        ({"orphanDependents": "x"}, "string * DeleteOptions.orphanDependents of type bool", "OrphanDependents"),
        (
            {"propagationPolicy": 5},
            "number * DeleteOptions.propagationPolicy of type v1.DeletionPropagation",
            "PropagationPolicy",
        ),
    ],
)
async def test_the_error_for_a_value_of_the_wrong_type_has_its_field(
    cluster: Cluster, body: dict[str, Any], expected: str, old: str
) -> None:
    await cluster.create("configmaps", config())

    with pytest.raises(BadRequest if cluster.version >= (1, 27) else InternalError) as caught:
        await cluster.delete("configmaps", "a", body=body)

    message = caught.value.status.message
    if cluster.version >= (1, 27):
        assert message == f"json: cannot unmarshal {expected.replace('*', 'into Go struct field')}"
    else:
        assert message.startswith(f"v1.DeleteOptions.{old}: ")


async def test_preconditions_can_be_in_the_query(cluster: Cluster) -> None:
    await cluster.create("configmaps", config())

    with pytest.raises(Conflict, match=r"UID in the precondition \(x\) does not match"):
        await cluster.delete("configmaps", "a", params={"uid": "x"})
