"""Applies to objects that are being deleted, which servers accept."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import Change, Client
from tests.contract.cluster import Cluster

FINALIZER = "example.com/hold"


def config(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


@pytest.fixture
async def terminating(cluster: Cluster, client: Client) -> dict[str, Any]:
    """The namespace of an object that is being deleted and has a finalizer."""
    maps, options = client.resource("configmaps"), {"namespace": cluster.namespace}
    held = config(a="1")
    held["metadata"]["finalizers"] = [FINALIZER]
    await maps.create(held, field_manager="holder", namespace=cluster.namespace)
    await maps.apply(config(a="1"), field_manager="me", namespace=cluster.namespace)
    await maps.delete("a", namespace=cluster.namespace)
    return options


@pytest.mark.parametrize(("value", "change"), [("1", Change.UNCHANGED), ("2", Change.CHANGED)])
@pytest.mark.parametrize("dry_run", [False, True])
async def test_the_result_of_an_apply_to_an_object_being_deleted_is_terminating(
    client: Client, terminating: dict[str, Any], value: str, change: Change, dry_run: bool
) -> None:
    maps = client.resource("configmaps")

    applied = await maps.apply(config(a=value), field_manager="me", force=True, dry_run=dry_run, **terminating)

    assert (applied.change, applied.terminating) == (change, True)
    assert repr(applied).endswith(f"{change}, terminating>")


async def test_the_result_of_other_applies_is_not_terminating(cluster: Cluster, client: Client) -> None:
    applied = await client.resource("configmaps").apply(config(a="1"), namespace=cluster.namespace)

    assert not applied.terminating
    assert repr(applied).endswith("created>")


@pytest.mark.parametrize(("value", "outcome"), [("1", "unchanged"), ("2", "changed")])
async def test_a_report_shows_which_objects_are_being_deleted(
    client: Client, terminating: dict[str, Any], value: str, outcome: str
) -> None:
    report = await client.apply_all([config(a=value)], field_manager="me", force=True, **terminating)

    (entry,) = report
    assert (entry.outcome, entry.terminating, report.ok) == (outcome, True, True)
    assert "it is being deleted since" in str(entry)
    assert "it is being deleted since" in str(report)
    assert report.summary == f"1 {outcome}; 1 is being deleted"
