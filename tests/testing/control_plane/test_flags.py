"""The command lines of etcd and kube-apiserver, by version and by the user's flags."""

from __future__ import annotations

import random
import socket
from pathlib import Path
from typing import Any

import pytest

from dynkube.errors import InvalidInput
from dynkube_testing import ControlPlane
from dynkube_testing._control_plane.flags import Flags, api_server_flags, etcd_flags
from dynkube_testing._control_plane.ports import free_port, is_free

FOLDER = Path("/plane")


def api_server(given: Flags, version: tuple[int, int] = (1, 36)) -> list[str]:
    return api_server_flags(version, FOLDER, port=20_000, etcd_url="http://127.0.0.1:20001", given=given)


def test_rbac_is_on_and_pods_need_no_service_account() -> None:
    flags = api_server({})

    assert "--authorization-mode=RBAC" in flags
    assert "--disable-admission-plugins=ServiceAccount" in flags
    assert "--allow-privileged=true" in flags
    assert "--service-cluster-ip-range=10.0.0.0/16" in flags
    assert not [flag for flag in flags if "insecure" in flag or "anonymous" in flag]


def test_the_insecure_port_that_was_on_by_default_before_1_20_is_closed() -> None:
    assert "--insecure-port=0" in api_server({}, (1, 19))
    assert "--insecure-port=0" not in api_server({}, (1, 20))
    assert "--insecure-port=0" not in api_server({}, (0, 0)), "a build with an unknown version"


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({"feature-gates": "WatchList=false"}, ["--feature-gates=WatchList=false"]),
        ({"watch-cache": False}, ["--watch-cache=false"]),
        ({"max-requests-inflight": 1}, ["--max-requests-inflight=1"]),
        (
            {"runtime-config": ["api/beta=true", "api/ga=true"]},
            ["--runtime-config=api/beta=true", "--runtime-config=api/ga=true"],
        ),
        ({"goaway-chance": 0.01}, ["--goaway-chance=0.01"]),
        ({"audit-policy-file": Path("/policy")}, ["--audit-policy-file=/policy"]),
        ({"vmodule": (Path("a=1"), True)}, ["--vmodule=a=1", "--vmodule=true"]),
        ({"allow-privileged": None}, []),
        ({"authorization-mode": "AlwaysAllow"}, ["--authorization-mode=AlwaysAllow"]),
    ],
    ids=["text", "bool", "number", "several", "fraction", "path", "several kinds", "none", "another than the default"],
)
def test_the_user_can_add_replace_and_remove_flags(given: Flags, arguments: list[str]) -> None:
    (name,) = given

    flags = api_server(given)

    assert [flag for flag in flags if flag.startswith(f"--{name}=")] == arguments
    assert len(flags) == len(set(flags))


@pytest.mark.parametrize(("version", "expected"), [((3, 4, 9), False), ((3, 4, 10), True), ((3, 6, 16), True)])
def test_etcd_runs_without_fsync_if_its_version_supports_that(version: tuple[int, ...], expected: bool) -> None:
    flags = etcd_flags(version, FOLDER, port=20_000, given={"quota-backend-bytes": 10})

    assert ("--unsafe-no-fsync=true" in flags) is expected
    assert "--quota-backend-bytes=10" in flags


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"--v": "4"}, "api_server_flags: '--v' is not the name of a flag; write it as 'v'"),
        ({"v=4": ""}, "api_server_flags: 'v=4' is not the name of a flag; write it as 'v'"),
        ({"secure_port": 1}, "api_server_flags: 'secure_port' is not the name of a flag; write it as 'secure-port'"),
        (
            {"secure-port": 6443},
            r"api_server_flags: secure-port is set by the control plane itself: pass ControlPlane\(port=",
        ),
        ({"etcd-servers": "x"}, "api_server_flags: etcd-servers is set by the control plane itself"),
    ],
)
def test_invalid_and_reserved_flags_are_rejected_by_name(flags: Flags, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        ControlPlane(api_server_flags=flags)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"WatchList": False, "A": "x"}, "is a dict; write it as on the command line: 'WatchList=false,A=x'"),
        (b"a", r"is given b'a' \(bytes\); pass a string, a number, a bool, a path or a list of these"),
        ([None], r"has in its list None \(NoneType\); pass a string"),
    ],
    ids=["dict", "bytes", "list"],
)
def test_values_of_unsupported_types_are_rejected(value: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"etcd_flags: feature-gates {message}"):
        ControlPlane(etcd_flags={"feature-gates": value})


def test_the_data_dir_of_etcd_cannot_be_set() -> None:
    with pytest.raises(InvalidInput, match=r"etcd_flags: data-dir is set by .*: pass ControlPlane\(folder="):
        ControlPlane(etcd_flags={"data-dir": "/data"})


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_port_out_of_range_is_rejected(port: int) -> None:
    with pytest.raises(InvalidInput, match=f"port {port} is not between 0 and 65535"):
        ControlPlane(port=port)


@pytest.mark.real_time
def test_free_ports_are_not_in_the_ephemeral_range() -> None:
    ephemeral = Path("/proc/sys/net/ipv4/ip_local_port_range")
    if not ephemeral.exists():
        pytest.skip("the range is known on Linux only")
    lowest, highest = map(int, ephemeral.read_text(encoding="ascii").split())

    ports = {free_port(random.Random(seed)) for seed in range(200)}

    assert not [port for port in ports if lowest <= port <= highest]
    assert not [port for port in ports if not 1024 < port < 65_536]


@pytest.mark.real_time
def test_a_port_in_use_is_not_free() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()

        assert not is_free(server.getsockname()[1])
