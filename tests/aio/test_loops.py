"""Event loops that end before the client, programs that end, and forks: nothing hangs, nothing is left."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from collections.abc import Callable, Coroutine, Iterator

import pytest
import trio

import dynkube
import dynkube.aio
from dynkube._portal.process import PROCESS
from dynkube.aio._call import in_trio
from dynkube_testing import ServerThread
from tests.aio.kit import in_asyncio, trio_tasks
from tests.sync.kit import CONFIGMAPS, config_map, run_script

pytestmark = pytest.mark.real_time


@pytest.fixture
def abandoned(cluster: ServerThread) -> Iterator[dynkube.aio.Client]:
    """A client that is open after its event loop was closed; closed by another loop."""
    client = dynkube.aio.connect(url=cluster.url)
    asyncio.run(_enter(client))
    yield client
    asyncio.run(_leave(client))


async def _enter(client: dynkube.aio.Client) -> None:
    await client.__aenter__()


async def _leave(client: dynkube.aio.Client) -> None:
    await client.__aexit__(None, None, None)


Main = Callable[[], Coroutine[object, object, None]]


def _close_cleanly(main: Main) -> None:
    asyncio.run(main())


def _close_with_its_tasks(main: Main) -> None:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    loop.close()


def _stop(main: Main) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    return loop


@pytest.mark.parametrize("end", [_close_cleanly, _close_with_its_tasks])
def test_the_registration_of_a_handler_reports_that_its_loop_has_ended(
    cluster: ServerThread,
    abandoned: dynkube.aio.Client,
    caplog: pytest.LogCaptureFixture,
    end: Callable[[Main], None],
) -> None:
    handles: list[dynkube.aio.Registration] = []

    async def main() -> None:
        maps = await abandoned.informer(CONFIGMAPS, namespace="default").__aenter__()
        handles.append(maps.add_handler(on_add=lambda obj: None, name="mine"))
        await handles[0].wait_synced()

    async def later() -> None:
        async with abandoned.informer(CONFIGMAPS, namespace="default") as maps:
            for name in ("one", "two"):
                await maps.wait_for(await abandoned.resource(CONFIGMAPS).create(config_map(name)))
            await maps.wait_synced()

    end(main)
    asyncio.run(later())
    handle = handles[0]

    assert (handle.errors, "removed" in repr(handle)) == (1, True)
    assert "the asyncio event loop of handler mine has ended" in handle.statistics().last_error
    assert [record.name for record in caplog.records if record.levelno >= logging.ERROR] == ["dynkube.informers"]


@pytest.mark.parametrize("end", [_close_cleanly, _close_with_its_tasks, _stop])
def test_a_loop_that_ends_during_a_call_of_a_handler_holds_up_nothing(
    cluster: ServerThread,
    abandoned: dynkube.aio.Client,
    end: Callable[[Main], asyncio.AbstractEventLoop | None],
) -> None:
    cluster.create(config_map("one"))

    async def main() -> None:
        begun = asyncio.Event()

        async def on_add(obj: dynkube.Unstructured) -> None:
            begun.set()
            await asyncio.Event().wait()

        maps = await abandoned.informer(CONFIGMAPS, namespace="default").__aenter__()
        maps.add_handler(on_add=on_add)
        await begun.wait()

    loop = end(main)
    asyncio.run(_leave(abandoned))

    if loop is not None:
        loop.close()
    gc.collect()


def test_a_loop_that_ends_during_a_call_leaves_the_stream_usable(
    cluster: ServerThread, abandoned: dynkube.aio.Client
) -> None:
    names: list[str] = []
    tasks: list[object] = []

    async def main() -> dynkube.aio.EventStream:
        maps = await abandoned.informer(CONFIGMAPS, namespace="default").__aenter__()
        events = await maps.events().__aenter__()
        await maps.wait_synced()
        tasks.append(asyncio.ensure_future(anext(events)))
        await asyncio.sleep(0)
        return events

    async def go_on(events: dynkube.aio.EventStream) -> None:
        cluster.create(config_map("one"))
        event = await anext(events)
        assert isinstance(event, dynkube.Added)
        names.append(event.object.name)

    events = asyncio.run(main())
    asyncio.run(go_on(events))

    assert names == ["one"]


@in_asyncio
async def test_closing_a_client_leaves_no_task(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url):
        pass
    before = await asyncio.to_thread(trio_tasks)

    async with dynkube.aio.connect(url=cluster.url) as client:
        spaces = await client.informer("namespaces").__aenter__()
        spaces.add_handler(on_add=lambda obj: None)
        await client.informer("widgets.v1.example.com").__aenter__()
        await anext(await spaces.events().__aenter__())
        await anext(await client["namespaces"].watch().__aenter__())
        during = await asyncio.to_thread(trio_tasks)

    assert during > before + 8
    assert await asyncio.to_thread(trio_tasks) == before


def test_a_call_is_cancelled_when_its_loop_is_closed_while_it_waits() -> None:
    ended = threading.Event()

    async def work() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    loop = asyncio.new_event_loop()
    task = loop.create_task(in_trio(PROCESS.thread(), work))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()

    assert ended.wait(30)
    task._log_destroy_pending = False  # type: ignore[attr-defined]


def test_an_interrupted_program_closes_its_client(cluster: ServerThread) -> None:
    script = """
        import asyncio, os, signal, sys, dynkube, dynkube.aio
        async def main():
            async with dynkube.aio.connect(url=sys.argv[1]) as client, client.informer("configmaps") as maps:
                maps.add_handler(on_add=print)
                await maps.wait_synced()
                os.kill(os.getpid(), signal.SIGINT)
                await maps.wait_state(dynkube.STOPPED)
        try:
            asyncio.run(main(), debug=True)
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = run_script(script, cluster.url)

    assert (done.stdout, done.stderr, done.returncode) == ("interrupted\n", "", 0)


