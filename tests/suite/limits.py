"""Ends tests that take too long, for certain: a pytest plugin, by the settings of pytest-timeout.

``timeout`` (in pyproject.toml, or as a mark) is how many seconds of *CPU time* a test may use, so that it does not fail
because a machine is overloaded. Then the process is ended by the kernel, with the stacks of all threads; pytest-xdist
reports the test as the one that crashed its worker, and goes on with another. No Python runs for this: not in trio's
loop, which may be held, and not in a thread, which may get no chance to.

What waits uses no CPU time. A deadlock in trio is found by the runner (``tests/suite/runner.py``); for everything else,
such as a thread that is joined, there is a limit by the clock, which is ten times as long, and half an hour at most.

After a failure there are ten seconds for the teardown. pytest's faulthandler and pytest-timeout both drop their limits
then, and leave a run that has printed its F and does not end.
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
"""How much longer than its CPU time a test may take by the clock: each core may be shared with nine others."""

LONGEST: Final = 1800.0
"""Seconds by the clock that no test may take."""

AFTER_FAILURE: Final = 10.0
"""Seconds in which a test that has failed is torn down, and in which a process ends after its last test, where one has
failed."""


class Limits:
    """The limits of the test that runs."""

    def __init__(self) -> None:
        self.timeout = 0.0
        """Of the test that runs, in seconds; 0 without a limit."""
        self._failed = False
        self._stderr = os.dup(sys.__stderr__.fileno() if sys.__stderr__ else 2)  # as it was before it was captured
        faulthandler.register(signal.SIGPROF, file=self._stderr, all_threads=True, chain=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Lift the limits when all is torn down."""
        try:
            return (yield)
        finally:
            self._lift()

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: pytest_timeout.Settings) -> bool:
        """Set the limits of a test, in place of pytest-timeout's own."""
        if not (item.config.getoption("usepdb") or pytest_timeout.is_debugging()):
            self.timeout = settings.timeout
            signal.setitimer(signal.ITIMER_PROF, settings.timeout)
            self._end_after(min(settings.timeout * OVERLOAD, LONGEST))
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_cancel_timer(self, item: pytest.Item) -> bool:
        """Keep them: this is called after a failure as well."""
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_exception_interact(self) -> None:
        """Set the limit of the teardown, after pytest's faulthandler has dropped the one before."""
        if self.timeout:
            self._end_after(AFTER_FAILURE)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Note whether there was a failure."""
        self._failed = exitstatus != 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_enter_pdb(self) -> None:
        """Whoever looks at a test has time."""
        self._lift()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_unconfigure(self, config: pytest.Config) -> Generator[None]:
        """End a process that waits for threads after its last test; pytest-xdist does the same with its workers.

        The interpreter's own end took nine seconds on a machine that was busy. After a failure that may be cut off.
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
