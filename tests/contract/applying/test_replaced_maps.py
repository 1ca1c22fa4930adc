"""Fields whose type changes: a diff has the same conflicts as the apply."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import GVR, Client, ResourceClient
from dynkube.errors import ApplyConflict, FieldConflict
from tests.contract.cluster import Cluster
from tests.contract.owners.kit import served


@pytest.fixture
async def widgets(cluster: Cluster, client: Client) -> ResourceClient:
    """Widgets with a field ``open`` that allows any content."""
    await cluster.create_crd(cluster.crd(versions=[served()]))
    return client.resource(GVR(cluster.group, "v1", "widgets"))


def as_tuples(conflicts: tuple[FieldConflict, ...]) -> list[tuple[str, str, object, object]]:
    return [(each.path, each.manager, each.ours, each.live) for each in conflicts]


@pytest.mark.parametrize(
    ("live", "ours", "field"),
    [
        ({"u": 1, "v": 2}, "text", ".spec.open.field"),
        ({"u": {"w": 1}, "v": 2}, ["item"], ".spec.open.field"),
        ({"u": {"w": 1}}, {"u": "text"}, ".spec.open.field.u"),
        ("text", {"u": 1}, ".spec.open.field"),
        (["item"], {"u": 1}, ".spec.open.field"),
        ([{"u": 1}], "text", ".spec.open.field"),
    ],
    ids=str,
)
@pytest.mark.parametrize("operation", ["Apply", "Update"])
async def test_the_conflict_is_the_replaced_field_itself(
    cluster: Cluster, widgets: ResourceClient, live: Any, ours: Any, field: str, operation: str
) -> None:
    theirs, mine = (cluster.widget(spec={"open": {"field": value}}) for value in (live, ours))
    options: dict[str, Any] = {"namespace": cluster.namespace}
    await (widgets.apply if operation == "Apply" else widgets.create)(theirs, field_manager="other", **options)

    diff = await widgets.diff(mine, field_manager="me", **options)
    with pytest.raises(ApplyConflict) as caught:
        await widgets.apply(mine, field_manager="me", **options)
    with pytest.raises(ApplyConflict) as partly:
        await widgets.apply(mine, field_manager="me", force=[f"{field}.x"], **options)

    assert [(each.path, each.manager) for each in diff.conflicts] == [(field, "other")]
    assert as_tuples(diff.conflicts) == as_tuples(caught.value.conflicts) == as_tuples(partly.value.conflicts)


async def test_fields_inside_a_replaced_map_are_no_further_conflicts(cluster: Cluster, widgets: ResourceClient) -> None:
    options: dict[str, Any] = {"namespace": cluster.namespace}
    await widgets.apply(cluster.widget(spec={"open": {"field": {"u": 1}}}), field_manager="other", **options)
    await widgets.patch("w", {"spec": {"open": {"field": {"v": 2}}}}, field_manager="hand", **options)
    mine = cluster.widget(spec={"open": {"field": "text"}})

    diff = await widgets.diff(mine, field_manager="me", **options)
    with pytest.raises(ApplyConflict) as caught:
        await widgets.apply(mine, field_manager="me", **options)

    assert [(each.path, each.manager) for each in caught.value.conflicts] == [(".spec.open.field", "other")]
    assert as_tuples(diff.conflicts) == as_tuples(caught.value.conflicts)


async def test_a_map_without_an_owner_is_replaced_without_a_conflict(cluster: Cluster, widgets: ResourceClient) -> None:
    options: dict[str, Any] = {"namespace": cluster.namespace}
    await widgets.apply(cluster.widget(spec={"open": {"field": {"u": 1}}}), field_manager="other", **options)
    await widgets.patch("w", {"spec": {"open": {"field": {"v": 2}}}}, field_manager="hand", **options)
    await widgets.release_fields("w", ".spec.open.field", "other", **options)
    mine = cluster.widget(spec={"open": {"field": "text"}})

    diff = await widgets.diff(mine, field_manager="me", **options)
    applied = await widgets.apply(mine, field_manager="me", **options)

    assert (bool(diff), diff.conflicts) == (True, ())
    assert applied["spec"]["open"] == {"field": "text"}


async def test_forcing_a_replaced_map_includes_the_fields_inside_it(cluster: Cluster, widgets: ResourceClient) -> None:
    options: dict[str, Any] = {"namespace": cluster.namespace}
    await widgets.apply(cluster.widget(spec={"open": {"field": {"u": 1}}}), field_manager="other", **options)
    mine = cluster.widget(spec={"open": {"field": "text"}})

    applied = await widgets.apply(mine, field_manager="me", force=[".spec.open.field"], **options)

    assert applied["spec"]["open"] == {"field": "text"}
