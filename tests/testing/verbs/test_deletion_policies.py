"""What a delete writes about dependents into the object: the policy of the caller, the object or its kind."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import BadRequest, Conflict, Invalid
from tests.testing.engine.cluster import Cluster, config

HELD = "test.example.com/held"
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "a"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}},
}


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
def test_the_caller_overrides_the_object(
    bare: Cluster, before: list[str], options: dict[str, Any], after: list[str]
) -> None:
    bare.create("configmaps", config(finalizers=before))

    left = bare.delete("configmaps", "a", body=options)["metadata"]

    assert left["finalizers"] == after
    assert (left["deletionTimestamp"], left["deletionGracePeriodSeconds"]) == ("2026-01-02T03:04:05Z", 0)


def test_a_policy_may_let_go_what_a_finalizer_would_have_held(bare: Cluster) -> None:
    bare.create("configmaps", config(finalizers=["foregroundDeletion"]))

    assert bare.delete("configmaps", "a", body={"propagationPolicy": "Background"})["status"] == "Success"
    assert bare.names("configmaps") == []


def test_the_policy_can_change_while_the_object_is_on_its_way(bare: Cluster) -> None:
    bare.create("configmaps", config(finalizers=[HELD]))
    bare.delete("configmaps", "a")

    bare.delete("configmaps", "a", body={"propagationPolicy": "Foreground"})
    left = bare.delete("configmaps", "a", body={"propagationPolicy": "Orphan"})

    assert left["metadata"]["finalizers"] == [HELD, "orphan"]


def test_jobs_leave_their_dependents_behind_unless_told_otherwise(bare: Cluster) -> None:
    bare.create("jobs", JOB)

    assert bare.delete("jobs", "a")["metadata"]["finalizers"] == ["orphan"]


def test_events_have_no_dependents_whatever_the_policy(bare: Cluster) -> None:
    regarding = {"kind": "Pod", "name": "p", "namespace": "default"}
    bare.create("events", {"metadata": {"name": "a"}, "involvedObject": regarding})

    assert bare.delete("events", "a", body={"propagationPolicy": "Foreground"})["status"] == "Success"


@pytest.mark.parametrize(
    ("params", "left"),
    [
        ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ({"propagationPolicy": "Orphan", "gracePeriodSeconds": "5"}, ["orphan"]),
        ({"orphanDependents": "yes"}, ["orphan"]),
    ],
)
def test_options_may_come_in_the_query(bare: Cluster, params: dict[str, str], left: list[str]) -> None:
    bare.create("configmaps", config())

    assert bare.delete("configmaps", "a", params=params)["metadata"]["finalizers"] == left


def test_with_a_body_the_query_does_not_count(bare: Cluster) -> None:
    bare.create("configmaps", config())

    left = bare.delete("configmaps", "a", params={"propagationPolicy": "Orphan"}, body={})

    assert left["status"] == "Success"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            {"gracePeriodSeconds": "5"},
            "cannot unmarshal string into Go struct field .*gracePeriodSeconds of type int64",
        ),
        ({"gracePeriodSeconds": True}, "cannot unmarshal bool into Go struct field .*gracePeriodSeconds of type int64"),
        ({"dryRun": "All"}, r"cannot unmarshal string into Go struct field .*dryRun of type \[\]string"),
        ({"preconditions": []}, "cannot unmarshal array .*preconditions of type v1.Preconditions"),
        ({"preconditions": {"uid": 5}}, "cannot unmarshal number .*preconditions.uid of type types.UID"),
        ({"orphanDependents": "x"}, "cannot unmarshal string .*orphanDependents of type bool"),
        ({"propagationPolicy": 5}, "cannot unmarshal number .*propagationPolicy of type v1.DeletionPropagation"),
    ],
)
def test_values_of_the_wrong_type_are_named(bare: Cluster, body: dict[str, Any], words: str) -> None:
    bare.create("configmaps", config())

    with pytest.raises(BadRequest, match=words):
        bare.delete("configmaps", "a", body=body)


def test_all_of_dry_run_is_shown_where_one_value_is_not_known(bare: Cluster) -> None:
    bare.create("configmaps", config())

    with pytest.raises(Invalid, match=r'dryRun: Unsupported value: \["All","x"\]: supported values: "All"'):
        bare.delete("configmaps", "a", body={"dryRun": ["All", "x"]})


def test_preconditions_may_come_in_the_query_by_their_bare_names(bare: Cluster) -> None:
    bare.create("configmaps", config())

    with pytest.raises(Conflict, match=r"UID in the precondition \(x\) does not match"):
        bare.delete("configmaps", "a", params={"uid": "x"})


def test_namespaces_word_a_precondition_that_does_not_hold_in_their_own_way(bare: Cluster) -> None:
    bare.create("namespaces", {"metadata": {"name": "shop"}})

    with pytest.raises(Conflict, match=r'namespaces "shop": Precondition failed: UID in precondition: x'):
        bare.delete("namespaces", "shop", body={"preconditions": {"uid": "x"}})
