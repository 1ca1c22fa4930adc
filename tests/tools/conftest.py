"""A Go that compiles nothing: its programs say the version that go.mod pins."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

_GO = """#!{python}
import pathlib, re, sys
here = pathlib.Path({folder!r})
arguments = sys.argv[1:]
if arguments == ["env", "GOVERSION"]:
    sys.exit(print((here / "version").read_text()))
with (here / "calls").open("a") as calls:
    print(*arguments[:1], arguments[-1].rpartition("/")[2], file=calls)
if (here / "broken").exists():
    sys.exit("undefined: everything")
if arguments[0] == "mod":
    for name in ("k8s.io/kubernetes/pkg/generated/openapi/zz_generated.openapi.go",):
        file = pathlib.Path("vendor", name)
        file.parent.mkdir(parents=True)
        file.touch()
if arguments[0] == "build":
    module = "k8s.io/kubernetes" if "k8s.io" in arguments[-1] else "go.etcd.io/etcd/server/v3"
    version = re.search(f"{{re.escape(module)}} v(.*)", pathlib.Path("go.mod").read_text())[1]
    program = pathlib.Path(arguments[arguments.index("-o") + 1])
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\\necho it is v{{version}}\\n")
    program.chmod(0o755)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeGo:
    """A go on ``$PATH``.

    Attributes:
        folder: Of the program, and of the files that tell it what to do.
        cache: The user's cache.
    """

    folder: Path
    cache: Path

    @property
    def program(self) -> Path:
        return self.folder / "go"

    def is_version(self, version: str) -> None:
        (self.folder / "version").write_text(version)

    def breaks(self, *, now: bool = True) -> None:
        (self.folder / "broken").touch() if now else (self.folder / "broken").unlink()

    def calls(self) -> list[str]:
        """What it was asked since the last time: the command, and the last part of what for."""
        file = self.folder / "calls"
        said = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return said


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    """A Go that is new enough, and a cache with nothing in it."""
    fake = FakeGo(folder=tmp_path / "go", cache=tmp_path / "the cache")
    fake.folder.mkdir()
    fake.program.write_text(_GO.format(python=sys.executable, folder=str(fake.folder)))
    fake.program.chmod(0o755)
    fake.is_version("go1.99.1")
    monkeypatch.setenv("PATH", f"{fake.folder}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(fake.cache))
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # no test asks a network
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return fake
