"""The folder of a control plane: its contents, its permissions, and when it is kept."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path

import pytest

from dynkube.errors import ControlPlaneError
from dynkube_testing import ControlPlane
from dynkube_testing._control_plane.folder import Folder

pytestmark = pytest.mark.real_time


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("named", [False, True])
def test_keys_are_readable_by_their_owner_only(fakes: Path, tmp_path: Path, named: bool) -> None:
    before = os.umask(0)
    try:
        with ControlPlane(fakes, folder=tmp_path / "plane" if named else None) as plane:
            keys = {path.name: mode(path) for path in (plane.folder / "certificates").iterdir()}
            modes = {mode(plane.folder), mode(plane.folder / "certificates")}
            kubeconfig = mode(plane.write_kubeconfig(tmp_path / "kubeconfig"))
    finally:
        os.umask(before)

    assert {"kube-apiserver.key", "service-account.key", "admin.key"} <= keys.keys()
    assert set(keys.values()) == {0o600}
    assert modes == {0o700}
    assert kubeconfig == 0o600


def test_an_exception_in_the_block_keeps_the_logs_and_gets_a_note_with_their_folder(
    fakes: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "plane"

    with pytest.raises(LookupError) as caught, ControlPlane(fakes, folder=folder, keep=False):
        raise LookupError

    assert caught.value.__notes__ == [f"the logs of the control plane are in {folder}"]
    assert (folder / "kube-apiserver.log").exists()


@pytest.mark.parametrize("leaving", [KeyboardInterrupt, pytest.skip.Exception])
def test_ctrl_c_and_a_skipped_test_do_not_keep_the_folder(
    fakes: Path, tmp_path: Path, leaving: type[BaseException]
) -> None:
    folder = tmp_path / "plane"

    with pytest.raises(leaving), ControlPlane(fakes, folder=folder, keep=False):
        raise leaving

    assert not folder.exists()


def test_a_folder_passed_by_the_user_stays_and_can_be_used_again(fakes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "plane"
    with ControlPlane(fakes, folder=folder):
        pass
    assert folder.is_dir()

    with ControlPlane(fakes, folder=folder) as plane:
        assert plane.folder == folder


def test_other_files_in_the_folder_are_never_removed(fakes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "plane"
    folder.mkdir()
    (folder / "mine").touch()

    with ControlPlane(fakes, folder=folder, keep=False):
        pass

    assert [path.name for path in folder.iterdir()] == ["mine"]


def test_keep_can_be_set_inside_the_block(fakes: Path, tmp_path: Path) -> None:
    with ControlPlane(fakes, folder=tmp_path / "plane", keep=False) as plane:
        plane.keep = True

    assert (tmp_path / "plane" / "etcd.log").exists()


def test_two_control_planes_do_not_share_a_folder(fakes: Path, tmp_path: Path) -> None:
    with ControlPlane(fakes, folder=tmp_path / "plane") as plane:
        with pytest.raises(ControlPlaneError, match="plane is in use by another control plane; pass another folder="):
            ControlPlane(fakes, folder=tmp_path / "plane").__enter__()

        assert plane.etcd.running
        assert (plane.folder / "certificates" / "admin.key").exists()


def test_a_file_system_without_locks_is_an_error(fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(file: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)

    with pytest.raises(ControlPlaneError, match="plane cannot be locked: No locks available; pass another folder="):
        ControlPlane(fakes, folder=tmp_path / "plane").__enter__()


def test_files_are_removed_before_the_lock_is_released(
    fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leftovers: list[Path] = []
    release = Folder.release

    def look_and_release(folder: Folder) -> None:
        leftovers.extend(folder.path.iterdir())
        release(folder)

    monkeypatch.setattr(Folder, "release", look_and_release)
    (tmp_path / "plane").mkdir()
    with ControlPlane(fakes, folder=tmp_path / "plane", keep=False):
        pass

    assert leftovers == []


def test_a_file_passed_as_the_folder_is_rejected(fakes: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with (
        pytest.raises(ControlPlaneError, match=r"cannot use .*file as the folder"),
        ControlPlane(fakes, folder=tmp_path / "file"),
    ):
        pass
