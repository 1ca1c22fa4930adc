"""Building real control planes: when they are built, and the messages if that is impossible."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tools.fake_go import FakeGo
from tools.control_plane.__main__ import run_tests
from tools.control_plane.build import build_all
from tools.control_plane.recipes import CONTROLLERS_STAMP, STAMP, TOOLS_STAMP, BuildFailed
from tools.control_plane.toolchain import GO_PACKAGE, Unavailable

pytestmark = pytest.mark.real_time
ROOT = Path(__file__).parents[2]
SERVERS = ["mod vendor", "build kube-apiserver", "mod vendor", "build server"]
TOOLS = ["mod vendor", "build etcdutl"]
KWOK = ["mod vendor", "build kwok"]
CONTROLLERS = ["mod vendor", "build kube-controller-manager", "build kube-scheduler"]
ALL = [*SERVERS, *SERVERS, *TOOLS, *KWOK, *TOOLS, *KWOK, *CONTROLLERS]


def test_each_server_is_built_once_into_the_folder_of_its_version(go: FakeGo) -> None:
    folders = build_all()

    assert set(folders) == {"apiserver-old", "apiserver-current"}
    for folder in folders.values():
        assert folder.parent.parent == go.cache / "dynkube/control-plane"
        for program in ("kube-apiserver", "etcd", "etcdutl", "kwok"):
            subprocess.run([folder / program], check=True, capture_output=True)
    assert go.calls() == ALL

    assert build_all() == folders
    assert go.calls() == []
    assert not list(go.cache.rglob("build-*"))


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda folder: (folder / STAMP).unlink(), id="was-cut-off"),
        pytest.param(lambda folder: (folder / STAMP).write_text("0" * 64), id="was-built-from-another-recipe"),
        pytest.param(lambda folder: (folder / "etcd").unlink(), id="lost-a-program"),
        pytest.param(lambda folder: (folder / "kube-apiserver").write_bytes(b""), id="has-an-empty-program"),
        pytest.param(lambda folder: (folder / "etcd").write_text("#!/bin/sh\necho v13.6.16"), id="has-another-version"),
    ],
)
def test_a_folder_is_built_again_if_it(spoil: Callable[[Path], object], go: FakeGo) -> None:
    folders = build_all()
    go.calls()
    spoil(folders["apiserver-old"])

    assert build_all() == folders

    assert go.calls() == SERVERS


@pytest.mark.parametrize(
    ("name", "built"),
    [
        (TOOLS_STAMP, TOOLS),
        ("etcdutl", TOOLS),
        ("kwok", KWOK),
        (CONTROLLERS_STAMP, CONTROLLERS),
        ("kube-scheduler", CONTROLLERS),
    ],
)
def test_a_folder_that_lacks_only_an_extra_gets_only_that(name: str, built: list[str], go: FakeGo) -> None:
    folders = build_all()
    go.calls()
    (folders["apiserver-current"] / name).unlink()

    assert build_all() == folders

    assert go.calls() == built


def test_only_the_current_version_gets_controllers(go: FakeGo) -> None:
    folders = build_all()

    assert (folders["apiserver-current"] / "kube-controller-manager").exists()
    assert (folders["apiserver-current"] / "kube-scheduler").exists()
    assert not (folders["apiserver-old"] / "kube-controller-manager").exists()


def test_one_server_alone_is_built_if_only_that_is_wanted(go: FakeGo) -> None:
    assert set(build_all(["apiserver-current"])) == {"apiserver-current"}

    assert go.calls() == [*SERVERS, *TOOLS, *KWOK, *CONTROLLERS]


def no_go(go: FakeGo) -> None:
    go.is_version("go1.20")


def no_source(go: FakeGo) -> None:
    go.breaks("mod")


def no_source_of_the_tools(go: FakeGo) -> None:
    go.breaks("etcdutl")


@pytest.mark.parametrize("spoil", [no_go, no_source, no_source_of_the_tools])
def test_servers_are_used_without_tools_that_cannot_be_built(
    spoil: Callable[[FakeGo], None], go: FakeGo, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = build_all()
    for folder in folders.values():
        (folder / "etcdutl").unlink()
    spoil(go)

    assert build_all() == folders

    assert "going on without etcdutl: " in capsys.readouterr().err


def test_the_files_of_a_killed_build_are_removed(go: FakeGo) -> None:
    leftover = go.cache / "dynkube/control-plane/build-x"
    (leftover / "vendor").mkdir(parents=True)

    build_all()

    assert not leftover.exists()


def test_two_simultaneous_builds_build_once(go: FakeGo) -> None:
    command = [sys.executable, "-m", "tools.control_plane", "build"]
    both = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]

    outputs = [process.communicate()[0] for process in both]

    assert outputs[0] == outputs[1]
    assert outputs[0].startswith(f"apiserver-old={go.cache}/")
    assert go.calls() == ALL


def test_a_failed_build_raises_the_end_of_its_log_and_is_repeated(go: FakeGo) -> None:
    go.breaks("build")

    with pytest.raises(BuildFailed, match=r"`.*go build .*` failed with exit code 1(?s:.*)undefined: everything"):
        build_all()

    go.breaks("")
    go.calls()
    build_all()
    assert go.calls() == ALL


@pytest.mark.parametrize(
    ("version", "seen"),
    [("go1.25.9", r"go is 1\.25\.9"), ("", "go cannot be used")],
)
def test_the_error_has_the_installed_and_the_required_version_of_go(version: str, seen: str, go: FakeGo) -> None:
    go.is_version(version)

    with pytest.raises(Unavailable, match=rf"{seen}, and {GO_PACKAGE} cannot be used(?s:.*)Install Go 1\.\d+.*later"):
        build_all()


def test_go_is_installed_from_the_package_index_only_during_a_build(
    go: FakeGo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go.is_version("go1.20")
    _write_wheel(tmp_path, go.program.read_text().replace('(here / "version").read_text()', '"go1.99"'))
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))

    folders = build_all()

    assert go.calls() == ALL
    assert {file.name for file in (go.cache / "dynkube/control-plane").iterdir()} == {
        "lock",
        *(folder.parent.name for folder in folders.values()),
    }


@pytest.mark.parametrize("spoil", [no_go, no_source])
@pytest.mark.parametrize(("optional", "code"), [(True, 0), (False, os.EX_UNAVAILABLE)])
def test_without_servers_a_message_is_printed_and_optional_tests_continue(
    optional: bool, code: int, spoil: Callable[[FakeGo], None], go: FakeGo, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(go)

    assert run_tests([], optional=optional) == code

    assert "NOT TESTED, as they cannot be built: apiserver-old, apiserver-current" in capsys.readouterr().err


def test_optional_tests_do_not_continue_after_a_failed_build(go: FakeGo) -> None:
    go.breaks("build")

    with pytest.raises(BuildFailed):
        run_tests([], optional=True)


def _write_wheel(folder: Path, program: str) -> None:
    name, _, version = GO_PACKAGE.partition("==")
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{info.removesuffix('.dist-info')}-py3-none-any.whl", "w") as wheel:
        executable = zipfile.ZipInfo("go/bin/go")
        executable.external_attr = 0o100755 << 16
        wheel.writestr(executable, program)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
