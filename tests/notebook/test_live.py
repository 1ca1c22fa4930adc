"""``informer.live()``: messages to and from pages, saved notebooks, invalid arguments."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import trio

import dynkube.sync
from dynkube.errors import ClosedError, InvalidInput
from dynkube.notebook._live import WidgetTable
from dynkube.sync._streams import within
from dynkube_testing import ServerThread, serve_in_thread
from tests.informers.kit import WIDGETS, crd, namespace, widget
from tests.notebook.channel import WidgetChannel
from tests.sync.kit import run_script

pytestmark = pytest.mark.real_time


@pytest.fixture
def thread_server() -> Iterator[ServerThread]:
    """A server for one test."""
    with serve_in_thread() as server:
        yield server


@pytest.fixture(autouse=True)
def long_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the timeout for the first contents of tables, for busy machines."""
    monkeypatch.setattr("dynkube.notebook._live._PATIENCE", 30.0)


@pytest.fixture
def k(thread_server: ServerThread) -> Iterator[dynkube.sync.Client]:
    """A blocking client of the server."""
    with dynkube.sync.connect(url=thread_server.url) as client:
        yield client


@pytest.fixture
def channel(monkeypatch: pytest.MonkeyPatch) -> WidgetChannel:
    """The messages that a kernel would send."""
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    return WidgetChannel(monkeypatch)


def test_a_page_that_says_hello_gets_the_table(
    thread_server: ServerThread, k: dynkube.sync.Client, channel: WidgetChannel
) -> None:
    thread_server.create(namespace("shop"))
    k.informer("namespaces").live()

    channel.send(kind="hello", page="1")
    page = channel.until(lambda page: len(page.rows) == 5)

    assert page.texts("Name")[-1] == ["shop"]
    assert (page.head["title"], page.head["phase"]) == ("namespaces.v1", "LIVE")


def test_later_changes_are_sent_without_a_request(
    thread_server: ServerThread, k: dynkube.sync.Client, channel: WidgetChannel
) -> None:
    widgets = k.informer(WIDGETS)
    widgets.live(columns={"size": "{.spec.size}"})
    channel.send(kind="hello", page="1")
    channel.until(lambda page: page.head.get("phase") == "ABSENT")

    thread_server.create(crd())
    thread_server.create(widget("a", size=3))
    thread_server.create(widget("b", size=4))
    channel.until(lambda page: len(page.rows) == 2)
    widgets.set_filter(dynkube.JSONPathFilter("{.spec.size}", equals="4"))

    page = channel.until(lambda page: len(page.rows) == 1)
    assert page.texts("Name", "size") == [["b", "4"]]


def test_details_are_sent_on_request(
    thread_server: ServerThread, k: dynkube.sync.Client, channel: WidgetChannel
) -> None:
    k.informer("namespaces").live()

    channel.send(kind="details", page="1", id="/default")
    page = channel.until(lambda page: bool(page.details))

    assert [block.get("section") for block in page.details["/default"]][-3:] == ["spec", "status", "metadata"]


def test_closing_the_informer_ends_the_table(k: dynkube.sync.Client, channel: WidgetChannel) -> None:
    informer = k.informer("namespaces")
    table = informer.live()
    channel.send(kind="hello", page="1")
    channel.until(lambda page: bool(page.rows))

    informer.close()
    page = channel.until(lambda page: page.head["following"] is False)

    assert (page.head["phase"], len(page.rows)) == ("STOPPED", 4)
    assert repr(table) == "<LiveTable namespaces.v1 STOPPED 4 objects, closed>"
    table.close()


def test_closing_the_widget_ends_the_table(k: dynkube.sync.Client, channel: WidgetChannel) -> None:
    table = k.get("namespaces").live()
    assert isinstance(table, WidgetTable)

    table.widget.close()
    k._thread.call(within, table._follower._ended.wait, 10, "the table had not ended")

    assert repr(table) == "<LiveTable namespaces.v1 STOPPED 4 objects, closed>"
    assert [each for each in k.informers() if each.users] == []


def test_the_hint_for_too_many_rows_names_arguments_of_the_caller(
    k: dynkube.sync.Client, channel: WidgetChannel
) -> None:
    k.get("namespaces").live(limit=1)
    channel.send(kind="hello", page="1")

    page = channel.until(lambda page: page.head.get("shown") == 1)

    assert "label_selector" in page.head["narrower"]
    assert "set_filter" not in page.head["narrower"]


