"""Where binaries are searched, and the errors for missing or unusable ones."""

from __future__ import annotations

import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dynkube.errors import ControlPlaneError
from dynkube_testing import ControlPlane
from tests.testing.control_plane.fakes import write_fakes

pytestmark = pytest.mark.real_time

VARIABLES = ("KUBEBUILDER_ASSETS", "TEST_ASSET_KUBE_APISERVER", "TEST_ASSET_ETCD", "TEST_ASSET_KUBECTL")


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def elf(machine: int) -> bytes:
    """Return the first bytes of an ELF program for Linux."""
    return b"\x7fELF\x02\x01\x01".ljust(18, b"\0") + struct.pack("<H", machine)


def error_message(assets: Path | None = None) -> str:
    """Return the error message of entering a control plane."""
    with pytest.raises(ControlPlaneError) as caught, ControlPlane(assets):
        pass
    assert not getattr(caught.value, "__notes__", []), "nothing was started, so there are no logs"
    return str(caught.value)


def test_the_folder_passed_takes_precedence_over_the_environment(fakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.setenv(variable, "/nowhere")

    with ControlPlane(fakes) as plane:
        assert plane.api_server.command[0] == str(fakes / "kube-apiserver")
        assert plane.etcd.command[0] == str(fakes / "etcd")


def test_variables_for_single_programs_take_precedence_over_kubebuilder_assets(
    fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = shutil.copy(fakes / "etcd", tmp_path / "another-etcd")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(fakes))
    monkeypatch.setenv("TEST_ASSET_ETCD", str(other))

    with ControlPlane() as plane:
        assert plane.api_server.command[0] == str(fakes / "kube-apiserver")
        assert plane.etcd.command[0] == str(other)


def test_without_any_setting_the_error_names_the_default_path_and_the_ways_to_get_binaries() -> None:
    message = error_message()

    assert "no kube-apiserver at /usr/local/kubebuilder/bin/kube-apiserver" in message
    assert "neither $KUBEBUILDER_ASSETS nor $TEST_ASSET_KUBE_APISERVER is set" in message
    assert "setup-envtest" in message


def test_the_error_for_a_missing_program_names_path_and_setting(fakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fakes / "etcd").unlink()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(fakes))

    assert f"no etcd at {fakes / 'etcd'} (set by $KUBEBUILDER_ASSETS)" in error_message()


def test_the_error_for_a_missing_folder_names_it(tmp_path: Path) -> None:
    assert f"folder {tmp_path / 'nowhere'} does not exist" in error_message(tmp_path / "nowhere")


def test_the_error_points_to_binaries_in_a_subfolder(tmp_path: Path) -> None:
    write_fakes(tmp_path / "bin")

    assert f"but at {tmp_path / 'bin' / 'kube-apiserver'}: pass the folder {tmp_path / 'bin'}" in error_message(
        tmp_path
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty"),
        (
            elf(22),
            "is a program for s390x, but this machine is ",
        ),
        (elf(4711), "is a program for ELF machine 4711"),
        (b"\xcf\xfa\xed\xfe".ljust(64, b"\0"), "is a program for macOS"),
        (b"MZ".ljust(64, b"\0"), "is a program for Windows"),
        (b"neither a program nor a script", "cannot be run: Exec format error"),
        (b"#!/no/such/interpreter\n", "cannot be run: No such file or directory"),
        (
            b"#!/bin/sh\necho 'unknown flag'; exit 3\n",
            "exited with code 3 and printed no version; is it kube-apiserver?",
        ),
    ],
    ids=["empty", "s390x", "unknown machine", "macOS", "Windows", "text", "no interpreter", "another program"],
)
def test_the_error_for_a_file_that_cannot_be_run_describes_it(fakes: Path, content: bytes, expected: str) -> None:
    if sys.platform != "linux":
        pytest.skip("the messages are those on Linux")
    (fakes / "kube-apiserver").write_bytes(content)

    message = error_message(fakes)

    assert str(fakes / "kube-apiserver") in message
    assert expected in message


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def take_rights(path: Path) -> None:
    path.chmod(0o644)


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [(make_folder, "is a folder, not the program etcd"), (take_rights, "is not executable: chmod +x")],
)
def test_a_folder_or_a_file_that_is_not_executable_is_rejected(
    fakes: Path, spoil: Callable[[Path], None], expected: str
) -> None:
    spoil(fakes / "etcd")

    assert expected in error_message(fakes)


def test_kubectl_is_taken_from_the_assets_or_else_from_the_path(
    fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_folder = tmp_path / "elsewhere"
    other_folder.mkdir()
    for folder in (fakes, other_folder):
        shutil.copy(fakes / "etcd", folder / "kubectl")
    monkeypatch.setenv("PATH", str(other_folder))

    assert ControlPlane(fakes).kubectl == fakes / "kubectl"
    (fakes / "kubectl").unlink()
    assert ControlPlane(fakes).kubectl == other_folder / "kubectl"
    (other_folder / "kubectl").unlink()
    with pytest.raises(ControlPlaneError, match=r"kubectl not found: .* does not exist, and no kubectl is on \$PATH"):
        ControlPlane(fakes).kubectl  # noqa: B018
