"""Requests that may stop the embedded server for all its clients."""

from __future__ import annotations

from typing import Final

from benchmarks.bounds.trial import Case

CASES: Final[dict[str, Case]] = {}
