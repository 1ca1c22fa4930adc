"""Servers are killed, stopped, paused and started again; and what remains when the block ends."""

from __future__ import annotations

import os
import signal
import warnings
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from dynkube.errors import ClosedError, ControlPlaneError
from dynkube_testing import ControlPlane, ServerProcess
from tests.testing.control_plane.fakes import Fake, write_fakes

pytestmark = pytest.mark.real_time


def test_a_killed_server_can_be_started_again_on_the_same_port(fakes: Path) -> None:
    with ControlPlane(fakes) as plane:
        server, url, first = plane.api_server, plane.url, plane.api_server.pid

        server.kill()
        assert (server.running, server.pid, server.exit_code) == (False, None, -signal.SIGKILL)
        server.start()

        assert server.running
        assert server.pid not in {None, first}
        assert plane.url == url


def test_stopping_sends_sigterm(fakes: Path) -> None:
    with ControlPlane(fakes) as plane:
        plane.etcd.stop()

        assert plane.etcd.exit_code == -signal.SIGTERM
        assert plane.etcd.ending == "killed by SIGTERM"
        assert plane.api_server.running


def test_restarting_replaces_the_process(fakes: Path) -> None:
    with ControlPlane(fakes) as plane:
        first = plane.api_server.pid

        plane.api_server.restart()

        assert plane.api_server.pid not in {None, first}


def test_starting_a_running_server_and_stopping_a_stopped_one_do_nothing(fakes: Path) -> None:
    with ControlPlane(fakes) as plane:
        first = plane.api_server.pid
        plane.api_server.start()
        assert plane.api_server.pid == first

        plane.api_server.kill()
        plane.api_server.kill()
        plane.api_server.stop()
        assert not plane.api_server.running


def test_a_server_that_ignores_sigterm_is_killed_with_an_error(tmp_path: Path) -> None:
    assets = write_fakes(tmp_path / "bin", api_server=Fake(ignores_sigterm=True))

    with ControlPlane(assets, stop_timeout=0.1) as plane:
        with pytest.raises(ControlPlaneError, match=r"kube-apiserver had not exited 0\.1 seconds after SIGTERM"):
            plane.api_server.stop()
        assert plane.api_server.exit_code == -signal.SIGKILL


def test_a_paused_server_is_stopped_by_a_signal_until_it_is_resumed(fakes: Path) -> None:
    with ControlPlane(fakes, start_timeout=30) as plane:
        plane.api_server.pause()
        assert state_of(plane.api_server.pid) == "T"

        plane.api_server.resume()
        plane.api_server.wait_ready()
        assert state_of(plane.api_server.pid) != "T"


def state_of(pid: int | None) -> str:
    """Return the state of a process: ``T`` if stopped by a signal, ``S`` if sleeping (`proc(5)`)."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        pytest.skip("process states are known on Linux only")
    return stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0]


def test_a_paused_server_can_be_stopped(fakes: Path) -> None:
    with ControlPlane(fakes) as plane:
        plane.etcd.pause()

        plane.etcd.stop()

        assert plane.etcd.exit_code == -signal.SIGTERM


def test_pausing_a_server_that_is_not_running_is_an_error(fakes: Path) -> None:
    with ControlPlane(fakes) as plane:
        plane.etcd.kill()

        for method in (plane.etcd.pause, plane.etcd.resume, plane.etcd.wait_ready):
            with pytest.raises(ControlPlaneError, match=r"etcd is not running; start\(\) it first"):
                method()


def test_tail_returns_the_last_lines_logged_since_the_last_start(tmp_path: Path) -> None:
    assets = write_fakes(tmp_path / "bin", etcd=Fake(prints="one\ntwo\nthree"))

    with ControlPlane(assets) as plane:
        plane.etcd.restart()

        assert plane.etcd.tail(50) == "one\ntwo\nthree"
        assert plane.etcd.tail(1) == "three"
        assert plane.etcd.log.read_text(encoding="utf-8") == "one\ntwo\nthree\n" * 2
        assert f"etcd: {plane.etcd.log}\nthree" in plane.logs(1)


def test_leaving_ends_both_servers_and_removes_the_folder(fakes: Path) -> None:
    with ControlPlane(fakes) as plane:
        servers = plane.etcd, plane.api_server
        assert (plane.folder / "certificates").is_dir()

    assert [server.running for server in servers] == [False, False]
    assert not plane.folder.exists()
    for server in servers:
        with pytest.raises(ClosedError, match=r"the control plane of this .* has stopped"):
            server.start()


def test_leaving_warns_of_a_server_that_exited_unexpectedly_and_keeps_its_log(fakes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plane"
    stack = ExitStack()
    plane = stack.enter_context(ControlPlane(fakes, folder=folder, keep=False))

    assert plane.etcd.pid is not None
    os.kill(plane.etcd.pid, signal.SIGINT)
    await_end(plane.etcd)

    with pytest.warns(RuntimeWarning, match=rf"etcd exited unexpectedly, killed by SIGINT; .* are in {folder}"):
        stack.close()
    assert (folder / "etcd.log").exists()


def await_end(server: ServerProcess) -> None:
    """Wait until the server has been ended by a signal from outside."""
    with suppress(ControlPlaneError):  # wait_ready() raises it when the server has ended
        while True:
            server.wait_ready()


def test_a_server_that_the_test_killed_causes_no_warning(fakes: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ControlPlane(fakes) as plane:
            plane.api_server.kill()