def test_closing_the_table_or_the_client_leaves_no_task(k: dynkube.sync.Client, channel: WidgetChannel) -> None:
    thread = k._thread

    def tasks() -> int:
        return thread.run(trio.lowlevel.current_statistics).tasks_living

    namespaces = k.informer("namespaces")
    namespaces.wait_synced(timeout=10)
    before = tasks()
    first, second = namespaces.live(), k.informer("pods").live()
    with_tables = tasks()

    first.close()
    without_first = tasks()
    k.close()
    second.close()

    assert (before < without_first < with_tables, tasks() < before) == (True, True)
    channel.until(lambda page: page.head.get("following") is False)
    assert second.text.splitlines() == ["pods.v1 · STOPPED · Closed · 0 objects", "this table is no longer updated"]


def test_a_saved_notebook_keeps_the_text(
    thread_server: ServerThread, k: dynkube.sync.Client, channel: WidgetChannel
) -> None:
    thread_server.create(namespace("shop"))
    table = k.informer("namespaces").live()
    assert isinstance(table, WidgetTable)

    bundle = table._repr_mimebundle_()

    assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    assert bundle["text/plain"].splitlines()[0] == "namespaces.v1 · LIVE · Watching · 5 objects"
    assert [line.split() for line in bundle["text/plain"].splitlines()[1:]][-1][:2] == ["shop", "Active"]


HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[31m\u202eevil"


def test_hostile_text_is_escaped(thread_server: ServerThread, k: dynkube.sync.Client, channel: WidgetChannel) -> None:
    thread_server.create(crd())
    thread_server.create(widget("a", host=HOSTILE))
    table = k.informer(WIDGETS).live(columns={HOSTILE: "{.spec.host}"})
    channel.send(kind="hello", page="1")
    channel.send(kind="details", page="1", id="default/a")
    page = channel.until(lambda page: bool(page.rows and page.details))

    sent = repr(page.messages)
    assert page.columns[4]["name"] == "</script><img src=x onerror=alert(1)>�[31m�evil"
    assert not any(bad in sent or bad in table.text for bad in ("\x1b", "\\x1b", "\u202e", "\\u202e"))


@pytest.mark.parametrize("limit", [0, 2001, "9", True, None])
def test_an_invalid_limit_is_rejected(k: dynkube.sync.Client, limit: Any) -> None:
    with pytest.raises(InvalidInput, match=r"limit must be a number of rows from 1 to 2,000"):
        k.informer("pods").live(limit=limit)


def test_invalid_columns_are_rejected_before_anything_starts(k: dynkube.sync.Client) -> None:
    with pytest.raises(InvalidInput, match="columns is a list"):
        k.informer("pods").live(columns=["image"])  # type: ignore[arg-type]  # invalid on purpose


def test_a_closed_informer_has_no_live_table(k: dynkube.sync.Client) -> None:
    informer = k.informer("pods")
    informer.close()

    with pytest.raises(ClosedError, match="this informer is closed"):
        informer.live()


def test_a_failed_start_leaves_no_widget(thread_server: ServerThread, channel: WidgetChannel) -> None:
    with dynkube.sync.connect(url=thread_server.url) as client:
        listed = client.get("namespaces")

    with pytest.raises(ClosedError):
        listed.live()

    assert channel.widgets == 0


def test_a_column_function_that_calls_the_client_is_an_error(
    thread_server: ServerThread, k: dynkube.sync.Client, channel: WidgetChannel
) -> None:
    k.informer("namespaces").live(columns={"x": lambda obj: k.resource("namespaces").get(obj.name)})
    channel.send(kind="hello", page="1")

    page = channel.until(lambda page: bool(page.rows))

    cell = page.rows["/default"][1][4]
    assert (cell["t"], "would deadlock" in cell["h"]) == ("(failed)", True)


def test_a_process_with_live_tables_ends_without_output_on_stderr(thread_server: ServerThread) -> None:
    script = """
        import sys, dynkube.sync, dynkube.notebook._live
        dynkube.notebook._live._PATIENCE = 30.0
        k = dynkube.sync.connect(url=sys.argv[1])
        tables = [k.informer("namespaces").live(), k.get("pods").live(), k.informer("widgets.v1.example.com").live()]
        print(*[table.text.splitlines()[0] for table in tables], sep=chr(10))
    """

    done = run_script(script, thread_server.url)

    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.splitlines() == [
        "namespaces.v1 · LIVE · Watching · 4 objects",
        "pods.v1 · LIVE · Watching · 0 objects",
        "widgets.v1.example.com · ABSENT · CRDNotFound · 0 objects",
    ]


def test_many_tables_share_one_thread(
    thread_server: ServerThread, k: dynkube.sync.Client, channel: WidgetChannel
) -> None:
    for _ in range(5):
        k.informer("namespaces").live()

    assert [thread.name for thread in threading.enumerate() if "dynkube" in thread.name] == ["dynkube-trio"]
