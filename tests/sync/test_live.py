"""``dynkube.sync.live()``: one live table of the informers of several clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dynkube
import dynkube.sync
from dynkube.errors import ClosedError, InvalidInput
from dynkube_testing import ServerThread, serve_in_thread
from tests.notebook.channel import WidgetChannel
from tests.sync.kit import config_map, run_script

pytestmark = pytest.mark.real_time


@pytest.fixture
def channel(monkeypatch: pytest.MonkeyPatch) -> WidgetChannel:
    """The messages that a kernel would send."""
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    monkeypatch.setattr("dynkube.notebook._live._PATIENCE", 30.0)  # for busy machines
    return WidgetChannel(monkeypatch)


@pytest.fixture
def west_cluster() -> Iterator[ServerThread]:
    """Another cluster than ``cluster``."""
    with serve_in_thread() as cluster:
        yield cluster


@pytest.fixture
def west(west_cluster: ServerThread) -> Iterator[dynkube.sync.Client]:
    """A blocking client of ``west_cluster``."""
    with dynkube.sync.connect(url=west_cluster.url) as client:
        yield client


def test_a_table_of_two_clients_follows_both(
    cluster: ServerThread,
    west_cluster: ServerThread,
    k: dynkube.sync.Client,
    west: dynkube.sync.Client,
    channel: WidgetChannel,
) -> None:
    cluster.create(config_map("one", text="east"))
    informers = {"east": k.informer("configmaps.v1"), "west": west.informer("configmaps.v1")}
    table = dynkube.sync.live(informers, columns={"text": "{.data.text}"})
    channel.send(kind="hello", page="1")
    west_cluster.create(config_map("one", text="west"))

    page = channel.until(lambda page: len(page.rows) == 2)

    assert page.texts("Cluster", "Name", "text") == [["east", "one", "east"], ["west", "one", "west"]]
    assert page.head["title"] == "configmaps.v1 of 2 clusters"
    assert "west" in table.text
    table.close()
    assert len(informers["west"]) == 1  # still open


def test_a_table_ends_when_all_its_clients_are_closed(
    k: dynkube.sync.Client, west: dynkube.sync.Client, channel: WidgetChannel
) -> None:
    table = dynkube.sync.live({"east": k.informer("namespaces.v1"), "west": west.informer("namespaces.v1")})
    channel.send(kind="hello", page="1")
    channel.until(lambda page: len(page.rows) == 8)

    k.close()
    page = channel.until(lambda page: len(page.rows) == 4)
    assert page.head["message"] == "east (1 of 2 clusters): Closed"
    west.close()
    page = channel.until(lambda page: page.head["following"] is False)

    assert (len(page.rows), "closed" in repr(table)) == (4, True)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], r"informers is a list: pass {'name of the cluster': client.informer\(...\), ...}"),
        (None, "informers is None: pass"),
        ({}, "informers is empty: pass"),
        ({"": "pods"}, "the name of a cluster is '': pass a string that is not empty"),
        ({" ": "pods"}, "the name of a cluster is ' ': pass"),
        ({7: "pods"}, "the name of a cluster is 7: pass a string"),
        ({"a\nb": "pods"}, r"the name of a cluster is 'a\\nb': pass one line of at most 200 printable characters"),
        ({"a" * 201: "pods"}, "pass one line of at most 200 printable characters"),
        ({"east": "pods"}, r"cluster 'east' is a str: pass client.informer\(...\) of dynkube.sync"),
        ({"east": dynkube.LabelFilter("a=b")}, "cluster 'east' is a LabelFilter: pass"),
    ],
)
def test_what_are_no_informers_by_cluster_is_rejected(given: Any, expected: str) -> None:
    with pytest.raises(InvalidInput, match=expected):
        dynkube.sync.live(given)


def test_one_informer_is_not_that_of_two_clusters(k: dynkube.sync.Client) -> None:
    pods = k.informer("pods.v1")

    with pytest.raises(InvalidInput, match="the informer of cluster 'west' is that of another one"):
        dynkube.sync.live({"east": pods, "west": pods})


def test_invalid_columns_and_limits_are_rejected(k: dynkube.sync.Client) -> None:
    with pytest.raises(InvalidInput, match="columns is a list"):
        dynkube.sync.live({"east": k.informer("pods.v1")}, columns=[])  # type: ignore[arg-type]  # invalid on purpose
    with pytest.raises(InvalidInput, match="limit must be a number of rows from 1 to 2,000, not 0"):
        dynkube.sync.live({"east": k.informer("pods.v1")}, limit=0)


def test_a_closed_client_is_named(k: dynkube.sync.Client, west: dynkube.sync.Client) -> None:
    informers = {"east": k.informer("pods.v1"), "west": west.informer("pods.v1")}
    west.close()

    with pytest.raises(ClosedError, match="cluster 'west': this informer is closed"):
        dynkube.sync.live(informers)


def test_a_client_that_was_opened_before_a_fork_is_rejected(cluster: ServerThread) -> None:
    script = """
        import os, sys, warnings, dynkube.sync
        warnings.simplefilter("ignore")  # from 3.12 on, Python warns of forks beside threads
        before = dynkube.sync.connect(url=sys.argv[1]).informer("pods.v1")
        before.wait_synced()  # a fork while the other thread imports something leaves that half imported
        if os.fork() == 0:
            after = dynkube.sync.connect(url=sys.argv[1]).informer("pods.v1")
            try:
                dynkube.sync.live({"east": before, "west": after})
            except dynkube.errors.ClosedError as exc:
                print(exc, flush=True)
            os._exit(0)
        os.wait()
    """

    done = run_script(script, cluster.url)

    assert done.stdout == (
        "the clients of clusters 'east' and 'west' have different background threads, as one was opened before the "
        "process was forked: connect again in the new process\n"
    ), done.stderr
