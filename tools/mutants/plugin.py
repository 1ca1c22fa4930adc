"""A pytest plugin: runs chosen tests in a given order, and notes how long each test takes."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

_seconds: dict[str, float] = defaultdict(float)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that the file ``$MUTANTS_TESTS`` lists, in its order."""
    if chosen := os.environ.get("MUTANTS_TESTS"):
        place = {test: place for place, test in enumerate(json.loads(Path(chosen).read_text(encoding="utf-8")))}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in place])
        items[:] = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add the duration of a phase of a test."""
    _seconds[report.nodeid] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the durations to ``$MUTANTS_SECONDS``; the workers of xdist report to the main process."""
    if (file := os.environ.get("MUTANTS_SECONDS")) and not hasattr(session.config, "workerinput"):
        Path(file).write_text(json.dumps(_seconds), encoding="utf-8")
