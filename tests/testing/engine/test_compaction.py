"""Lists after a compaction: continue tokens, and lists at an exact version."""

from __future__ import annotations

import pytest

from dynkube.errors import Gone
from dynkube_testing._calls.refuse import ContinueExpired
from tests.contract.objects import config
from tests.testing.engine.cluster import Cluster


@pytest.fixture
def five(cluster: Cluster) -> Cluster:
    for name in "abcde":
        cluster.create("configmaps", config(name))
    return cluster


def test_the_410_for_a_compacted_continue_token_has_a_token_to_continue_with(five: Cluster) -> None:
    token = five.list_of("configmaps", limit="2")["metadata"]["continue"]
    five.delete("configmaps", "c")
    five.engine.storage.compact()

    with pytest.raises(Gone, match="too old to display a consistent list") as caught:
        five.list_of("configmaps", limit="9", **{"continue": token})
    assert isinstance(caught.value, ContinueExpired)
    assert five.names("configmaps", limit="9", **{"continue": caught.value.continue_token}) == ["d", "e"]


def test_versions_since_the_compaction_can_be_listed(five: Cluster) -> None:
    past = [str(five.engine.storage.revision)]
    for name in "ab":
        five.delete("configmaps", name)
        past.append(str(five.engine.storage.revision))
    five.engine.storage.compact(int(past[1]))

    shown = [
        "".join(five.names("configmaps", resourceVersion=version, resourceVersionMatch="Exact")) for version in past[1:]
    ]
    assert shown == ["bcde", "cde"]
    with pytest.raises(Gone, match="The resourceVersion for the provided list is too old"):
        five.list_of("configmaps", resourceVersion=past[0], resourceVersionMatch="Exact")
