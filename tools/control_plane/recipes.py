"""Recipes: the programs to build, their versions, and whether a folder contains them."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = ("apiserver-old", "apiserver-current")
# Increase it when the build changes, so that everything is built again.
EDITION = 1
STAMP = "recipe.sha256"
TOOLS_STAMP = "tools.sha256"
CONTROLLERS_STAMP = "controllers.sha256"
KWOK_STAMP = "kwok.sha256"
_ETCD = "go.etcd.io/etcd/server/v3"
_ETCDUTL = "go.etcd.io/etcd/etcdutl/v3"
_KUBERNETES = "k8s.io/kubernetes"
_KWOK = "sigs.k8s.io/kwok"
_VERSION_TIMEOUT = 60  # seconds


class BuildFailed(Exception):
    """A step failed; the message has the end of its output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A folder with go.mod and go.sum, and the program that is built from it.

    Attributes:
        folder: the folder.
        module: the Go module that contains the program; its version is that of the program.
        package: the Go package of the program.
        program: the name of the file to write.
        version_argument: the argument with which the program prints its version.
    """

    folder: Path
    module: str
    package: str
    program: str
    version_argument: str = "--version"

    @property
    def version(self) -> str:
        """The pinned version, without its ``v``."""
        return self._find(rf"^(?:require)?\s*{re.escape(self.module)} v(\S+)")

    @property
    def oldest_go(self) -> tuple[int, ...]:
        """The oldest version of Go that can build it."""
        return tuple(map(int, self._find(r"^go ([\d.]+)").split(".")))

    def _find(self, pattern: str) -> str:
        found = re.search(pattern, (self.folder / "go.mod").read_text(), re.MULTILINE)
        if found is None:
            raise BuildFailed(f"{self.folder / 'go.mod'} has no line that matches {pattern}")
        return found[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Programs that are built together, into one folder.

    Attributes:
        recipes: the recipes of the programs, in build order.
        stamp: the name of a file that is written after all of them.
        log: the name of a file with the output of Go.
        optional: whether the folder can be used without them.
    """

    recipes: tuple[Recipe, ...]
    stamp: str
    log: str
    optional: bool = False

    @property
    def digest(self) -> str:
        """The content of the stamp: a hash of everything that the build depends on."""
        sha = hashlib.sha256(f"{EDITION} {platform.system()} {platform.machine()}".encode())
        for recipe in self.recipes:
            for name in ("go.mod", "go.sum"):
                sha.update((recipe.folder / name).read_bytes())
        return sha.hexdigest()

    def is_ready(self, folder: Path) -> bool:
        """Return whether a folder was completed from these recipes, and its programs run."""
        file = folder / self.stamp
        if not file.is_file() or file.read_text() != self.digest:
            return False
        return all(prints_version(folder / recipe.program, recipe) for recipe in self.recipes)


def control_planes() -> dict[str, Bundle]:
    """Return API server and etcd of each. They share one etcd: the old server needs nothing that 3.6 has removed."""
    etcd = Recipe(folder=HERE / "etcd", module=_ETCD, package=_ETCD, program="etcd")
    return {
        name: Bundle(recipes=(_kubernetes(HERE / name, "kube-apiserver"), etcd), stamp=STAMP, log="build.log")
        for name in NAMES
    }


def tools() -> Bundle:
    """Return ``etcdutl``, which restores backups."""
    folder = HERE / "etcdutl"
    etcdutl = Recipe(folder=folder, module=_ETCDUTL, package=_ETCDUTL, program="etcdutl", version_argument="version")
    return Bundle(recipes=(etcdutl,), stamp=TOOLS_STAMP, log="tools.log", optional=True)


def extras(name: str) -> tuple[Bundle, ...]:
    """Return what is built for a control plane besides its servers; each has a stamp of its own.

    ``etcdutl`` restores backups; kube-controller-manager and kube-scheduler, only of the current version, run in tests
    that need controllers; KWOK plays nodes.
    """
    if name != "apiserver-current":
        return (tools(), kwok())
    return (tools(), kwok(), controllers())


def controllers() -> Bundle:
    """Return kube-controller-manager and kube-scheduler."""
    programs = ("kube-controller-manager", "kube-scheduler")
    recipes = tuple(_kubernetes(HERE / "controllers-current", program) for program in programs)
    return Bundle(recipes=recipes, stamp=CONTROLLERS_STAMP, log="controllers.log", optional=True)


def kwok() -> Bundle:
    """Return KWOK, which plays kubelets: their Pods become ready, and have logs and commands as configured."""
    recipe = Recipe(folder=HERE / "kwok", module=_KWOK, package=f"{_KWOK}/cmd/kwok", program="kwok")
    return Bundle(recipes=(recipe,), stamp=KWOK_STAMP, log="kwok.log", optional=True)


def _kubernetes(folder: Path, program: str) -> Recipe:
    return Recipe(folder=folder, module=_KUBERNETES, package=f"{_KUBERNETES}/cmd/{program}", program=program)


def cache_folder() -> Path:
    """Return the folder of all builds: ``dynkube/control-plane`` in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dynkube/control-plane"


def prints_version(program: Path, recipe: Recipe) -> bool:
    """Return whether a program runs on this machine and prints the version of its recipe."""
    command = [str(program), recipe.version_argument]
    seconds = _VERSION_TIMEOUT
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603 - built here
    except (OSError, subprocess.TimeoutExpired):
        return False
    version = re.escape(recipe.version)
    return done.returncode == 0 and re.search(rf"(?<![\d.])v?{version}(?![\w.-])", done.stdout) is not None
