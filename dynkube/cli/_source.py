"""The options that select the manifests, shared by ``apply``, ``diff`` and ``drift``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dynkube.cli._arguments import check_namespace
from dynkube.cli._run import STDIN, CommandFailed
from dynkube.cli._unbuilt import refuse_unbuilt
from dynkube.client._options import check_field_manager


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Which manifests, and as whose."""

    # Each value is read as the first of the types, a string; the second one has shells complete paths.
    filename: Annotated[list[str | Path], Parameter(name=["--filename", "-f"], consume_multiple=True, negative="")]
    """Files of YAML or JSON, or folders (recursively); - for standard input. May be repeated."""
    namespace: Annotated[str | None, Parameter(name=["--namespace", "-n"])] = None
    """Namespace of objects without one, instead of the context's. An object with another namespace is refused."""
    field_manager: Annotated[str, Parameter(name=["--field-manager", "--manager"])] = "dynkube"
    """Name of the field manager."""
    parallel: int = 10
    """Maximum number of concurrent requests."""

    def paths(self, command: str) -> list[str]:
        """Return the paths to read. Blocks while folders are searched for what ``command`` cannot build.

        Raises:
            CommandFailed: an option is invalid: a value cannot be a path, or standard input is given twice; or a folder
                has a kustomization or a Helm chart.
            InvalidInput: a server would reject the field manager.
        """
        check_namespace(self.namespace, "that of the current context")
        check_field_manager(self.field_manager, "--field-manager")
        if self.parallel < 1:
            raise CommandFailed(f"--parallel must be an integer >= 1, not {self.parallel}")
        paths = ["-" if path == STDIN else str(path) for path in self.filename]
        for path in paths:
            if "\n" in path or "{" in path or not path.strip():
                raise CommandFailed(f"-f {path!r} is not a path: pass files or folders, or - for standard input")
        if paths.count("-") > 1:
            raise CommandFailed("-f - is given twice: standard input can be read only once")
        refuse_unbuilt(paths, command)
        return paths
