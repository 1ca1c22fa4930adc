"""A fake ``go`` that compiles nothing: the programs that it writes print the version that go.mod pins."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

# It accepts the arguments that tools/control_plane passes, and does the minimum that the next step requires.
_GO = """#!{python} -IS
import pathlib, re, sys
here = pathlib.Path({folder!r})
arguments = sys.argv[1:]
if arguments == ["env", "GOVERSION"]:
    sys.exit(print((here / "version").read_text()))
with (here / "calls").open("a") as calls:
    package = arguments[-1].removesuffix("/v3")
    print(*arguments[:1], package.rpartition("/")[2], file=calls)
broken = (here / "broken").read_text() if (here / "broken").exists() else ""
if broken == arguments[0] or broken == pathlib.Path.cwd().name:
    sys.exit("undefined: everything")
if arguments[0] == "mod":
    file = pathlib.Path("vendor/k8s.io/kubernetes/pkg/generated/openapi/zz_generated.openapi.go")
    file.parent.mkdir(parents=True)
    file.touch()
if arguments[0] == "build":
    module = arguments[-1].partition("/cmd/")[0]
    version = re.search(f"{{re.escape(module)}} v(.*)", pathlib.Path("go.mod").read_text())[1]
    program = pathlib.Path(arguments[arguments.index("-o") + 1])
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\\necho it is v{{version}}\\n")
    program.chmod(0o755)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeGo:
    """A fake ``go`` on ``$PATH``.

    Attributes:
        folder: the folder of the program, and of the files that configure it.
        cache: the user's cache.
    """

    folder: Path
    cache: Path

    @property
    def program(self) -> Path:
        return self.folder / "go"

    def write(self) -> None:
        """Write the program, with a new enough version."""
        self.folder.mkdir()
        self.program.write_text(_GO.format(python=sys.executable, folder=str(self.folder)))
        self.program.chmod(0o755)
        self.is_version("go1.99.1")

    def is_version(self, version: str) -> None:
        (self.folder / "version").write_text(version)

    def breaks(self, command: str) -> None:
        """Fail from now on at this command, or in a folder of this name; ``""`` means never."""
        (self.folder / "broken").write_text(command)

    def calls(self) -> list[str]:
        """Return the calls since the last time: the command, and the last part of its package."""
        file = self.folder / "calls"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines
