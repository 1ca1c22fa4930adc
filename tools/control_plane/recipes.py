"""What is built, of which version, and whether a folder has it."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = ("apiserver-old", "apiserver-current")
# Count up where the way to build changes so that what was built before has to be built again.
EDITION = 1
STAMP = "recipe.sha256"
_ETCD = "go.etcd.io/etcd/server/v3"
_SECONDS_TO_TELL_A_VERSION = 60


class BuildFailed(Exception):
    """A step failed; the text has the end of what it printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A folder with go.mod and go.sum, and the program that is built from it.

    Attributes:
        folder: Where they are.
        module: The module that has the program, and its version.
        package: The program's Go package.
        program: The name of the file to write.
    """

    folder: Path
    module: str
    package: str
    program: str

    @property
    def version(self) -> str:
        """The pinned version, without its ``v``."""
        return self._find(rf"^(?:require)?\s*{re.escape(self.module)} v(\S+)")

    @property
    def oldest_go(self) -> tuple[int, ...]:
        """The oldest Go that may build it."""
        return tuple(map(int, self._find(r"^go ([\d.]+)").split(".")))

    def _find(self, pattern: str) -> str:
        found = re.search(pattern, (self.folder / "go.mod").read_text(), re.MULTILINE)
        if found is None:
            raise BuildFailed(f"{self.folder / 'go.mod'} has no line that matches {pattern}")
        return found[1]


def control_planes() -> dict[str, tuple[Recipe, Recipe]]:
    """API server and etcd of each. They share the etcd: not even the old one asks for anything that 3.6 has dropped."""
    etcd = Recipe(folder=HERE / "etcd", module=_ETCD, package=_ETCD, program="etcd")
    return {name: (_apiserver(HERE / name), etcd) for name in NAMES}


def _apiserver(folder: Path) -> Recipe:
    module = "k8s.io/kubernetes"
    return Recipe(folder=folder, module=module, package=f"{module}/cmd/kube-apiserver", program="kube-apiserver")


def cache_folder() -> Path:
    """Where builds are kept: ``dynkube/control-plane`` in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dynkube/control-plane"


def digest(recipes: Sequence[Recipe]) -> str:
    """Stands for all that decides what comes out."""
    sha = hashlib.sha256(f"{EDITION} {platform.system()} {platform.machine()}".encode())
    for recipe in recipes:
        for name in ("go.mod", "go.sum"):
            sha.update((recipe.folder / name).read_bytes())
    return sha.hexdigest()


def is_ready(folder: Path, recipes: Sequence[Recipe]) -> bool:
    """Whether a folder was filled to the end, from these recipes, and its programs run."""
    stamp = folder / STAMP
    if not stamp.is_file() or stamp.read_text() != digest(recipes):
        return False
    return all(tells(folder / recipe.program, recipe.version) for recipe in recipes)


def tells(program: Path, version: str) -> bool:
    """Whether a program can be run here and says that it is of a version."""
    command = [str(program), "--version"]
    seconds = _SECONDS_TO_TELL_A_VERSION
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603 - built here
    except (OSError, subprocess.TimeoutExpired):
        return False
    return (
        done.returncode == 0 and re.search(rf"(?<![\d.])v?{re.escape(version)}$", done.stdout, re.MULTILINE) is not None
    )
