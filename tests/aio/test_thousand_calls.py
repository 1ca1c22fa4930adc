"""A thousand calls at once: answered, cancelled, or ended with their event loop; nothing is left of them."""

from __future__ import annotations

import pytest

from dynkube_testing import Hang, ServerThread
from tests.sync.kit import run_script

pytestmark = pytest.mark.real_time

# Whatever is left open is a ResourceWarning, which is reported here. `left()` returns what a process has: threads,
# tasks of asyncio and of trio, and open files.
KIT = """
    import asyncio, gc, os, sys, threading, warnings
    import trio, dynkube.aio
    from dynkube._portal.process import PROCESS

    warnings.simplefilter("error")
    sys.unraisablehook = lambda report: print("unraisable:", report.exc_value)

    async def left():
        gc.collect()
        tasks = await asyncio.to_thread(PROCESS.thread().run, trio.lowlevel.current_statistics)
        threads = {each.name.partition("_")[0] for each in threading.enumerate()}
        return threads, len(asyncio.all_tasks()), tasks.tasks_living, len(os.listdir("/proc/self/fd"))

    def client():
        return dynkube.aio.connect(url=sys.argv[1])

    async def warmed_up():
        async with client() as k:
            await k.resource("namespaces").get("default")
        await left()  # starts a thread of asyncio's
        return await left()
"""

ANSWERED = """
    async def main():
        before = await warmed_up()
        async with client() as k:
            found = await asyncio.gather(*(k.resource("namespaces").get("default", timeout=300) for _ in range(1000)))
            print(len(found), {obj.name for obj in found})
        print(await left() == before, sorted(before[0]))
    asyncio.run(main())
"""

CANCELLED = """
    async def main():
        before = await warmed_up()
        async with client() as k:
            configs = k.resource("configmaps")
            try:
                async with asyncio.timeout(0.2), asyncio.TaskGroup() as group:
                    tasks = [group.create_task(configs.get("never", namespace="default")) for _ in range(1000)]
            except TimeoutError:
                print({each.cancelled() for each in tasks}, (await k.resource("namespaces").get("default")).name)
        print(await left() == before, sorted(before[0]))
    asyncio.run(main())
"""

ABANDONED = """
    async def main():
        before = await warmed_up()
        k = await client().__aenter__()
        configs = k.resource("configmaps")
        tasks = [asyncio.create_task(configs.get("never", namespace="default")) for _ in range(1000)]
        await asyncio.wait(tasks, timeout=0.2)
        return before, k, tasks  # the loop ends with all of them
    async def later(k):
        await k.__aexit__(None, None, None)
        return await left()
    before, k, tasks = asyncio.run(main())
    print({each.cancelled() for each in tasks})
    print(asyncio.run(later(k)) == before, sorted(before[0]))
"""

NOTHING = "True ['MainThread', 'asyncio', 'dynkube-trio']"


def run(cluster: ServerThread, script: str) -> list[str]:
    """Run a program, which must say nothing on stderr; return its lines."""
    done = run_script(KIT + script, cluster.url)

    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout.splitlines()


def test_a_thousand_calls_at_once_are_answered_and_leave_nothing(cluster: ServerThread) -> None:
    assert run(cluster, ANSWERED) == ["1000 {'default'}", NOTHING]


def test_a_thousand_calls_are_cancelled_and_leave_nothing(cluster: ServerThread) -> None:
    cluster.run(cluster.server.inject, Hang(), resource="configmaps")

    assert run(cluster, CANCELLED) == ["{True} default", NOTHING]


def test_a_thousand_calls_end_with_their_event_loop_and_leave_nothing(cluster: ServerThread) -> None:
    cluster.run(cluster.server.inject, Hang(), resource="configmaps")

    assert run(cluster, ABANDONED) == ["{True}", NOTHING]
