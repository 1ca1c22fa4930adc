"""kube-controller-manager and kube-scheduler beside the two servers, as fakes: when they start, and their errors."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import yaml

from dynkube.errors import ClosedError, ControlPlaneError, InvalidInput
from dynkube_testing import ControlPlane
from tests.testing.control_plane.fakes import Fake, write_fakes

pytestmark = pytest.mark.real_time

ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


@pytest.fixture
def components(tmp_path: Path) -> Path:
    """A folder with fakes of all four programs."""
    return write_fakes(tmp_path / "all", controller_manager=Fake(), scheduler=Fake())


def test_they_run_if_requested_and_end_with_the_control_plane(components: Path) -> None:
    with ControlPlane(components, controller_manager=True, scheduler=True) as plane:
        running = [plane.controller_manager, plane.scheduler]
        assert [(server.name, server.running) for server in running] == [
            ("kube-controller-manager", True),
            ("kube-scheduler", True),
        ]
        assert plane.describe().count("pid") == 4

    assert not any(server.running or server.crashed for server in running)


def test_each_connects_to_the_api_server_as_the_user_of_its_default_role(components: Path) -> None:
    with ControlPlane(components, controller_manager=True, scheduler=True) as plane:
        for server in (plane.controller_manager, plane.scheduler):
            flag = next(flag for flag in server.command if flag.startswith("--kubeconfig="))
            kubeconfig = yaml.safe_load(Path(flag.partition("=")[2]).read_text(encoding="utf-8"))

            assert kubeconfig["clusters"][0]["cluster"]["server"] == plane.url
            assert "client-certificate-data" in kubeconfig["users"][0]["user"]


def test_pods_need_a_service_account_only_if_a_controller_creates_them(components: Path) -> None:
    without = "--disable-admission-plugins=ServiceAccount"

    with ControlPlane(components) as plane:
        assert without in plane.api_server.command
    with ControlPlane(components, controller_manager=True) as plane:
        assert without not in plane.api_server.command


def test_the_control_plane_is_ready_when_the_first_service_account_exists(tmp_path: Path) -> None:
    assets = write_fakes(
        tmp_path / "bin", api_server=Fake(responses={ACCOUNT: (404, "not found")}), controller_manager=Fake()
    )

    message = f"kube-controller-manager was not ready after 1 seconds .*: {ACCOUNT} responded 404: not found"
    with (
        pytest.raises(ControlPlaneError, match=message),
        ControlPlane(assets, controller_manager=True, start_timeout=1),
    ):
        pass


def test_service_accounts_are_not_awaited_if_the_user_selects_the_controllers(tmp_path: Path) -> None:
    assets = write_fakes(
        tmp_path / "bin", api_server=Fake(responses={ACCOUNT: (404, "not found")}), controller_manager=Fake()
    )
    flags = {"controllers": "garbage-collector-controller"}

    with ControlPlane(assets, controller_manager=True, controller_manager_flags=flags) as plane:
        assert "--controllers=garbage-collector-controller" in plane.controller_manager.command


def test_the_error_for_a_missing_program_says_that_envtest_does_not_have_it(fakes: Path) -> None:
    with (
        pytest.raises(ControlPlaneError, match=r"no kube-scheduler at .*setup-envtest does not install it: take it"),
        ControlPlane(fakes, scheduler=True),
    ):
        pass


def test_a_server_that_was_not_requested_is_an_error_that_names_the_argument(fakes: Path) -> None:
    with ControlPlane(fakes) as plane:
        with pytest.raises(ClosedError, match=r"no kube-scheduler: create it with ControlPlane\(scheduler=True\)"):
            plane.scheduler.kill()
        with pytest.raises(ClosedError, match=r"ControlPlane\(controller_manager=True\)"):
            plane.controller_manager.kill()


def test_flags_of_a_server_that_was_not_requested_are_rejected() -> None:
    with pytest.raises(InvalidInput, match="scheduler_flags are given without scheduler=True"):
        ControlPlane(scheduler_flags={"v": 4})


def test_flags_that_the_control_plane_sets_are_rejected() -> None:
    with pytest.raises(InvalidInput, match="controller_manager_flags: kubeconfig is set by the control plane itself"):
        ControlPlane(controller_manager=True, controller_manager_flags={"kubeconfig": "mine"})


@pytest.mark.parametrize("name", ["kube-controller-manager", "kube-scheduler"])
def test_a_server_that_ended_by_itself_is_reported_at_the_end(name: str, components: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plane"

    with (  # noqa: PT031  # the warning comes at the end of the control plane
        pytest.warns(RuntimeWarning, match=f"{name} exited unexpectedly, killed by SIGKILL"),
        ControlPlane(components, controller_manager=True, scheduler=True, folder=folder, keep=False) as plane,
    ):
        server = plane.scheduler if name == "kube-scheduler" else plane.controller_manager
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        assert server._run is not None
        server._run.ended.wait()

    assert (folder / f"{name}.log").exists()
