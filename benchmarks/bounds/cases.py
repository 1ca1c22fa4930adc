"""All inputs by name."""

from __future__ import annotations

from typing import Final

from benchmarks.bounds import client_cases, server_cases, yaml_cases
from benchmarks.bounds.trial import Case

CASES: Final[dict[str, Case]] = {**yaml_cases.CASES, **client_cases.CASES, **server_cases.CASES}
