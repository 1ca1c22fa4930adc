"""The options that select the manifests, shared by ``apply`` and ``diff``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from dynkube.cli._run import STDIN, CommandFailed


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Which manifests, and as whose."""

    filename: Annotated[list[str], Parameter(name=["--filename", "-f"], consume_multiple=True, negative="")]
    """Files or folders (with all below them) of YAML or JSON; - for standard input. May be given several times."""
    namespace: Annotated[str | None, Parameter(name=["--namespace", "-n"])] = None
    """Of objects that name none, instead of the context's. An object that names another one is refused."""
    field_manager: str = "dynkube"
    """Whose fields they are."""
    parallel: int = 10
    """How many requests go out at once."""

    def paths(self) -> list[str]:
        """Return the paths to read.

        Raises:
            CommandFailed: a value cannot be a path, or standard input is given twice.
        """
        paths = ["-" if path == STDIN else path for path in self.filename]
        for path in paths:
            if "\n" in path or "{" in path or not path.strip():
                raise CommandFailed(f"-f {path!r} is not a path: pass files or folders, or - for standard input")
        if paths.count("-") > 1:
            raise CommandFailed("-f - is given twice: standard input can be read only once")
        return paths
