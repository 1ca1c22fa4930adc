"""Writes the list of public names: ``python -m tools.public_api`` writes docs/reference/public-api.txt.

A name is public if it is in that file. tests/architecture compares the file with ``dir()`` of every public module and
class, so that every change of the public API is a line in a diff.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

FILE: Final = Path(__file__).parents[1] / "docs" / "reference" / "public-api.txt"

MODULES: Final = (
    "dynkube",
    "dynkube.aio",
    "dynkube.client",
    "dynkube.config",
    "dynkube.controllers",
    "dynkube.discovery",
    "dynkube.errors",
    "dynkube.fields",
    "dynkube.informers",
    "dynkube.inspection",
    "dynkube.manifests",
    "dynkube.meta",
    "dynkube.meta.yaml",
    "dynkube.notebook",
    "dynkube.pods",
    "dynkube.rest",
    "dynkube.sync",
    "dynkube.telemetry",
    "dynkube.workloads",
    "dynkube_testing",
)


def public_names() -> Iterator[str]:
    """Yield each public module, its public names, and the public members of its classes."""
    for path in MODULES:
        module = importlib.import_module(path)
        yield path
        for name in sorted(module.__all__):
            value = getattr(module, name)
            yield f"{path}.{name}"
            if isinstance(value, ModuleType) and value.__name__ not in MODULES:
                functions = {member for member, each in vars(value).items() if inspect.isfunction(each)}
                yield from (f"{path}.{name}.{member}" for member in sorted(functions) if not member.startswith("_"))
            # Members once: under the name by which the class can be imported first in MODULES.
            if isinstance(value, type) and _first_home(name, value) == path:
                yield from (f"{path}.{name}.{member}" for member in members_of(value))


def members_of(cls: type) -> list[str]:
    """Return the public members of a class, without those of the builtin types that it inherits from."""
    inherited = {name for base in cls.__mro__ if base.__module__ == "builtins" for name in dir(base)}
    return sorted(name for name in dir(cls) if not name.startswith("_") and name not in inherited)


def _first_home(name: str, value: type) -> str:
    return next(path for path in MODULES if getattr(importlib.import_module(path), name, None) is value)


def main() -> int:
    """Write the file."""
    FILE.write_text("".join(f"{name}\n" for name in public_names()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
