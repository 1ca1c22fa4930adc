"""Test of my_controller.py, without a cluster and in virtual time. Run it by ``python -m pytest examples``."""

from datetime import UTC, datetime, timedelta

import pytest
import trio

import dynkube
from dynkube.controllers import run
from dynkube_testing import APIServer
from examples.my_controller import session_expiry


@pytest.fixture
def anyio_backend(virtual_time_backend: tuple[str, dict[str, object]]) -> tuple[str, dict[str, object]]:
    return virtual_time_backend


def virtual_now() -> datetime:
    return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=trio.current_time())


@pytest.mark.anyio
@pytest.mark.api_server(now=virtual_now, load="sessions.yaml")
async def test_sessions_end_when_their_time_is_over(api_server: APIServer, kube_client: dynkube.Client) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, kube_client, session_expiry(virtual_now))
        await trio.sleep(61)
        assert [session["metadata"]["name"] for session in api_server.list("sessions")] == ["hour"]
        await trio.sleep(3600)
        assert api_server.list("sessions") == []
        nursery.cancel_scope.cancel()
