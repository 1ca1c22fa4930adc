"""A pytest plugin that reliably ends tests that take too long; it uses the settings of pytest-timeout.

``timeout`` (in pyproject.toml, or as a mark) is the seconds of *CPU time* that a test may use, so that it does not fail
because a machine is overloaded. After that the kernel kills the process, and the stacks of all threads are printed;
pytest-xdist reports the test as the one that crashed its worker, and starts another worker. This does not depend on
Python code, as trio's loop may be blocked, and a thread may not get the GIL.

A test that waits uses no CPU time. The runner (``tests/suite/runner.py``) detects deadlocks in trio; for all others,
such as joining a thread, there is a limit of wall time, ten times as long, and half an hour at most.

After a failure the teardown has ten seconds. Without this plugin, pytest's faulthandler and pytest-timeout would cancel
their limits then, and a run that has already reported the failure might not end.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from collections.abc import Generator
from typing import Any, Final

import pytest
import pytest_timeout

OVERLOAD: Final = 10
"""The limit of wall time, as a multiple of that of CPU time: a core may be shared by ten processes."""

LONGEST: Final = 1800.0
"""The maximum limit of wall time, in seconds."""

AFTER_FAILURE: Final = 10.0
"""Seconds for the teardown of a failed test, and for the exit of a process in which a test has failed."""


class Limits:
    """The limits of the running test."""

    def __init__(self) -> None:
        self.timeout = 0.0
        """The running test's limit of CPU time in seconds; 0 if it has none."""
        self._failed = False
        self._stderr = os.dup(sys.__stderr__.fileno() if sys.__stderr__ else 2)  # before pytest captures it
        faulthandler.register(signal.SIGPROF, file=self._stderr, all_threads=True, chain=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Cancel the limits after the teardown."""
        try:
            return (yield)
        finally:
            self._lift()

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: pytest_timeout.Settings) -> bool:
        """Set the limits of a test, instead of pytest-timeout."""
        if not (item.config.getoption("usepdb") or pytest_timeout.is_debugging()):
            self.timeout = settings.timeout
            signal.setitimer(signal.ITIMER_PROF, settings.timeout)
            self._end_after(min(settings.timeout * OVERLOAD, LONGEST))
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_cancel_timer(self, item: pytest.Item) -> bool:
        """Keep the limits, as this is also called after a failure."""
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_exception_interact(self) -> None:
        """Set the limit of the teardown, after pytest's faulthandler has cancelled the previous limit."""
        if self.timeout:
            self._end_after(AFTER_FAILURE)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Remember whether a test has failed."""
        self._failed = exitstatus != 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_enter_pdb(self) -> None:
        """Cancel the limits while a debugger is open."""
        self._lift()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_unconfigure(self, config: pytest.Config) -> Generator[None]:
        """Limit the time for which a process waits for threads after its last test; pytest-xdist ends its own workers.

        The interpreter's finalization took nine seconds on a busy machine. After a failure it may be interrupted.
        """
        yield
        if not hasattr(config, "workerinput"):
            self._end_after(AFTER_FAILURE if self._failed else AFTER_FAILURE * OVERLOAD)

    def _end_after(self, seconds: float) -> None:
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._stderr)

    def _lift(self) -> None:
        self.timeout = 0.0
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
