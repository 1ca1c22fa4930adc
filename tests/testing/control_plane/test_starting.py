"""Errors of a control plane whose servers do not start."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from dynkube.errors import ClosedError, ControlPlaneError
from dynkube_testing import ControlPlane
from tests.testing.control_plane.fakes import Fake, write_fakes

pytestmark = pytest.mark.real_time

UNREADY = "[+]ping ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\nreadyz check failed\n"


def error_message(plane: ControlPlane) -> str:
    """Return the error message of entering ``plane``, which also ends the servers it has started."""
    with pytest.raises(ControlPlaneError) as caught, plane:
        pass
    return str(caught.value)


@pytest.mark.parametrize("name", ["etcd", "kube-apiserver"])
def test_the_error_for_a_server_that_exits_at_its_start_quotes_its_log(tmp_path: Path, name: str) -> None:
    output = "\n".join(f"line {number}" for number in range(100)) + "\nError: unknown flag: --nothing"
    ending = Fake(prints=output, exits=3)
    etcd, api_server = (ending, None) if name == "etcd" else (None, ending)
    assets = write_fakes(tmp_path / "bin", etcd=etcd, api_server=api_server)

    message = error_message(ControlPlane(assets, folder=tmp_path / "plane"))

    log = tmp_path / "plane" / f"{name}.log"
    assert f"{name} exited before it was ready, with exit code 3; the end of its log, {log}:\n" in message
    assert message.endswith("line 98\nline 99\nError: unknown flag: --nothing")
    assert "line 79" not in message
    assert log.read_text(encoding="utf-8").startswith("line 0\n")


def test_the_usage_that_etcd_prints_below_an_error_is_left_out(tmp_path: Path) -> None:
    manual = "flag provided but not defined: -nothing\nUsage:\n" + "\n  etcd [flags]" * 30
    assets = write_fakes(tmp_path / "bin", etcd=Fake(prints=manual, exits=2))

    assert error_message(ControlPlane(assets, folder=tmp_path / "plane")).endswith(
        ":\nflag provided but not defined: -nothing"
    )


def test_the_error_for_a_server_that_exits_without_output_says_that_its_log_is_empty(tmp_path: Path) -> None:
    assets = write_fakes(tmp_path / "bin", etcd=Fake(exits=0))

    message = error_message(ControlPlane(assets, folder=tmp_path / "plane"))

    assert message == f"etcd exited before it was ready, with exit code 0; its log, {tmp_path}/plane/etcd.log, is empty"


def test_the_error_for_an_api_server_that_is_never_ready_quotes_readyz_and_its_log(tmp_path: Path) -> None:
    fake = Fake(prints="I am here", responses={"/readyz?verbose": (500, UNREADY)})
    assets = write_fakes(tmp_path / "bin", api_server=fake)

    message = error_message(ControlPlane(assets, folder=tmp_path / "plane", start_timeout=1))

    assert message.startswith(
        "kube-apiserver was not ready after 1 seconds (start_timeout=): /readyz?verbose responded 500: "
    )
    assert "[-]poststarthook/rbac/bootstrap-roles failed" in message
    assert message.endswith("I am here")


def test_the_error_for_an_unhealthy_etcd_quotes_its_health(tmp_path: Path) -> None:
    assets = write_fakes(tmp_path / "bin", etcd=Fake(responses={"/health": (503, '{"health":"false"}')}))

    message = error_message(ControlPlane(assets, folder=tmp_path / "plane", start_timeout=0.5))

    assert 'etcd was not ready after 0.5 seconds (start_timeout=): /health responded 503: {"health":"false"}' in message


def test_an_api_server_without_the_default_namespace_is_not_ready(tmp_path: Path) -> None:
    fake = Fake(responses={"/api/v1/namespaces/default": (404, "not found")})
    assets = write_fakes(tmp_path / "bin", api_server=fake)

    message = error_message(ControlPlane(assets, folder=tmp_path / "plane", start_timeout=1))

    assert "/api/v1/namespaces/default responded 404: not found" in message


def test_a_requested_port_that_is_in_use_is_an_error(fakes: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        assert error_message(ControlPlane(fakes, port=port)) == (
            f"port {port} of 127.0.0.1 is in use: stop the process that listens there, or pass port=0"
        )


@pytest.mark.parametrize("name", ["etcd", "kube-apiserver"])
def test_another_free_port_is_tried_if_a_port_is_taken_before_the_server_binds_it(tmp_path: Path, name: str) -> None:
    etcd, api_server = Fake(port_taken_once=name == "etcd"), Fake(port_taken_once=name != "etcd")
    assets = write_fakes(tmp_path / "bin", etcd=etcd, api_server=api_server)

    with ControlPlane(assets, folder=tmp_path / "plane") as plane:
        assert plane.api_server.running
        assert plane.etcd.running

    log = (tmp_path / "plane" / f"{name}.log").read_text(encoding="utf-8")
    assert log.count("address already in use") == 1


def test_a_control_plane_can_be_entered_only_once_and_used_only_inside_its_block(fakes: Path) -> None:
    plane = ControlPlane(fakes)
    with pytest.raises(ClosedError, match="inside 'with ControlPlane"):
        plane.write_kubeconfig("anywhere")
    with plane:
        pass

    with pytest.raises(ClosedError, match="inside 'with ControlPlane"):
        plane.api_server.kill()
    with pytest.raises(ClosedError, match="was entered before"):
        plane.__enter__()


def test_etcd_does_not_inherit_etcd_variables_of_the_environment(fakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETCD_DATA_DIR", "/somewhere/else")
    script = (fakes / "etcd").read_text(encoding="utf-8")
    guard = "import os, sys\nif 'ETCD_DATA_DIR' in os.environ and '--version' not in sys.argv: sys.exit('it is set')\n"
    (fakes / "etcd").write_text(script.replace("import os", f"{guard}import os", 1), encoding="utf-8")

    with ControlPlane(fakes) as plane:
        assert plane.etcd.running


def test_without_the_extra_the_error_says_what_to_install(fakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "dynkube_testing._control_plane.certificates", raising=False)
    monkeypatch.setitem(sys.modules, "cryptography", None)

    with pytest.raises(ImportError, match=r"pip install 'dynkube-testing\[control-plane\]'"):
        ControlPlane(fakes).__enter__()
