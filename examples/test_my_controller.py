"""Test of my_controller.py, without a cluster and in virtual time. Run it by ``python -m pytest examples``."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
import trio

import dynkube
from dynkube.controllers import run
from dynkube_testing import APIServer, PerturbedRun
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


async def expire(client: dynkube.Client) -> None:
    await run(client, session_expiry(virtual_now), shutdown_timeout=0)


def new_server(random: Random) -> APIServer:
    return APIServer(now=virtual_now, random=random, watch_list=False)


@pytest.mark.perturb(plans=15, server=new_server)
async def test_whatever_happens_sessions_end(perturbed: PerturbedRun) -> None:
    perturbed.server.load(Path(__file__).with_name("sessions.yaml"))
    perturbed.start(expire)
    await perturbed.settle(quiet=600)
    await perturbed.settle(quiet=4000)
    assert perturbed.server.list("sessions") == []
