"""``generateName``: a base, and five characters behind it."""

from __future__ import annotations

import pytest

from dynkube.errors import AlreadyExists, Invalid
from tests.contract.cluster import Cluster
from tests.contract.objects import config


async def test_a_generated_name_begins_with_its_base(cluster: Cluster) -> None:
    body = {"metadata": {"generateName": "job-"}}
    created = [(await cluster.create("configmaps", body))["metadata"] for _ in range(3)]

    assert len({metadata["name"] for metadata in created}) == 3
    for metadata in created:
        assert metadata["generateName"] == "job-"
        assert metadata["name"].startswith("job-")
        assert len(metadata["name"]) == 9
        assert set(metadata["name"][4:]) <= set("bcdfghjklmnpqrstvwxz2456789")


async def test_a_long_base_is_cut_so_that_a_label_can_hold_the_name(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", {"metadata": {"generateName": "x" * 100}})

    assert len(created["metadata"]["name"]) == 63
    assert created["metadata"]["name"].startswith("x" * 58)


async def test_a_name_counts_more_than_a_base(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", config("own", generateName="job-"))

    assert created["metadata"]["name"] == "own"


async def test_a_dry_run_generates_a_name_too(cluster: Cluster) -> None:
    answer = await cluster.create("configmaps", {"metadata": {"generateName": "job-"}}, params={"dryRun": "All"})

    assert answer["metadata"]["name"].startswith("job-")


@pytest.mark.parametrize("base", ["X_", "-a", "x" * 254])
async def test_a_base_that_no_name_may_have_is_a_cause(cluster: Cluster, base: str) -> None:
    with pytest.raises(Invalid) as caught:
        await cluster.create("configmaps", {"metadata": {"generateName": base}})

    assert caught.value.causes[0].field == "metadata.generateName"


@pytest.mark.since("1.30", "before, the answer was a 500 that asks to try again")
async def test_a_taken_name_with_a_base_may_be_tried_again(cluster: Cluster) -> None:
    await cluster.create("configmaps", config())

    with pytest.raises(AlreadyExists) as caught:
        await cluster.create("configmaps", config(generateName="job-"))

    assert caught.value.status.message.endswith(
        "already exists, the server was not able to generate a unique name for the object"
    )
    assert caught.value.status.retry_after == 1
