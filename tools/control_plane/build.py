"""Build kube-apiserver and etcd with Go modules, once, into the user's cache."""

from __future__ import annotations

import fcntl
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.control_plane.recipes import (
    STAMP,
    BuildFailed,
    Recipe,
    cache_folder,
    control_planes,
    digest,
    is_ready,
    tells,
)
from tools.control_plane.toolchain import Go, Unavailable, find_go, run_logged

_OPENAPI = "k8s.io/kubernetes/pkg/generated/openapi"
_OPENAPI_FILE = "zz_generated.openapi"
_OPENAPI_GENERATOR = "k8s.io/kube-openapi/cmd/openapi-gen"
# Where a kube-apiserver keeps what it says of its version: in both of them in 1.20, in the former now.
_VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")


def build_all() -> dict[str, Path]:
    """The folder of each control plane, with ``kube-apiserver`` and ``etcd``. Blocks while those not there are built.

    Any number of processes may call it: one builds, and the others wait. A build that was cut off begins anew.

    Raises:
        BuildFailed: A step failed.
        Unavailable: There is something to build, and no Go or no source.
    """
    planes, cache = control_planes(), cache_folder()
    folders = {name: cache / server.version / "bin" for name, (server, _) in planes.items()}
    if all(is_ready(folders[name], recipes) for name, recipes in planes.items()):
        return folders
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / "lock"):
        for leftover in cache.glob("build-*"):  # of one that was killed: who has the lock is alone
            shutil.rmtree(leftover)
        missing = {name: recipes for name, recipes in planes.items() if not is_ready(folders[name], recipes)}
        if missing:
            with tempfile.TemporaryDirectory(dir=cache, prefix="build-") as work:
                _build_missing(missing, folders, Path(work))
    return folders


def _build_missing(missing: dict[str, tuple[Recipe, Recipe]], folders: dict[str, Path], work: Path) -> None:
    recipes = [recipe for pair in missing.values() for recipe in pair]
    most = max(recipes, key=lambda recipe: recipe.oldest_go)
    go = find_go(most.oldest_go, most.folder, work)
    for name, pair in missing.items():
        _build(go, pair, work / name, folders[name])


def _build(go: Go, recipes: tuple[Recipe, Recipe], work: Path, folder: Path) -> None:
    """Fill a folder, which is good only once the stamp is in it."""
    started = time.monotonic()
    server, etcd = recipes
    work.mkdir()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STAMP).unlink(missing_ok=True)
    log = folder / "build.log"
    log.write_bytes(b"")
    for program in (_build_apiserver(go, server, work, log), _compile(go, etcd, _vendor(go, etcd, work, log), log)):
        program.replace(folder / program.name)  # never written to in place: one may be running
    (folder / STAMP).write_text(digest(recipes))
    shutil.rmtree(work)
    _say(f"{folder} is ready, after {time.monotonic() - started:.0f} s")


def _build_apiserver(go: Go, recipe: Recipe, work: Path, log: Path) -> Path:
    source = _vendor(go, recipe, work, log)
    if not (source / "vendor" / _OPENAPI / f"{_OPENAPI_FILE}.go").exists():
        _generate_openapi(go, source, work, log)
    major, minor, _ = recipe.version.split(".", 2)
    values = {"gitVersion": f"v{recipe.version}", "gitMajor": major, "gitMinor": minor}
    flags = (f"-X {package}.{key}={value}" for package in _VERSION_PACKAGES for key, value in values.items())
    return _compile(go, recipe, source, log, *flags)


def _vendor(go: Go, recipe: Recipe, work: Path, log: Path) -> Path:
    """Put what a recipe needs, checked against its go.sum, into a folder of its own, where it may be written to."""
    _say(f"{recipe.program} {recipe.version}: fetching the source")
    folder = work / recipe.folder.name
    shutil.copytree(recipe.folder, folder)
    try:
        go.run(log, folder, "mod", "vendor")
    except BuildFailed as error:
        raise Unavailable(f"the source of {recipe.program} {recipe.version} is not to be had: {error}") from error
    return folder


def _generate_openapi(go: Go, source: Path, work: Path, log: Path) -> None:
    """Write the definitions of the built-in types, which old releases of Kubernetes leave to the build.

    Server-side apply merges by them. What a server built so tells at ``/openapi/v2`` is what stands in the release's
    ``api/openapi-spec/swagger.json``. The generator of that time looks for packages in ``$GOPATH``, and folders of
    vendored ones are laid out as there.
    """
    generator = work / "openapi-gen"
    go.run(log, source, "build", "-mod=vendor", "-o", generator, _OPENAPI_GENERATOR)
    gopath = work / "gopath"
    gopath.mkdir()
    packages = gopath / "src"
    packages.symlink_to(source / "vendor")
    marked = {
        file.parent.relative_to(packages)
        for file in (packages / "k8s.io").rglob("*.go")
        if not {"gengo", "kube-openapi"} & set(file.parts) and b"+k8s:openapi-gen=" in file.read_bytes()
    }
    header = work / "no-header.txt"
    header.touch()
    flags: list[str | Path] = ["-i", ",".join(sorted(map(str, marked))), "-h", header, "-r", work / "violations.txt"]
    flags += ["-p", _OPENAPI, "-O", _OPENAPI_FILE, "-o", work / "generated"]
    environment = {**go.environment, "GO111MODULE": "off", "GOPATH": str(gopath)}
    run_logged(log, packages, environment, generator, *flags)
    shutil.copy(work / "generated" / _OPENAPI / f"{_OPENAPI_FILE}.go", packages / _OPENAPI)


def _compile(go: Go, recipe: Recipe, source: Path, log: Path, *linker_flags: str) -> Path:
    _say(f"{recipe.program} {recipe.version}: compiling")
    program = source / "bin" / recipe.program
    linker = " ".join(["-s", "-w", *linker_flags])
    go.run(log, source, "build", "-mod=vendor", "-trimpath", "-ldflags", linker, "-o", program, recipe.package)
    if not tells(program, recipe.version):
        raise BuildFailed(f"`{program.name} --version` of what was built does not say {recipe.version}; see {log}")
    return program


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another process is building; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # standard output is for the result
