"""Find the programs of a control plane, and check that they can be executed."""

from __future__ import annotations

import os
import platform
import re
import shutil
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dynkube.errors import ControlPlaneError

# The same variables and folder as of controller-runtime's envtest, so that its programs are found.
_FOLDER_VARIABLE = "KUBEBUILDER_ASSETS"
_DEFAULT_FOLDER = Path("/usr/local/kubebuilder/bin")
_IN_ENVTEST = ("etcd", "kube-apiserver")
_HOW_TO_GET = (
    "Get kube-apiserver and etcd with setup-envtest (`setup-envtest use -p path` prints their folder), or build them "
    f"(`make control-plane` in the sources of dynkube), and set that folder in ${_FOLDER_VARIABLE} or as "
    "ControlPlane(assets=...)"
)
_HOW_TO_GET_MORE = (
    "setup-envtest does not install it: take it from a release of Kubernetes, or build it (`make control-plane` in the "
    "sources of dynkube), and put it beside kube-apiserver"
)
_VERSION_SECONDS = 60

_ELF_MACHINES = {
    3: "386", 8: "mips", 20: "ppc", 21: "ppc64", 22: "s390x", 40: "arm", 62: "amd64", 183: "arm64", 243: "riscv64",
    258: "loong64",
}  # fmt: skip
_MACHINES = {
    "x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64", "i386": "386", "i686": "386",
    "armv6l": "arm", "armv7l": "arm", "ppc64le": "ppc64", "ppc64": "ppc64", "s390x": "s390x", "riscv64": "riscv64",
    "loongarch64": "loong64",
}  # fmt: skip
_MACH_O = {b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Assets:
    """Finds the programs of a control plane.

    Attributes:
        folder: The folder of the programs; ``None`` to use the environment variables and the default folder of envtest.
        environment: The environment variables.
    """

    folder: Path | None
    environment: Mapping[str, str]

    def program(self, name: str) -> Path:
        """Return the path of the program ``name``, without executing it.

        Its file is checked.

        This is blocking file I/O.

        Raises:
            ControlPlaneError: The program is missing, not a file, not executable, or built for another platform.
        """
        path, reason = self._place(name)
        if not path.is_file():
            raise ControlPlaneError(_missing(name, path, reason))
        if not os.access(path, os.X_OK):
            raise ControlPlaneError(f"{path} ({reason}) is not executable: chmod +x {path}")
        if trouble := _foreign(path):
            raise ControlPlaneError(f"{path} ({reason}) {trouble}")
        return path

    def kubectl(self) -> Path:
        """Return the path of kubectl: beside the other programs, or on ``$PATH``.

        Raises:
            ControlPlaneError: There is no kubectl, or it cannot be executed on this machine.
        """
        path, reason = self._place("kubectl")
        if path.is_file():
            return self.program("kubectl")
        found = shutil.which("kubectl", path=self.environment.get("PATH"))
        if found is None:
            missing = f"{path} ({reason}) does not exist, and no kubectl is on $PATH"
            raise ControlPlaneError(f"kubectl not found: {missing}: install it")
        return Path(found)

    def _place(self, name: str) -> tuple[Path, str]:
        variable = f"TEST_ASSET_{name.upper().replace('-', '_')}"
        if self.folder is not None:
            return (self.folder / name).absolute(), "in the folder of assets="
        if path := self.environment.get(variable):
            return Path(path).absolute(), f"set by ${variable}"
        if folder := self.environment.get(_FOLDER_VARIABLE):
            return (Path(folder) / name).absolute(), f"set by ${_FOLDER_VARIABLE}"
        return _DEFAULT_FOLDER / name, f"the default, as neither ${_FOLDER_VARIABLE} nor ${variable} is set"


def _missing(name: str, path: Path, reason: str) -> str:
    how_to_get = _HOW_TO_GET if name in _IN_ENVTEST else _HOW_TO_GET_MORE
    if path.is_dir():
        return f"{path} ({reason}) is a folder, not the program {name}. {how_to_get}"
    nested = path.parent / "bin" / name
    if nested.is_file():
        return f"no {name} at {path} ({reason}), but at {nested}: pass the folder {nested.parent}"
    if not path.parent.is_dir():
        return f"no {name} at {path} ({reason}): folder {path.parent} does not exist. {how_to_get}"
    return f"no {name} at {path} ({reason}). {how_to_get}"


def _foreign(path: Path) -> str:
    """Return why this platform cannot execute a program, by its first bytes.

    ``""`` if nothing is wrong, or if the format is unknown.
    """
    with path.open("rb") as file:
        head = file.read(20)
    if not head:
        return "is empty: its download or build was interrupted"
    machine, system = platform.machine(), platform.system()
    if head[:4] == b"\x7fELF" and len(head) == 20:
        (number,) = struct.unpack("<H" if head[5] == 1 else ">H", head[18:20])
        built_for = _ELF_MACHINES.get(number, f"ELF machine {number}")
        here = _MACHINES.get(machine.lower(), machine)
        if system != "Linux":
            return f"is a program for Linux ({built_for}), but this is {system} ({here})"
        return "" if built_for == here else f"is a program for {built_for}, but this machine is {here}"
    if head[:4] in _MACH_O and system != "Darwin":
        return f"is a program for macOS, but this is {system} ({machine})"
    if head[:2] == b"MZ":
        return f"is a program for Windows, but this is {system} ({machine})"
    return ""


def version_of(program: Path, pattern: str) -> str:
    """Execute ``program --version`` and return the version in its output.

    Blocks while the program runs.

    Args:
        program: The path of the program.
        pattern: Regular expression that is searched in the output; its group 1 is the version.

    Raises:
        ControlPlaneError: The program cannot be executed, takes too long, or prints no version.
    """
    command = [str(program), "--version"]
    try:
        done = subprocess.run(  # noqa: S603 - the user says which program
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=_VERSION_SECONDS, check=False
        )
    except OSError as error:  # unknown executable format, missing loader, file system mounted with noexec
        raise ControlPlaneError(f"{program} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise ControlPlaneError(f"`{program} --version` did not exit within {_VERSION_SECONDS} seconds") from error
    if found := re.search(pattern, done.stdout):
        return found[1]
    output = "\n".join((done.stdout + done.stderr).splitlines()[-20:]) or "(nothing)"
    raise ControlPlaneError(
        f"`{program} --version` exited with code {done.returncode} and printed no version; is it {program.name}? "
        f"Its output:\n{output}"
    )
