"""What a control plane says of servers that do not come up."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from dynkube.errors import ClosedError, ControlPlaneError
from dynkube.testing import ControlPlane
from tests.testing.control_plane.fakes import Fake, write_fakes

pytestmark = pytest.mark.real_time

UNREADY = "[+]ping ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\nreadyz check failed\n"


def refusal(plane: ControlPlane) -> str:
    """What entering it says, which ends whatever it has started."""
    with pytest.raises(ControlPlaneError) as caught, plane:
        pass
    return str(caught.value)


@pytest.mark.parametrize("name", ["etcd", "kube-apiserver"])
def test_a_server_that_ends_at_its_start_is_told_with_its_last_words(tmp_path: Path, name: str) -> None:
    words = "\n".join(f"line {number}" for number in range(100)) + "\nError: unknown flag: --nothing"
    ending = Fake(says=words, exits=3)
    etcd, api_server = (ending, None) if name == "etcd" else (None, ending)
    assets = write_fakes(tmp_path / "bin", etcd=etcd, api_server=api_server)

    message = refusal(ControlPlane(assets, folder=tmp_path / "plane"))

    log = tmp_path / "plane" / f"{name}.log"
    assert f"{name} exited before it was ready, with exit code 3; the end of its log, {log}:\n" in message
    assert message.endswith("line 98\nline 99\nError: unknown flag: --nothing")
    assert "line 79" not in message
    assert log.read_text(encoding="utf-8").startswith("line 0\n")


def test_the_manual_that_etcd_prints_below_a_complaint_is_left_out(tmp_path: Path) -> None:
    manual = "flag provided but not defined: -nothing\nUsage:\n" + "\n  etcd [flags]" * 30
    assets = write_fakes(tmp_path / "bin", etcd=Fake(says=manual, exits=2))

    assert refusal(ControlPlane(assets, folder=tmp_path / "plane")).endswith(
        ":\nflag provided but not defined: -nothing"
    )


def test_a_server_that_says_nothing_and_ends_is_told_as_such(tmp_path: Path) -> None:
    assets = write_fakes(tmp_path / "bin", etcd=Fake(exits=0))

    message = refusal(ControlPlane(assets, folder=tmp_path / "plane"))

    assert message == f"etcd exited before it was ready, with exit code 0; its log, {tmp_path}/plane/etcd.log, is empty"


def test_an_api_server_that_never_gets_ready_is_killed_and_quoted(tmp_path: Path) -> None:
    fake = Fake(says="I am here", answers={"/readyz?verbose": (500, UNREADY)})
    assets = write_fakes(tmp_path / "bin", api_server=fake)

    message = refusal(ControlPlane(assets, folder=tmp_path / "plane", start_timeout=1))

    assert message.startswith(
        "kube-apiserver was not ready after 1 seconds (start_timeout=): /readyz?verbose responded 500: "
    )
    assert "[-]poststarthook/rbac/bootstrap-roles failed" in message
    assert message.endswith("I am here")


def test_an_etcd_that_is_not_healthy_is_quoted_too(tmp_path: Path) -> None:
    assets = write_fakes(tmp_path / "bin", etcd=Fake(answers={"/health": (503, '{"health":"false"}')}))

    message = refusal(ControlPlane(assets, folder=tmp_path / "plane", start_timeout=0.5))

    assert 'etcd was not ready after 0.5 seconds (start_timeout=): /health responded 503: {"health":"false"}' in message


def test_the_namespace_default_has_to_be_there(tmp_path: Path) -> None:
    fake = Fake(answers={"/api/v1/namespaces/default": (404, "not found")})
    assets = write_fakes(tmp_path / "bin", api_server=fake)

    message = refusal(ControlPlane(assets, folder=tmp_path / "plane", start_timeout=1))

    assert "/api/v1/namespaces/default responded 404: not found" in message


def test_a_port_that_was_asked_for_and_is_taken_is_told(fakes: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        assert refusal(ControlPlane(fakes, port=port)) == (
            f"port {port} of 127.0.0.1 is in use: stop the process that listens there, or pass port=0"
        )


@pytest.mark.parametrize("name", ["etcd", "kube-apiserver"])
def test_a_port_that_somebody_else_was_faster_to_take_is_given_up_for_another(tmp_path: Path, name: str) -> None:
    etcd, api_server = Fake(port_taken_once=name == "etcd"), Fake(port_taken_once=name != "etcd")
    assets = write_fakes(tmp_path / "bin", etcd=etcd, api_server=api_server)

    with ControlPlane(assets, folder=tmp_path / "plane") as plane:
        assert plane.api_server.running
        assert plane.etcd.running

    log = (tmp_path / "plane" / f"{name}.log").read_text(encoding="utf-8")
    assert log.count("address already in use") == 1


def test_a_control_plane_is_entered_once_and_used_inside(fakes: Path) -> None:
    plane = ControlPlane(fakes)
    with pytest.raises(ClosedError, match="inside 'with ControlPlane"):
        plane.write_kubeconfig("anywhere")
    with plane:
        pass

    with pytest.raises(ClosedError, match="inside 'with ControlPlane"):
        plane.api_server.kill()
    with pytest.raises(ClosedError, match="was entered before"):
        plane.__enter__()


def test_settings_of_another_etcd_in_the_environment_do_not_reach_this_one(
    fakes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETCD_DATA_DIR", "/somewhere/else")
    script = (fakes / "etcd").read_text(encoding="utf-8")
    guard = "import os, sys\nif 'ETCD_DATA_DIR' in os.environ and '--version' not in sys.argv: sys.exit('it is set')\n"
    (fakes / "etcd").write_text(script.replace("import os", f"{guard}import os", 1), encoding="utf-8")

    with ControlPlane(fakes) as plane:
        assert plane.etcd.running


def test_without_the_extra_it_says_what_to_install(fakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "dynkube.testing._control_plane.certificates", raising=False)
    monkeypatch.setitem(sys.modules, "cryptography", None)

    with pytest.raises(ImportError, match=r"pip install 'dynkube\[control-plane\]'"):
        ControlPlane(fakes).__enter__()
