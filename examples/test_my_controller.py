"""Test of my_controller.py, without a cluster and in virtual time. Run it by ``python -m pytest examples``."""

from pathlib import Path

import pytest
import trio

import dynkube
from dynkube.testing import APIServer
from examples.my_controller import expire_sessions


@pytest.fixture
def anyio_backend(virtual_time_backend: tuple[str, dict[str, object]]) -> tuple[str, dict[str, object]]:
    return virtual_time_backend


@pytest.mark.anyio
async def test_sessions_end_when_their_time_is_over(api_server: APIServer, kube_client: dynkube.Client) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(expire_sessions, kube_client)
        api_server.load(Path(__file__).with_name("sessions.yaml"))
        await trio.sleep(61)
        assert [session["metadata"]["name"] for session in api_server.list("sessions")] == ["hour"]
        await trio.sleep(3600)
        assert api_server.list("sessions") == []
        nursery.cancel_scope.cancel()
