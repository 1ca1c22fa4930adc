"""The canonical form of quantities."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster


@pytest.mark.parametrize(
    ("sent", "written"),
    [
        ("9.3E", "9300P"),
        ("100E", "100E"),
        ("20Ei", "9223372036854775807"),
        ("0.1Ki", "102400m"),
        ("1.5Gi", "1536Mi"),
        ("1e30", "1e30"),
        ("123456789012345678901.5", "123456789012345678901500m"),
    ],
)
async def test_a_quantity_is_stored_in_its_canonical_form(cluster: Cluster, sent: str, written: str) -> None:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.memory": sent}}}

    created = await cluster.create("resourcequotas", quota, params={"dryRun": "All"})

    assert created["spec"]["hard"] == {"requests.memory": written}
