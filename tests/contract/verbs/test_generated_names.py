"""``generateName``: a base, followed by five random characters."""

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


async def test_a_long_base_is_cut_to_a_name_of_63_characters(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", {"metadata": {"generateName": "x" * 100}})

    assert len(created["metadata"]["name"]) == 63
    assert created["metadata"]["name"].startswith("x" * 58)


async def test_a_name_takes_precedence_over_generate_name(cluster: Cluster) -> None:
    created = await cluster.create("configmaps", config("own", generateName="job-"))

    assert created["metadata"]["name"] == "own"


async def test_a_dry_run_generates_a_name(cluster: Cluster) -> None:
    response = await cluster.create("configmaps", {"metadata": {"generateName": "job-"}}, params={"dryRun": "All"})

    assert response["metadata"]["name"].startswith("job-")


@pytest.mark.parametrize("base", ["X_", "-a", "x" * 254])
async def test_an_invalid_base_is_a_422(cluster: Cluster, base: str) -> None:
    with pytest.raises(Invalid) as caught:
        await cluster.create("configmaps", {"metadata": {"generateName": base}})

    assert caught.value.causes[0].field == "metadata.generateName"


@pytest.mark.since("1.30", "the response was a 500 with retry-after")
async def test_the_409_for_an_existing_name_with_a_base_has_retry_after(cluster: Cluster) -> None:
    await cluster.create("configmaps", config())

    with pytest.raises(AlreadyExists) as caught:
        await cluster.create("configmaps", config(generateName="job-"))

    assert caught.value.status.message.endswith(
        "already exists, the server was not able to generate a unique name for the object"
    )
    assert caught.value.status.retry_after == 1
