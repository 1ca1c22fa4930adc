"""``logs(...).live()``: an output of a real kernel that is replaced as lines come, and its text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import dynkube.aio
import dynkube.sync
from dynkube.errors import ClosedError, InvalidInput, NotFound
from dynkube_testing import ServerThread, serve_in_thread
from tests.aio.kit import in_asyncio
from tests.display.kit import Page
from tests.notebook.kernel import Kernel
from tests.pods.logs.kubelet import Kubelet, pod
from tests.sync.kit import run_script

pytestmark = pytest.mark.real_time


@pytest.fixture(scope="module")
def cluster() -> Iterator[ServerThread]:
    """A server with the pod ``web``, which has written a line."""
    with serve_in_thread() as cluster:
        cluster.create(pod())
        cluster.run(_start, Kubelet(cluster.server))
        yield cluster


def _start(kubelet: Kubelet) -> None:
    kubelet.start()
    kubelet.write("one")


FOLLOW = """
import threading
log = k.logs("app=web", tail=1).live()
shown = threading.Event()
outlet = log._follower.outlet
def show(picture, show=outlet.show):
    size = show(picture)
    if str(picture.lines[-1]) == "two":
        shown.set()
    return size
outlet.show = show
display(log)
print("displayed")
assert shown.wait(30)
"""


def test_an_output_is_replaced_as_lines_come(cluster: ServerThread, kernel: Kernel) -> None:
    def write(printed: str) -> None:
        if "displayed" in printed:
            cluster.run(cluster.server.containers.write_log, "web", "two\n")

    cell = kernel.run(FOLLOW, cell_id="a", on_output=write)

    assert cell.error == ""
    assert cell.result["text/plain"].splitlines()[-1] == "web app two"
    assert Page(cell.result["text/html"]).text("pre.dk-code").endswith("web app two")


def test_a_cell_that_is_run_again_stops_it(kernel: Kernel) -> None:
    kernel.run('old = k.pod("web").logs(follow=True).live(); display(old)', cell_id="a")
    kernel.run('new = k.pod("web").logs(follow=True).live(); display(new)', cell_id="b")

    kernel.run("pass", cell_id="a")
    cell = kernel.run("k._thread.call(old._follower.wait_ended); print(old); print(new)")

    assert "stopped: no page shows it" in cell.printed.splitlines()[0]
    assert "stopped" not in cell.printed.splitlines()[1]


IN_A_TERMINAL = """
import sys, dynkube.sync, dynkube.notebook._live_log
dynkube.notebook._live_log._PATIENCE = 30.0
from IPython.core.interactiveshell import InteractiveShell
k = dynkube.sync.connect(url=sys.argv[1])
shell = InteractiveShell.instance()
shell.user_ns["k"] = k
shell.run_cell("log = k.pod('web').logs(follow=True, tail=1).live(); display(log)")
shell.run_cell("log.close()")
"""


def test_a_terminal_displays_it_once_as_text(cluster: ServerThread) -> None:
    done = run_script(IN_A_TERMINAL, cluster.url)

    assert done.stdout.splitlines()[0] == "log of default/web · app · LIVE · 1 line"
    assert len(done.stdout.splitlines()) == 2
    assert done.returncode == 0


@pytest.fixture
def k(cluster: ServerThread, monkeypatch: pytest.MonkeyPatch) -> Iterator[dynkube.sync.Client]:
    """A blocking client of the server."""
    monkeypatch.setattr("dynkube.notebook._live_log._PATIENCE", 30.0)  # for busy machines
    with dynkube.sync.connect(url=cluster.url) as client:
        yield client


def test_the_text_has_the_lines_and_the_end(k: dynkube.sync.Client) -> None:
    log = k.pod("web").logs(follow=True).live()
    first = log.text

    log.close()

    assert first.splitlines()[1] == "one"
    assert log.text.splitlines()[-1] == "— stopped: closed"
    assert repr(log).endswith("stopped: closed>")


def test_logs_that_were_opened_before_cannot_become_live(k: dynkube.sync.Client) -> None:
    with k.pod("web").logs(follow=True) as lines, pytest.raises(ClosedError, match=r"result of logs\(\.\.\.\)"):
        lines.live()


def test_logs_that_are_live_cannot_be_opened(k: dynkube.sync.Client) -> None:
    lines = k.logs("app=web")
    log = lines.live()

    with pytest.raises(ClosedError, match="open another one"), lines:
        pass
    log.close()


def test_invalid_uses_are_rejected(k: dynkube.sync.Client) -> None:
    lines = k.logs("app=web")
    with pytest.raises(InvalidInput, match="lines must be a number from 1 to 10,000, not 0"):
        lines.live(lines=0)
    with pytest.raises(NotFound, match='"none" not found'):
        k.pod("none").logs(follow=True).live()
    k.close()
    with pytest.raises(ClosedError, match="this client is closed"):
        lines.live()


def test_logs_that_are_not_open_say_how_to_use_them(k: dynkube.sync.Client) -> None:
    assert repr(k.pod("web").logs()) == (
        "<LogStream, not open: use it as in 'with pod.logs(...) as lines:', or display live() of it in a notebook>"
    )
    with k.pod("web").logs() as one, k.logs("app=web", follow=False) as many:
        assert next(many) is not None
        assert (repr(one), repr(many)) == ("<LogStream default/web app: open>", "<MergedLogs of 1 container>")


@in_asyncio
async def test_in_asyncio_the_same(cluster: ServerThread) -> None:
    async with dynkube.aio.connect(url=cluster.url) as client:
        lines = client.logs("app=web")
        log = await lines.live()
        with pytest.raises(ClosedError, match="result of logs"):
            await lines.live()
        with pytest.raises(NotFound):
            await client.pod("none").logs(follow=True).live()

        assert "async with client.logs" in repr(client.logs("app=web"))
    assert log.text.splitlines()[-1] == "— stopped: the client was closed"
