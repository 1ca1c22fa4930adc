"""Recorded cases as YAML files: one readable document for each case."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml


class _Dumper(yaml.CSafeDumper):
    """Writes plain strings of several lines as blocks."""


def _string(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    lines = text.split("\n")
    block = len(lines) > 1 and text == text.strip() and all(line == line.rstrip() for line in lines)
    plain = text.isascii() and "".join(lines).isprintable()
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if block and plain else None)


_Dumper.add_representer(str, _string)


def load_cases(path: Path) -> list[dict[str, Any]]:
    """Return the cases of a file."""
    with path.open(encoding="utf-8") as file:
        return list(yaml.load_all(file, Loader=yaml.CSafeLoader))  # it is a safe loader


def dump_cases(path: Path, cases: Iterable[dict[str, Any]]) -> None:
    """Write cases to a file."""
    text = yaml.dump_all(cases, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, explicit_start=True)
    path.write_text(text, encoding="utf-8")
