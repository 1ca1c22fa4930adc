"""``serve_in_thread``: a server in its own thread, used over TCP and by methods from any thread."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import httpx2
import pytest

from dynkube.errors import ClosedError, InvalidInput, NotFound
from dynkube_testing import APIServer, serve_in_thread
from tests.contract.objects import config

pytestmark = pytest.mark.real_time


def test_a_synchronous_program_can_use_methods_and_tcp() -> None:
    with serve_in_thread() as cluster:
        cluster.create(config("a"))
        response = httpx2.get(f"{cluster.url}/api/v1/namespaces/default/configmaps/a")
        requests = [(request.verb, request.name) for request in cluster.audit]
        shown = repr(cluster)

    assert shown == f"<ServerThread {cluster.url}>"
    assert response.json()["data"] == {"k": "v"}
    assert requests == [("get", "a")]


def test_error_responses_are_raised_in_the_calling_thread() -> None:
    with serve_in_thread() as cluster, pytest.raises(NotFound, match='configmaps "a" not found'):
        cluster.get("configmaps", "a")


def test_run_calls_a_function_in_the_thread_of_the_server() -> None:
    with serve_in_thread() as cluster:
        cluster.run(cluster.server.fail, status=503, times=1)
        response = httpx2.get(f"{cluster.url}/api/v1/pods")
        thread = cluster.run(threading.current_thread)

    assert response.status_code == 503
    assert thread is not threading.current_thread()


def test_many_threads_may_write_at_once() -> None:
    with serve_in_thread() as cluster:
        threads = [
            threading.Thread(target=lambda n=n: [cluster.create(config(f"t{n}-{i}")) for i in range(25)])
            for n in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stored = cluster.list("configmaps")

    assert len({item["metadata"]["resourceVersion"] for item in stored}) == 100


def test_leaving_the_block_ends_watches_and_the_thread() -> None:
    before = threading.active_count()

    with (
        httpx2.Client() as client,
        serve_in_thread() as cluster,
        client.stream("GET", f"{cluster.url}/api/v1/pods?watch=1") as watch,
    ):
        assert watch.status_code == 200
        # Leave the block of the server first, with the watch open.
        cluster.run(lambda: None)

    assert threading.active_count() == before
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{cluster.url}/version")
    with pytest.raises(RuntimeError):
        cluster.list("pods")


def test_an_exception_in_the_block_is_not_wrapped() -> None:
    with pytest.raises(KeyError, match="mine"), serve_in_thread():
        raise KeyError("mine")


def test_errors_at_the_start_are_raised_by_the_with_statement() -> None:
    used = APIServer()
    with serve_in_thread(used):
        pass

    with pytest.raises(InvalidInput, match="port 70000"), serve_in_thread(port=70000):
        pass
    with pytest.raises(ClosedError, match="create a new one"), serve_in_thread(used):
        pass


def test_an_exception_in_the_server_is_raised_at_the_end_of_the_block() -> None:
    async def defect() -> None:
        raise ValueError("a defect")

    with pytest.raises(ExceptionGroup) as raised, serve_in_thread() as cluster:
        cluster.run(cluster.server._running().start_soon, defect)

    assert raised.group_contains(ValueError, match="a defect")


def test_ctrl_c_ends_the_program_at_once() -> None:
    script = """if True:
        import time
        from dynkube_testing import serve_in_thread
        with serve_in_thread() as cluster:
            print(cluster.url, flush=True)
            time.sleep(60)
    """

    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"http://")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)

    assert errors.rstrip().endswith(b"KeyboardInterrupt")
    assert process.returncode == -signal.SIGINT
