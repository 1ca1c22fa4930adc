"""Control planes in programs with an event loop."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio

from dynkube_testing import ControlPlane
from tests.testing.control_plane.fakes import Fake, write_fakes

pytestmark = pytest.mark.real_time


async def test_with_trio_start_and_stop_do_not_block_the_event_loop(fakes: Path) -> None:
    turns = 0

    async def spin() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(spin)
        async with ControlPlane(fakes) as plane:
            turns_at_start = turns
            servers = plane.etcd, plane.api_server
        nursery.cancel_scope.cancel()

    assert 0 < turns_at_start < turns
    assert [server.running for server in servers] == [False, False]
    assert not plane.folder.exists()


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    """A FIFO: opening it blocks until a fake program holds it, reading it until that program ends."""
    os.mkfifo(tmp_path / "fifo")
    return tmp_path / "fifo"


def never_ready(folder: Path, fifo: Path) -> Path:
    """Write programs whose kube-apiserver starts but never becomes ready."""
    return write_fakes(folder, api_server=Fake(holds=str(fifo), responses={"/readyz?verbose": (500, "not yet")}))


async def test_cancelling_a_start_ends_the_processes(tmp_path: Path, fifo: Path) -> None:
    plane = ControlPlane(never_ready(tmp_path / "bin", fifo), folder=tmp_path / "plane", keep=False)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(plane.__aenter__)
        held = await trio.to_thread.run_sync(fifo.open)
        nursery.cancel_scope.cancel()

    with held:
        assert held.read() == "", "the process that held it has ended"
    assert not (tmp_path / "plane").exists()


async def test_cancelling_a_restart_leaves_no_process(fakes: Path, fifo: Path) -> None:
    async with ControlPlane(fakes) as plane:
        never_ready(fakes, fifo)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, plane.api_server.restart)
            held = await trio.to_thread.run_sync(fifo.open)
            nursery.cancel_scope.cancel()

        held.close()
        assert plane.api_server.exit_code == -signal.SIGKILL
        assert plane.etcd.running


async def test_cancelling_a_stop_leaves_the_server_running(tmp_path: Path) -> None:
    assets = write_fakes(tmp_path / "bin", api_server=Fake(ignores_sigterm=True))

    async with ControlPlane(assets) as plane:
        with trio.move_on_after(0.1) as scope:
            await trio.to_thread.run_sync(plane.api_server.stop)

        assert scope.cancelled_caught
        assert plane.api_server.running


async def test_an_exception_in_the_block_gets_a_note_with_the_folder_of_the_logs(fakes: Path, tmp_path: Path) -> None:
    with pytest.raises(LookupError) as caught:
        async with ControlPlane(fakes, folder=tmp_path / "plane"):
            raise LookupError

    assert caught.value.__notes__ == [f"the logs of the control plane are in {tmp_path / 'plane'}"]


def test_entering_on_asyncio_raises(fakes: Path) -> None:
    with pytest.raises(RuntimeError, match="requires trio"):
        asyncio.run(ControlPlane(fakes).__aenter__())


def test_asyncio_can_enter_a_control_plane_in_a_thread(fakes: Path) -> None:
    async def main() -> None:
        with ExitStack() as stack:
            plane = await asyncio.to_thread(stack.enter_context, ControlPlane(fakes))
            await asyncio.to_thread(plane.api_server.restart)
            assert plane.api_server.running

    asyncio.run(main())
