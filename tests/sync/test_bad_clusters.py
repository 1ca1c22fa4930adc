"""Clusters that cannot be reached or used: short errors, and no call that blocks for ever."""

from __future__ import annotations

import pytest

import dynkube
import dynkube.sync
from dynkube.errors import ConfigError, Unauthorized
from dynkube_testing import Hang, ServerThread, serve_in_thread
from tests.sync.kit import CONFIGMAPS, config_map, interrupt

pytestmark = pytest.mark.real_time


def test_the_error_for_an_unknown_context_lists_the_known_ones(cluster: ServerThread) -> None:
    with pytest.raises(ConfigError, match=r"'production'.*dynkube"):
        dynkube.sync.connect(kubeconfig=cluster.endpoint.kubeconfig(), context="production")


def test_an_expired_credential_is_an_error_of_calls_and_a_state_of_informers() -> None:
    with serve_in_thread(token="of-today") as cluster, dynkube.sync.connect(url=cluster.url, token="of-yesterday") as k:
        with pytest.raises(Unauthorized):
            k.raw("GET", "/api/v1/namespaces")
        namespaces = k.informer("namespaces.v1")
        unauthorized = next(state for state in namespaces.states() if "Unauthorized" in state.message)

    assert unauthorized.phase is dynkube.UNKNOWN


def test_an_interrupt_during_a_list_leaves_the_client_usable(cluster: ServerThread, k: dynkube.sync.Client) -> None:
    maps = k.resource(CONFIGMAPS)
    maps.create(config_map("one"))

    def stop(request: object) -> bool:
        interrupt()
        return True

    cluster.run(cluster.server.inject, Hang(), verb="list", when=stop, times=1)
    with pytest.raises(KeyboardInterrupt):
        maps.list(namespace="default")

    assert [obj.name for obj in maps.list(namespace="default")] == ["one"]
