"""Sets with duplicates: creates and updates may repeat finalizers, and applies can remove the duplicates."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config, owners
from tests.contract.owners.kit import applied

pytestmark = pytest.mark.since("1.29", "writing duplicates removed all owners, and then every apply failed")

A, B, C = "a.b/a", "a.b/b", "a.b/c"


@pytest.fixture
async def held(cluster: Cluster) -> AsyncIterator[Cluster]:
    """A cluster; the ConfigMap's finalizers are removed after the test."""
    yield cluster
    await cluster.patch("configmaps", "a", {"metadata": {"finalizers": None}})


async def written(cluster: Cluster, *states: list[str]) -> JSONObject:
    """Create a ConfigMap with these finalizers by ``first``, then update it to each next state by ``second``."""
    obj = await cluster.create("configmaps", config(finalizers=states[0]), params={"fieldManager": "first"})
    for state in states[1:]:
        obj["metadata"]["finalizers"] = state
        obj = await cluster.update("configmaps", obj, params={"fieldManager": "second"})
    return obj


def owned(obj: JSONObject) -> dict[str, set[str]]:
    """Return the values of the set by owner."""
    found = {manager: fields.get("f:metadata", {}).get("f:finalizers", {}) for manager, fields in owners(obj).items()}
    return {manager: {element[3:-1] for element in fields} - {""} for manager, fields in found.items() if fields}


async def test_a_create_owns_duplicates_together(held: Cluster) -> None:
    obj = await written(held, [A, A, B])

    assert (obj["metadata"]["finalizers"], owned(obj)) == ([A, A, B], {"first:Update": {A, B}})


@pytest.mark.parametrize(("before", "after"), [([A, B], [A, A, B]), ([A, A, B], [A, B])], ids=["more", "fewer"])
async def test_an_update_that_changes_their_number_owns_duplicates(
    held: Cluster, before: list[str], after: list[str]
) -> None:
    assert owned(await written(held, before, after)) == {"first:Update": {B}, "second:Update": {A}}


async def test_an_apply_of_other_values_keeps_duplicates(held: Cluster) -> None:
    await written(held, [A, A, B])

    obj = await held.apply("configmaps", config(finalizers=[C]), "me")

    assert obj["metadata"]["finalizers"] == [A, A, B, C]
    assert owned(obj) == {"first:Update": {A, B}, "me": {C}}


async def test_a_forced_apply_replaces_duplicates(held: Cluster) -> None:
    await written(held, [A, A, B])
    body = config(finalizers=[A])

    code, error = await applied(held, "configmaps", body, "me")
    obj = await held.apply("configmaps", body, "me", force=True)

    assert (code, error["details"]["causes"][0]["field"]) == (409, f'.metadata.finalizers[="{A}"]')
    assert sorted(obj["metadata"]["finalizers"]) == [A, B]
    assert owned(obj) == {"first:Update": {B}, "me": {A}}
