"""Runs every async test on trio, in virtual time unless it is marked ``real_time``."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from random import Random

import hypothesis
import pytest
import trio.testing
from anyio._backends._trio import TrioBackend

import dynkube
from dynkube_testing import APIServer
from tests.suite.limits import Limits
from tests.suite.runner import Runner
from tools.scenarios import NUMBERS, read_numbers

pytest.register_assert_rewrite("tests.contract.recorded")  # show the differing values
# Tests assert nothing about wall time, as machines may be busy, and neither may hypothesis. CI tries the same examples
# each time; local runs try new ones.
hypothesis.settings.register_profile(
    "dynkube",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    print_blob=True,
    derandomize="CI" in os.environ,
)
hypothesis.settings.load_profile("dynkube")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Use one process if the run writes files, or reports on all of its tests together."""
    if config.getoption("--record") or config.getoption("--pictures") or config.getoption("--differential-examples"):
        config.option.numprocesses = 0


def pytest_configure(config: pytest.Config) -> None:
    """Install the limits under which every test ends, and let Ctrl-C end all processes that tests start.

    A shell's background job ignores SIGINT, and the processes that it starts inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    limits = Limits()
    config.pluginmanager.register(limits)
    # anyio has no other way to use a custom runner.
    runner = partial(Runner, lambda: limits.timeout)
    TrioBackend.create_test_runner = lambda options: runner(**options)  # type: ignore[assignment,method-assign,return-value]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the contract suite, of the random workloads and of the browser tests."""
    parser.addoption(
        "--cluster",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="run tests/contract on this cluster too: a folder with kube-apiserver and etcd to start, or a kubeconfig",
    )
    parser.addoption(
        "--differential-examples",
        type=int,
        metavar="N",
        help="play N new sequences of requests in each area, and report every kind of difference",
    )
    parser.addoption("--seeds", type=int, default=40, metavar="N", help="play N random workloads of controllers")
    parser.addoption("--differential-seed", type=int, metavar="N", help="play those of an earlier run again")
    parser.addoption(
        "--record", action="store_true", help="write what these clusters answer into the tables of tests/contract"
    )
    parser.addoption(
        "--pictures", action="store_true", help="write the pictures of docs/images, as the browser shows them"
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print for each backend how many tests of the contract suite passed, failed, or were skipped."""
    counts: dict[str, Counter[str]] = {}
    for outcome in ("passed", "failed", "skipped", "error"):
        for report in terminalreporter.getreports(outcome):
            if name := dict(getattr(report, "user_properties", ())).get("backend"):
                counts.setdefault(str(name), Counter())[outcome] += 1
    for name, count in counts.items():
        terminalreporter.write_line(f"{name}: {', '.join(f'{number} {outcome}' for outcome, number in count.items())}")


@pytest.fixture
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Trio, with a clock that jumps to the next deadline as soon as every task waits."""
    if request.node.get_closest_marker("real_time"):
        return "trio", {}
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


@pytest.fixture
async def server() -> AsyncIterator[APIServer]:
    """An embedded server, new for each test."""
    async with APIServer() as server:
        yield server


@pytest.fixture
async def client(server: APIServer) -> AsyncIterator[dynkube.Client]:
    """A client connected to ``server``; its random delays are seeded, and its informers stop with their last user."""
    settings = dynkube.InformerSettings(random=Random(7), linger=0)
    async with dynkube.connect(transport=server.transport(), settings=settings) as client:
        yield client


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fail the run if a test's scenario mark has an unknown number."""
    known = read_numbers()
    for item in items:
        for mark in item.iter_markers("scenario"):
            unknown = [number for number in mark.args if number not in known]
            if unknown or mark.kwargs or not mark.args:
                problem = f"{unknown[0]!r} is not in {NUMBERS.name}" if unknown else "it takes numbers: scenario('G3')"
                raise pytest.UsageError(f"{item.nodeid}: the mark scenario is wrong: {problem}")