SCRIPTS = {
    "a client that is never closed": """
        import asyncio, sys, dynkube.aio
        async def main():
            client = await dynkube.aio.connect(url=sys.argv[1]).__aenter__()
            maps = await client.informer("configmaps").__aenter__()
            handle = maps.add_handler(on_add=print)
            events = await maps.events().__aenter__()
            pending = asyncio.ensure_future(anext(events))
            await handle.wait_synced()
            print("done")
        asyncio.run(main(), debug=True)
    """,
    "a client that was never entered": """
        import sys, dynkube.aio
        dynkube.aio.connect(url=sys.argv[1])
        print("done")
    """,
    "a loop that is closed with its tasks": """
        import asyncio, sys, dynkube.aio
        async def main():
            client = await dynkube.aio.connect(url=sys.argv[1]).__aenter__()
            maps = await client.informer("configmaps").__aenter__()
            await maps.add_handler(on_add=print).wait_synced()
            print("done")
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        loop.close()
    """,
    "a forked process": """
        import asyncio, os, sys, warnings, dynkube.aio, dynkube.errors
        warnings.simplefilter("ignore")  # from 3.12 on, Python warns of forks beside threads
        client = dynkube.aio.connect(url=sys.argv[1])
        async def main():
            async with client:
                await client.get("namespaces", "default")
        child = os.fork()
        if child:
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        asyncio.run(main())
        print("done")
    """,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_program_ends_without_a_word(cluster: ServerThread, name: str) -> None:
    done = run_script(SCRIPTS[name], cluster.url)

    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


def test_a_client_that_was_open_before_a_fork_is_closed_in_the_child(cluster: ServerThread) -> None:
    script = """
        import asyncio, os, sys, warnings, dynkube.aio, dynkube.errors
        warnings.simplefilter("ignore")
        async def enter(client):
            return await client.__aenter__()
        client = asyncio.run(enter(dynkube.aio.connect(url=sys.argv[1])))
        child = os.fork()
        if child:
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        async def use():
            try:
                await client.get("namespaces")
            except dynkube.errors.ClosedError as error:
                print(error)
        asyncio.run(use())
    """
    done = run_script(script, cluster.url)

    assert "before the process was forked: connect again" in done.stdout
    assert (done.stderr, done.returncode) == ("", 0)


def test_importing_dynkube_loads_nothing_of_it() -> None:
    script = "import sys, dynkube, dynkube.sync; print('asyncio' in sys.modules, 'dynkube.aio' in sys.modules)"

    assert run_script(script).stdout == "False False\n"
