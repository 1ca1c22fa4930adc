"""Completion in IPython: names of resources and their verbs, without requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from queue import SimpleQueue

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

import dynkube.errors
import dynkube.sync
from dynkube.telemetry import Observer, RequestInfo
from dynkube_testing import ServerThread, serve_in_thread
from tests.informers.kit import crd
from tests.sync.kit import config_map

pytestmark = pytest.mark.real_time


@pytest.fixture(params=[True, False], ids=["jedi", "no jedi"])
def shell(k: dynkube.sync.Client, request: pytest.FixtureRequest) -> Iterator[InteractiveShell]:
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "dynkube")
    shell.Completer.use_jedi = request.param  # jedi is optional, and completes some names from annotations
    shell.user_ns |= {"k": k}
    yield shell
    InteractiveShell.clear_instance()


def completed(shell: InteractiveShell, text: str) -> set[str]:
    """Return the completions of the last part of ``text``."""
    assert shell.Completer.evaluation == "limited"
    with provisionalcompleter():
        found = list(shell.Completer.completions(text, len(text)))
    return {re.split(r"[\"']|\.(?=\w+$)", each.text.rstrip("\"']"))[-1] for each in found}


def test_resources_are_completed_as_soon_as_a_client_is_connected(
    k: dynkube.sync.Client, shell: InteractiveShell
) -> None:
    k.mapper.load()  # connecting has started it

    assert completed(shell, 'k["deplo') == completed(shell, 'k.resources["deplo') == {"deployments"}
    assert completed(shell, "k.resources.deplo") == {"deployments"}
    assert {"pods", "events"} <= completed(shell, "k.resources.")
    assert {"pods", "events", "events.events.k8s.io"} <= {each.strip('"') for each in k._ipython_key_completions_()}


@pytest.mark.parametrize(
    "verbs", ['k["deployments"]', "k.resources.deployments", 'k["deployments.v1.apps"]', 'k["nosuch"]']
)
def test_verbs_are_completed_after_a_resource(shell: InteractiveShell, verbs: str) -> None:
    assert completed(shell, f"{verbs}.delete_c") == {"delete_collection"}


def test_verbs_are_completed_after_a_key_of_resources(shell: InteractiveShell) -> None:
    shell.Completer.use_jedi = False  # jedi does not know the type of an item of a generic class

    assert completed(shell, 'k.resources["deployments.v1.apps"].delete_c') == {"delete_collection"}


def test_fields_of_objects_in_a_table_are_completed(k: dynkube.sync.Client, shell: InteractiveShell) -> None:
    k["cm"].create(config_map("one", a="1", b="2"))
    shell.user_ns["found"] = k.get("cm", field_selector="metadata.name=one")
    shell.user_ns["listed"] = k["cm"].list(field_selector="metadata.name=one")

    assert completed(shell, 'found[0]["data"]["') == {"a", "b"}
    assert completed(shell, 'listed[0]["data"]["') == {"a", "b"}


def test_completion_sends_no_requests(cluster: ServerThread, k: dynkube.sync.Client, shell: InteractiveShell) -> None:
    k.mapper.load()
    k.mapper.invalidate()
    before = len(cluster.audit)

    for text in ('k["', "k.resources.", "k.resources.deployments.", 'k["nosuch"].', 'k.resources["', "k."):
        completed(shell, text)
    k.server_version()  # by now, any earlier request has arrived

    assert [record.path for record in cluster.audit[before:]] == ["/version"]


def test_connecting_sends_no_request_that_the_first_verb_would_not_send(cluster: ServerThread) -> None:
    with dynkube.sync.connect(url=cluster.url) as k:
        k.get("cm", namespace="default")
        k.mapper.load()

    assert sorted(record.path for record in cluster.audit) == ["/api", "/api/v1/namespaces/default/configmaps", "/apis"]


def test_connecting_reads_discovery_in_the_background(cluster: ServerThread) -> None:
    class QueueRequests(Observer):
        def request_started(self, request: RequestInfo) -> None:
            requests.put(request.url.removeprefix(cluster.url))

    requests: SimpleQueue[str] = SimpleQueue()
    with dynkube.sync.connect(url=cluster.url, observers=[QueueRequests()]):
        assert {requests.get(timeout=10), requests.get(timeout=10)} == {"/api", "/apis"}


def test_without_a_server_completion_returns_nothing(shell: InteractiveShell) -> None:
    with dynkube.sync.connect(url="http://127.0.0.1:9") as lost:
        shell.user_ns["lost"] = lost
        with pytest.raises(dynkube.errors.ConnectFailed):
            lost.get("cm")
        loads = lost.mapper.statistics().loads

        assert completed(shell, 'lost["deplo') == completed(shell, "lost.resources.deplo") == set()
        assert lost.mapper.statistics().loads == loads


def test_a_closed_client_completes_nothing(k: dynkube.sync.Client, shell: InteractiveShell) -> None:
    k.mapper.load()
    resources = k.resources
    shell.user_ns["resources"] = resources
    k.close()

    assert completed(shell, 'k["deplo') == completed(shell, "resources.deplo") == set()
    assert list(resources) == []


def test_two_clients_complete_the_resources_of_their_own_clusters(
    k: dynkube.sync.Client, shell: InteractiveShell
) -> None:
    with serve_in_thread() as second, dynkube.sync.connect(url=second.url) as other:
        second.create(crd())
        other.api_resources()
        k.api_resources()
        shell.user_ns["other"] = other

        assert completed(shell, "other.resources.widg") == completed(shell, 'other["widg') == {"widgets"}
        assert completed(shell, "k.resources.widg") == completed(shell, 'k["widg') == set()
        assert "not installed" in k["widgets"]._repr_html_()
        assert "not installed" not in other.resources.widgets._repr_html_()
        assert ("widgets" in other.resources, "widgets" in k.resources) == (True, False)
