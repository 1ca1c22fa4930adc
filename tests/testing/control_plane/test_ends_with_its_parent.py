"""No server outlives the process that started it, however that process ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testing.control_plane.fakes import Fake, write_fakes

pytestmark = pytest.mark.real_time

ROOT = Path(__file__).parents[3]

ENDINGS = {
    "the interpreter ends": "sys.exit()",
    "an unhandled exception": "raise LookupError",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
def test_servers_end_with_the_process_that_started_them(tmp_path: Path, ending: str) -> None:
    if "signal" in ending and sys.platform != "linux":
        pytest.skip("only Linux notifies a process when its parent is killed")
    fifos = {name: tmp_path / name for name in ("etcd.fifo", "kube-apiserver.fifo")}
    for fifo in fifos.values():
        os.mkfifo(fifo)
    etcd, api_server = (Fake(holds=str(fifo)) for fifo in fifos.values())
    assets = write_fakes(tmp_path / "bin", etcd=etcd, api_server=api_server)

    enter = f"plane = ControlPlane({str(assets)!r}, folder={str(tmp_path / 'plane')!r}); plane.__enter__()"
    program = f"import os, signal, sys; from dynkube_testing import ControlPlane; {enter}; {ending}"
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stderr=subprocess.DEVNULL)
    held = [fifo.open() for fifo in fifos.values()]  # blocks until the server runs

    with parent, held[0], held[1]:
        assert [file.read() for file in held] == ["", ""], "the servers have ended"


@pytest.mark.parametrize(("keep", "stays"), [("None", False), ("True", True)])
def test_a_program_that_never_leaves_the_block_leaves_no_folder_unless_keep_is_set(
    tmp_path: Path, keep: str, stays: bool
) -> None:
    assets = write_fakes(tmp_path / "bin")
    program = (
        "from dynkube_testing import ControlPlane\n"
        f"plane = ControlPlane({str(assets)!r}).__enter__()\n"
        f"plane.keep = plane.keep if {keep} is None else {keep}\n"
    )
    (tmp_path / "tmp").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}

    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True, timeout=50)

    assert bool(list((tmp_path / "tmp").iterdir())) is stays


def test_a_forked_child_that_exits_does_not_end_the_servers(tmp_path: Path) -> None:
    assets = write_fakes(tmp_path / "bin")
    program = (
        "import os, sys; from dynkube_testing import ControlPlane\n"
        f"with ControlPlane({str(assets)!r}) as plane:\n"
        "    child = os.fork()\n"
        "    if not child: sys.exit()\n"
        "    os.waitpid(child, 0)\n"
        "    print(plane.etcd.running, plane.folder.exists())\n"
    )

    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=50)

    assert done.stdout.splitlines()[-1] == "True True"
