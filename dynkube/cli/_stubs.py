"""``dynkube stubs``: models of kinds as Python modules, for editors and type checkers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import trio
from cyclopts import Parameter

from dynkube._client import Client
from dynkube.cli._cluster import Cluster
from dynkube.cli._notes import note
from dynkube.cli._run import STDIN, CommandFailed
from dynkube.inspection._model_source import MARK
from dynkube.inspection._stub_modules import modules_of_crds, modules_of_server
from dynkube.manifests import leaves
from dynkube.manifests._sources import read_async, read_stdin
from dynkube.meta import Unstructured

_INIT = '"""Models of Kubernetes objects."""\n' + MARK + "\n"


async def stubs(
    *resources: str,
    output: Annotated[Path, Parameter(name=["--output", "-o"])],
    filename: Annotated[
        list[str | Path] | None, Parameter(name=["--filename", "-f"], consume_multiple=True, negative="")
    ] = None,
    partial: Annotated[bool, Parameter(negative="")] = False,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Write models of kinds: msgspec Structs for obj.typed(...), one module for each group and version.

    Files that this command has written before are replaced; others are not touched.

    Args:
        resources: Resources, like deploy or httproutes.gateway.networking.k8s.io: all kinds of their groups and
            versions. By default all kinds that the cluster serves.
        output: The folder to write to, which becomes a package.
        filename: Files or folders with CRDs, to be read instead of a cluster; - for standard input.
        partial: No field is required, for applies of parts of objects.
        cluster: The cluster.
    """
    if filename and resources:
        raise CommandFailed("-f and resources are mutually exclusive: the CRDs of files are all written")
    modules = (
        await _of_files(filename, partial_objects=partial)
        if filename
        else await of_cluster(cluster.client(), resources, partial_objects=partial)
    )
    await trio.to_thread.run_sync(write_modules, output, modules)
    note(f"{len(modules)} module{'s' * (len(modules) != 1)} in {output}")


async def of_cluster(client: Client, resources: Sequence[str], *, partial_objects: bool) -> dict[str, str]:
    """Enter ``client``, and return the sources of modules by name."""
    async with client:
        api = client._api
        versions = {(await api.mapper.resolve(each)).gvr.group_version for each in resources}
        return await modules_of_server(api, versions or None, partial_objects=partial_objects)


async def _of_files(filename: Sequence[str | Path], *, partial_objects: bool) -> dict[str, str]:
    paths = ["-" if path == STDIN else str(path) for path in filename]
    crds: list[Unstructured] = []
    for manifest in await read_async(leaves(paths), read_stdin):
        if manifest.object is None or manifest.error is not None:
            raise CommandFailed(f"{manifest.place}: {manifest.error}")
        if manifest.object.kind == "CustomResourceDefinition":
            crds.append(manifest.object)
    if not crds:
        raise CommandFailed("no CustomResourceDefinitions found in the files or folders of -f")
    return modules_of_crds((crd.to_dict() for crd in crds), partial_objects=partial_objects)


def _is_ours(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as file:
        return MARK in file.read(4000)


def write_modules(folder: Path, modules: Mapping[str, str]) -> None:
    """Write modules into a folder, which is created. Blocks.

    Raises:
        CommandFailed: a file is there that this command has not written, or the folder cannot be written.
    """
    wanted = {folder / "__init__.py": _INIT, **{folder / f"{name}.py": text for name, text in modules.items()}}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in wanted:
            if path.exists() and not _is_ours(path):
                if path.name == "__init__.py":
                    continue
                raise CommandFailed(f"{path} was not written by this command: choose another --output, or remove it")
        for path, text in wanted.items():
            if path.name != "__init__.py" or not path.exists():
                path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{error.filename or folder}: {error.strerror or error}") from error
