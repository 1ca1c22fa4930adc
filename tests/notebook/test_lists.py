"""``.live()`` of lists and tables: an informer with the same selection, which ends with the live table."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator

import pytest

import dynkube.sync
from dynkube.errors import ClosedError, InvalidInput
from dynkube.notebook import LiveTable
from dynkube.sync import UnstructuredList, UnstructuredTable
from dynkube_testing import ServerThread, serve_in_thread
from tests.informers.kit import WIDGETS, crd, pod, widget

pytestmark = pytest.mark.real_time

FRONT = {"tier": "front"}


def tiered(name: str, tier: str) -> dict[str, object]:
    """Return a pod with the label ``tier``."""
    return {**pod(name), "metadata": {"name": name, "namespace": "default", "labels": {"tier": tier}}}


@pytest.fixture
def thread_server() -> Iterator[ServerThread]:
    """A server for one test, with two pods in two tiers."""
    with serve_in_thread() as server:
        server.create(tiered("web", "front"))
        server.create(tiered("db", "back"))
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


READS: list[Callable[[dynkube.sync.Client], UnstructuredList | UnstructuredTable]] = [
    lambda k: k.get("pods", namespace="default", label_selector=FRONT),
    lambda k: k["pods"].list(namespace="default", label_selector=FRONT),
    lambda k: k.resource("pods").table(namespace="default", label_selector=FRONT, limit=1),
]


@pytest.mark.parametrize("read", READS)
def test_a_live_table_has_the_selection_of_the_list(
    thread_server: ServerThread,
    k: dynkube.sync.Client,
    read: Callable[[dynkube.sync.Client], UnstructuredList | UnstructuredTable],
) -> None:
    found = read(k)

    table = found.live()
    first = table.text

    assert first.splitlines()[0] == "pods.v1 in default · LIVE · Watching · 1 object"
    assert [line.split()[0] for line in first.splitlines()[1:]] == ["NAME".title(), "web"]
    assert [str(status.gvr) for status in k.informers()] == ["pods.v1"]
    table.close()
    assert [each for each in k.informers() if each.users] == []


WIDE: list[Callable[[dynkube.sync.Client], LiveTable]] = [
    lambda k: k.get("widgets").wide().live(),
    lambda k: k.get("widgets").live(wide=True),
    lambda k: k["widgets"].list().live(wide=True),
    lambda k: k.informer(WIDGETS).live(wide=True),
]


@pytest.mark.parametrize("live", WIDE)
def test_wide_columns_are_displayed_on_request(
    thread_server: ServerThread, k: dynkube.sync.Client, live: Callable[[dynkube.sync.Client], LiveTable]
) -> None:
    column = {"name": "Host", "type": "string", "jsonPath": ".spec.host", "priority": 1}
    crd_body = crd()
    crd_body["spec"]["versions"][0]["additionalPrinterColumns"] = [column]
    thread_server.create(crd_body)
    thread_server.create(widget("a", host="a.example"))

    table = live(k)

    assert [line.split()[:2] for line in table.text.splitlines()[1:]] == [["Name", "Host"], ["a", "a.example"]]
    assert "Host" not in k.get("widgets").live().text
    assert "Host" not in k["widgets"].list().live().text


def test_an_invalid_limit_leaves_no_informer(k: dynkube.sync.Client) -> None:
    with pytest.raises(InvalidInput, match="limit must be"):
        k.get("pods").live(limit=0)

    assert [each for each in k.informers() if each.users] == []


@pytest.mark.parametrize("same", [copy.deepcopy, lambda found: pickle.loads(pickle.dumps(found))])
def test_a_copy_of_a_list_cannot_become_live(
    k: dynkube.sync.Client, same: Callable[[UnstructuredTable], UnstructuredTable]
) -> None:
    found = k.get("pods")

    other = same(found)

    assert (list(other), other.cells, repr(other)) == (list(found), found.cells, repr(found))
    with pytest.raises(InvalidInput, match=r"read it with client\.get"):
        other.live()


def test_a_list_of_a_closed_client_cannot_become_live(k: dynkube.sync.Client) -> None:
    found = k.get("pods")
    k.close()

    with pytest.raises(ClosedError, match="this client is closed"):
        found.live()
