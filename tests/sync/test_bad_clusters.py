"""Clusters that are not there, or not as they should be: short errors, and nothing that hangs."""

from __future__ import annotations

import pytest

import dynkube
import dynkube.sync
from dynkube.errors import ConfigError, Unauthorized
from dynkube.testing import Hang, ServerThread, serve_in_thread
from tests.sync.kit import CONFIGMAPS, config_map, interrupt

pytestmark = pytest.mark.real_time


def test_a_context_that_the_kubeconfig_lacks_is_told_with_those_it_has(cluster: ServerThread) -> None:
    with pytest.raises(ConfigError, match=r"'production'.*dynkube"):
        dynkube.sync.connect(kubeconfig=cluster.endpoint.kubeconfig(), context="production")


def test_credentials_that_are_no_longer_good_are_an_error_of_calls_and_a_state_of_informers() -> None:
    with serve_in_thread(token="of-today") as cluster, dynkube.sync.connect(url=cluster.url, token="of-yesterday") as k:
        with pytest.raises(Unauthorized):
            k.raw("GET", "/api/v1/namespaces")
        namespaces = k.informer("namespaces.v1")
        refused = next(state for state in namespaces.states() if "Unauthorized" in state.message)

    assert refused.phase is dynkube.UNKNOWN


def test_an_interrupt_in_the_middle_of_a_list_leaves_the_client_usable(
    cluster: ServerThread, k: dynkube.sync.Client
) -> None:
    maps = k.resource(CONFIGMAPS)
    maps.create(config_map("one"))

    def stop(request: object) -> bool:
        interrupt()
        return True

    cluster.run(cluster.server.inject, Hang(), verb="list", when=stop, times=1)
    with pytest.raises(KeyboardInterrupt):
        maps.list(namespace="default")

    assert [obj.name for obj in maps.list(namespace="default")] == ["one"]
