"""Folders that are input of another tool: kustomizations and Helm charts."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from dynkube._input_files import read_file
from dynkube.cli._run import CommandFailed

_KUSTOMIZATIONS: Final = frozenset(
    {"kustomization.yaml", "kustomization.yml", "Kustomization"}
)  # as kustomize has them
_CHART: Final = "Chart.yaml"
_MOST_BYTES: Final = 1 << 20

# Kustomizations may omit apiVersion. An object of another group is one to apply: Flux has a kind Kustomization, too.
_OF_OTHER_GROUP: Final = re.compile(
    rb"""^["']?apiVersion["']?:\s*["']?(?!kustomize\.config\.k8s\.io/)\w""", re.MULTILINE
)
_KIND: Final = re.compile(rb"""^["']?kind["']?:""", re.MULTILINE)  # Chart.yaml has an apiVersion, but no kind


def refuse_unbuilt(paths: Iterable[str], command: str) -> None:
    """Reject files and folders with a kustomization or a Helm chart, however deep.

    Blocks while it searches folders.

    Args:
        paths: the paths of ``-f``.
        command: the command to pipe the built manifests to.

    Raises:
        CommandFailed: the message has the pipe.
    """
    for path in paths:
        for folder, name in _files(Path(path)):
            where = shlex.quote(str(folder))
            if name in _KUSTOMIZATIONS and not _has(folder / name, _OF_OTHER_GROUP):
                raise CommandFailed(
                    f"{folder} is a kustomization ({name}), which is not built: pipe its output, as in "
                    f"kubectl kustomize {where} | dynkube {command} -f -"
                )
            if name == _CHART and not _has(folder / name, _KIND):
                raise CommandFailed(
                    f"{folder} is a Helm chart ({name}), which is not rendered: pipe its output, as in "
                    f"helm template {where} | dynkube {command} -f -"
                )


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield folder and name of a file, or of all files that applying a folder would search, outer folders first."""
    if not path.is_dir():
        yield path.parent, path.name
        return
    for directory, names, files in os.walk(path):
        names[:] = sorted(name for name in names if not name.startswith("."))
        yield from ((Path(directory), name) for name in sorted(files))


def _has(path: Path, pattern: re.Pattern[bytes]) -> bool:
    """Return whether a file has a line; true if it cannot be read, which is an error of its own later."""
    try:
        return pattern.search(read_file(path, limit=_MOST_BYTES)) is not None
    except OSError:
        return True
