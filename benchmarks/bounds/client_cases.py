"""What a broken or malicious server may send to a client."""

from __future__ import annotations

from typing import Final

from benchmarks.bounds.trial import Case

CASES: Final[dict[str, Case]] = {}
