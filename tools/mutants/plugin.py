"""A pytest plugin: runs selected tests in a given order, and writes their durations to ``$MUTANTS_SECONDS``."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

_seconds: dict[str, float] = defaultdict(float)
_failed: set[str] = set()


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
    if report.failed:
        _failed.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the durations of tests that passed; the workers of xdist report to the main process."""
    if (file := os.environ.get("MUTANTS_SECONDS")) and not hasattr(session.config, "workerinput"):
        passed = {test: seconds for test, seconds in _seconds.items() if test not in _failed}
        Path(file).write_text(json.dumps(passed), encoding="utf-8")
