"""Build real control planes and tools for their tests with Go modules, once, into the user's cache."""

from __future__ import annotations

import fcntl
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.control_plane.recipes import (
    NAMES,
    BuildFailed,
    Bundle,
    Recipe,
    cache_folder,
    control_planes,
    extras,
    prints_version,
)
from tools.control_plane.toolchain import Go, Unavailable, find_go, run_logged

_OPENAPI = "k8s.io/kubernetes/pkg/generated/openapi"
_OPENAPI_FILE = "zz_generated.openapi"
_OPENAPI_GENERATOR = "k8s.io/kube-openapi/cmd/openapi-gen"
# The packages with the version of a program of Kubernetes: both in 1.20, the former in current releases.
_VERSION_PACKAGES = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")


def build_all(names: Sequence[str] = NAMES) -> dict[str, Path]:
    """Return the folder of each control plane, with ``kube-apiserver`` and ``etcd``; build missing ones. Blocks.

    Their extras (:func:`~tools.control_plane.recipes.extras`) are built too, but may be missing if their source cannot
    be downloaded.

    May be called by several processes at once: one builds, and the others wait. An interrupted build starts again.

    Raises:
        BuildFailed: a step failed.
        Unavailable: servers have to be built, and Go or the source is not available.
    """
    planes, cache = {name: bundle for name, bundle in control_planes().items() if name in names}, cache_folder()
    folders = {name: cache / bundle.recipes[0].version / "bin" for name, bundle in planes.items()}
    wanted = [(folders[name], bundle) for name, bundle in planes.items()]
    wanted += [(folder, bundle) for name, folder in folders.items() for bundle in extras(name)]
    if not _missing(wanted):
        return folders
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / "lock"):
        for leftover in cache.glob("build-*"):  # of a process that was killed: the lock excludes others
            shutil.rmtree(leftover)
        if missing := _missing(wanted):
            with tempfile.TemporaryDirectory(dir=cache, prefix="build-") as work:
                _build_missing(missing, Path(work))
    return folders


def _missing(wanted: Sequence[tuple[Path, Bundle]]) -> list[tuple[Path, Bundle]]:
    return [(folder, bundle) for folder, bundle in wanted if not bundle.is_ready(folder)]


def _build_missing(missing: Sequence[tuple[Path, Bundle]], work: Path) -> None:
    most = max((recipe for _, bundle in missing for recipe in bundle.recipes), key=lambda recipe: recipe.oldest_go)
    try:
        go = find_go(most.oldest_go, most.folder, work)
    except Unavailable as error:
        if not all(bundle.optional for _, bundle in missing):
            raise
        _say(f"going on without {_names(missing[0][1])}: {error}")
        return
    for number, (folder, bundle) in enumerate(missing):
        try:
            _build(go, bundle, work / str(number), folder)
        except Unavailable as error:
            if not bundle.optional:
                raise
            _say(f"going on without {_names(bundle)}: {error}")


def _build(go: Go, bundle: Bundle, work: Path, folder: Path) -> None:
    """Build programs into a folder. The stamp is written last: without it, the folder is incomplete."""
    started = time.monotonic()
    work.mkdir()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / bundle.stamp).unlink(missing_ok=True)
    log = folder / bundle.log
    log.write_bytes(b"")
    for program in [_build_program(go, recipe, work, log) for recipe in bundle.recipes]:
        program.replace(folder / program.name)  # replaced and not overwritten, as the old one may be running
    (folder / bundle.stamp).write_text(bundle.digest)
    shutil.rmtree(work)
    _say(f"{folder} has {_names(bundle)}, after {time.monotonic() - started:.0f} s")


def _names(bundle: Bundle) -> str:
    return " and ".join(recipe.program for recipe in bundle.recipes)


def _build_program(go: Go, recipe: Recipe, work: Path, log: Path) -> Path:
    if recipe.module == "k8s.io/kubernetes":
        return _build_kubernetes(go, recipe, work, log)
    return _compile(go, recipe, _vendor(go, recipe, work, log), log)


def _build_kubernetes(go: Go, recipe: Recipe, work: Path, log: Path) -> Path:
    source = _vendor(go, recipe, work, log)
    if recipe.program == "kube-apiserver" and not (source / "vendor" / _OPENAPI / f"{_OPENAPI_FILE}.go").exists():
        _generate_openapi(go, source, work, log)
    major, minor, _ = recipe.version.split(".", 2)
    values = {"gitVersion": f"v{recipe.version}", "gitMajor": major, "gitMinor": minor}
    flags = (f"-X {package}.{key}={value}" for package in _VERSION_PACKAGES for key, value in values.items())
    return _compile(go, recipe, source, log, *flags)


def _vendor(go: Go, recipe: Recipe, work: Path, log: Path) -> Path:
    """Download the modules of a recipe, verified with its go.sum, into a writable folder; return it."""
    folder = work / recipe.folder.name
    if folder.exists():  # of another program of the bundle
        return folder
    _say(f"{recipe.program} {recipe.version}: fetching the source")
    shutil.copytree(recipe.folder, folder)
    try:
        go.run(log, folder, "mod", "vendor")
    except BuildFailed as error:
        raise Unavailable(f"the source of {recipe.program} {recipe.version} cannot be downloaded: {error}") from error
    return folder


def _generate_openapi(go: Go, source: Path, work: Path, log: Path) -> None:
    """Generate the OpenAPI definitions of the built-in types, which old releases of Kubernetes do not contain.

    Server-side apply needs them for merging. With them, ``/openapi/v2`` of the built server equals the release's
    ``api/openapi-spec/swagger.json``. The generator of these releases reads packages from ``$GOPATH``, which has the
    same layout as a folder of vendored packages.
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
    if not prints_version(program, recipe):
        command = f"{program.name} {recipe.version_argument}"
        raise BuildFailed(f"`{command}` of what was built does not print {recipe.version}; see {log}")
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
    print(text, file=sys.stderr, flush=True)  # standard output has the result only
