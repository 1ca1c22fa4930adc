"""The trio thread and its process: started on demand, ended with the process, and started again after a fork."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from types import SimpleNamespace

import pytest
import trio

import dynkube.sync
from dynkube._portal.process import Process
from dynkube._portal.thread import TrioThread
from dynkube.errors import ClosedError, InvalidInput
from dynkube_testing import ServerThread
from tests.sync.kit import CONFIGMAPS, interrupt, run_script

pytestmark = pytest.mark.real_time


def test_importing_starts_no_thread() -> None:
    done = run_script("import threading, dynkube.sync; print(threading.active_count())")

    assert (done.stdout, done.stderr, done.returncode) == ("1\n", "", 0)


@pytest.mark.parametrize(
    ("module", "check", "message"),
    [
        ("gevent.monkey", "is_module_patched", "gevent has patched threading, socket, select, with which trio"),
        ("eventlet.patcher", "is_monkey_patched", "eventlet has patched thread, socket, select, with which trio"),
    ],
)
def test_a_process_patched_for_greenlets_is_rejected(
    module: str, check: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for is_patched in (False, True):
        monkeypatch.setitem(sys.modules, module, SimpleNamespace(**{check: lambda name, given=is_patched: given}))
        if not is_patched:
            TrioThread().close()

    with pytest.raises(InvalidInput, match=f"{message}.*: use dynkube in a process that is not patched"):
        TrioThread()


def test_the_end_of_the_process_cancels_tasks_and_runs_their_cleanup(cluster: ServerThread) -> None:
    script = """
        import sys, trio, dynkube.sync
        k = dynkube.sync.connect(url=sys.argv[1])
        async def on_add(obj):
            try:
                await trio.sleep_forever()
            finally:
                print("cleaned up")
        namespaces = k.informer("namespaces", field_selector="metadata.name=default")
        handler = namespaces.add_handler(on_add=on_add)
        with namespaces.events() as events:
            next(events)
        k.resource("namespaces").list()
        while not handler.statistics().handled: pass
    """

    done = run_script(script, cluster.url)

    assert (done.stdout, done.stderr, done.returncode) == ("cleaned up\n", "", 0)


def test_a_forked_process_needs_new_connections(cluster: ServerThread) -> None:
    script = """
        import os, sys, warnings, dynkube.errors, dynkube.sync
        k = dynkube.sync.connect(url=sys.argv[1])
        k.informer("namespaces").wait_synced(timeout=10)
        warnings.simplefilter("ignore")  # from 3.12 on, Python warns of forks beside threads
        child = os.fork()
        if child:
            sys.exit(os.waitpid(child, 0)[1] >> 8)
        try:
            k.resource("namespaces").list()
        except dynkube.errors.ClosedError as error:
            print(error)
        with dynkube.sync.connect(url=sys.argv[1]) as mine:
            print(mine.resource("namespaces").get("default").name)
    """

    done = run_script(script, cluster.url)

    expected = "this was opened before the process was forked: connect again in the new process\ndefault\n"
    assert (done.stdout, done.stderr, done.returncode) == (expected, "", 0)


def test_all_clients_of_a_process_share_one_thread() -> None:
    process = Process()

    first, second = process.thread(), process.thread()

    assert first is second
    first.close()
    assert process.thread() is not first
    process.thread().close()


def test_a_thread_that_has_ended_rejects_calls() -> None:
    thread = TrioThread()
    thread.close()
    thread.close()

    with pytest.raises(ClosedError, match=r"has ended: connect again$"):
        thread.call(trio.sleep, 0)


def test_a_close_within_the_portal_has_no_effect() -> None:
    thread = TrioThread()

    thread.run(thread.close)

    assert thread.run(os.getpid) == os.getpid()
    thread.close()


def test_an_interrupt_while_the_thread_starts_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[threading.Thread] = []

    class Interrupted(threading.Thread):
        def start(self) -> None:
            started.append(self)
            super().start()
            interrupt()

    monkeypatch.setattr(threading, "Thread", Interrupted)

    with pytest.raises(KeyboardInterrupt):
        TrioThread()

    started[0].join()


def test_the_end_of_the_thread_ends_waiting_calls() -> None:
    thread = TrioThread()

    async def end_it() -> None:
        threading.Thread(target=thread.close).start()
        await trio.sleep_forever()

    with pytest.raises(ClosedError, match="connect again"):
        thread.call(end_it)


def test_a_system_exit_in_the_loop_is_raised_for_the_caller_and_the_loop_continues() -> None:
    thread = TrioThread()

    with pytest.raises(SystemExit):
        thread.run(lambda: exit(3))

    assert thread.run(os.getpid) == os.getpid()
    thread.close()


def test_a_system_exit_of_a_background_task_is_logged_and_the_loop_continues(caplog: pytest.LogCaptureFixture) -> None:
    thread = TrioThread()

    async def fail() -> None:
        raise SystemExit(3)

    thread.hold(fail, trio.CancelScope())

    assert thread.run(os.getpid) == os.getpid()
    thread.close()
    assert "has failed" in caplog.text


def test_closing_a_client_closes_its_watches_and_informers(cluster: ServerThread) -> None:
    k = dynkube.sync.connect(url=cluster.url)
    k.informer(CONFIGMAPS).wait_synced(timeout=10)
    watch = k.resource(CONFIGMAPS).watch()
    watch.__enter__()

    k.close()

    with pytest.raises(ClosedError):
        next(watch)


def test_a_fork_while_another_thread_starts_the_loop_leaves_no_lock_held() -> None:
    script = """
        import os, signal, sys, threading, warnings
        from dynkube._portal import process as module
        process = module.Process()
        process.thread().close()
        warnings.simplefilter("ignore")  # from 3.12 on, Python warns of forks beside threads
        starting, started, make = threading.Event(), threading.Event(), module.TrioThread
        def slowly():
            starting.set()
            started.wait()
            return make()
        module.TrioThread = slowly
        other = threading.Thread(target=process.thread)
        other.start()
        starting.wait()
        child = os.fork()
        if child:
            started.set()
            other.join()
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        signal.alarm(10)  # which ends a child that waits for the lock
        module.TrioThread = make
        assert process.thread().run(os.getpid) == os.getpid()
    """

    done = run_script(script)

    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_a_replaced_thread_is_registered_for_the_exit_once(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[object] = []
    monkeypatch.setattr(atexit, "register", registered.append)
    monkeypatch.setattr(os, "register_at_fork", lambda **hooks: registered.append(hooks))
    process = Process()

    first = process.thread()
    first.close()
    process.thread().close()

    assert len(registered) == 2
