"""Every run ends, whatever its tests do: each example runs in its own pytest process, with this suite's plugins."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest
import trio

pytestmark = pytest.mark.real_time

ROOT = Path(__file__).parents[2]
CONFTEST = """
    import pytest, trio, trio.testing
    from anyio._backends._trio import TrioBackend
    from tests.suite.limits import Limits
    from tests.suite.runner import Runner

    def pytest_configure(config):
        limits = Limits()
        config.pluginmanager.register(limits)
        TrioBackend.create_test_runner = lambda options: Runner(lambda: limits.timeout, **options)

    @pytest.fixture
    def anyio_backend(request):
        real = request.node.get_closest_marker("real_time")
        return "trio", {} if real else {"clock": trio.testing.MockClock(autojump_threshold=0)}

    @pytest.fixture
    async def background():
        async with trio.open_nursery() as nursery:
            yield nursery
            nursery.cancel_scope.cancel()
"""
SETTINGS = "[pytest]\nanyio_mode = auto\ntimeout = {timeout}\nmarkers = real_time\n"


async def play(folder: Path, source: str, *options: str, timeout: int = 60, returns: int = 1) -> str:
    """Run a file of tests in a new process, and return its output (stdout and stderr)."""
    (folder / "conftest.py").write_text(textwrap.dedent(CONFTEST))
    (folder / "pytest.ini").write_text(SETTINGS.format(timeout=timeout))
    (folder / "test_example.py").write_text("import time, threading, pytest, trio\n\n" + textwrap.dedent(source))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(folder),
        *options,
        str(folder),
    ]
    result = await trio.run_process(command, cwd=ROOT, capture_stdout=True, stderr=-2, check=False)
    output = (result.stdout or b"").decode()
    assert result.returncode == returns or returns < 0 > result.returncode, output
    return output


async def test_an_error_in_a_background_task_of_a_fixture_fails_the_test(tmp_path: Path) -> None:
    output = await play(
        tmp_path,
        """
        async def crash():
            await trio.sleep(1)
            raise ValueError("in the background")

        async def test_it(background):
            background.start_soon(crash)
            await trio.sleep_forever()

        async def test_next(background):
            pass
        """,
    )

    assert "ValueError: in the background" in output
    assert "1 failed, 1 passed" in output


async def test_background_tasks_end_after_a_failed_assertion(tmp_path: Path) -> None:
    output = await play(
        tmp_path,
        """
        async def test_it(background):
            background.start_soon(trio.sleep_forever)
            assert 1 == 2

        async def test_next(background):
            pass
        """,
    )

    assert "assert 1 == 2" in output
    assert "1 failed, 1 passed" in output


async def test_a_deadlock_in_virtual_time_fails_with_the_stacks_of_all_tasks(tmp_path: Path) -> None:
    output = await play(
        tmp_path,
        """
        async def test_it(background):
            await trio.Event().wait()

        async def test_next(background):
            pass
        """,
    )

    assert "every task waits, for nothing that will come" in output
    assert "in test_it" in output
    assert "1 failed, 1 passed" in output


async def test_waiting_for_ever_beside_a_polling_task_fails_before_the_process_is_killed(tmp_path: Path) -> None:
    output = await play(
        tmp_path,
        """
        async def poll():
            while True:
                await trio.sleep(60)

        async def test_it(background):
            background.start_soon(poll)
            await trio.sleep_forever()

        async def test_next(background):
            pass
        """,
        timeout=4,
    )

    assert "this does not end" in output
    assert "1 failed, 1 passed" in output


async def test_a_deadlock_on_the_real_clock_fails_after_the_timeout(tmp_path: Path) -> None:
    output = await play(
        tmp_path,
        """
        @pytest.mark.real_time
        async def test_it(background):
            await trio.sleep(3600)
        """,
        timeout=2,
    )

    assert "every task waits" in output
    assert "1 failed" in output


async def test_a_test_that_blocks_the_event_loop_is_killed_after_its_cpu_time(tmp_path: Path) -> None:
    output = await play(
        tmp_path,
        """
        async def test_it(background):
            while True:
                pass
        """,
        timeout=2,
        returns=-1,
    )

    assert "test_example.py" in output
    assert "in test_it" in output


async def test_a_test_that_blocks_the_interpreter_is_killed_after_its_cpu_time(tmp_path: Path) -> None:
    output = await play(
        tmp_path,
        """
        import re

        def test_it():
            re.match("^([a-z0-9]+-?)+$", "a" * 60 + "!")
        """,
        timeout=2,
        returns=-1,
    )

    assert "in test_it" in output


async def test_a_killed_worker_is_reported_with_its_test_and_other_tests_run(tmp_path: Path) -> None:
    output = await play(
        tmp_path,
        """
        def test_it():
            while True:
                pass

        def test_next():
            pass
        """,
        "-n1",
        timeout=2,
    )

    assert "crashed while running 'test_example.py::test_it'" in output
    assert "1 failed, 1 passed" in output


async def test_a_teardown_that_never_ends_is_killed_after_ten_seconds(tmp_path: Path) -> None:
    output = await play(
        tmp_path,
        """
        @pytest.fixture
        def thread():
            never = threading.Event()
            yield
            never.wait()

        def test_it(thread):
            assert 1 == 2
        """,
        "-v",
    )

    assert "test_it FAILED" in output
    assert "Timeout (0:00:10)!" in output


async def test_a_thread_that_is_still_running_does_not_keep_the_process_alive(tmp_path: Path) -> None:
    output = await play(
        tmp_path,
        """
        def test_it():
            threading.Thread(target=threading.Event().wait).start()
            assert 1 == 2
        """,
    )

    assert "assert 1 == 2" in output
    assert "1 failed" in output


async def test_wall_time_is_not_counted_as_cpu_time(tmp_path: Path) -> None:
    output = await play(
        tmp_path,
        """
        def test_it():
            time.sleep(3)
        """,
        timeout=2,
        returns=0,
    )

    assert "1 passed" in output
