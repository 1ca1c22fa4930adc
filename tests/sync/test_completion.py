"""What IPython completes of a blocking client: names of resources, and the verbs on them; and that it asks nobody."""

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
from dynkube.testing import ServerThread, serve_in_thread
from tests.informers.kit import crd
from tests.sync.kit import config_map

pytestmark = pytest.mark.real_time


@pytest.fixture(params=[True, False], ids=["jedi", "no jedi"])
def shell(k: dynkube.sync.Client, request: pytest.FixtureRequest) -> Iterator[InteractiveShell]:
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "dynkube")
    shell.Completer.use_jedi = request.param  # which knows some things from the types, and is not there for everybody
    shell.user_ns |= {"k": k}
    yield shell
    InteractiveShell.clear_instance()


def completed(shell: InteractiveShell, text: str) -> set[str]:
    """What the completions would have ``text`` end with."""
    assert shell.Completer.evaluation == "limited"
    with provisionalcompleter():
        found = list(shell.Completer.completions(text, len(text)))
    return {re.split(r"[\"']|\.(?=\w+$)", each.text.rstrip("\"']"))[-1] for each in found}


def test_resources_are_completed_as_soon_as_a_client_has_connected(
    k: dynkube.sync.Client, shell: InteractiveShell
) -> None:
    k.mapper.load()  # has begun with connecting

    assert completed(shell, 'k["deplo') == completed(shell, 'k.resources["deplo') == {"deployments"}
    assert completed(shell, "k.resources.deplo") == {"deployments"}
    assert {"pods", "events"} <= completed(shell, "k.resources.")
    assert {"pods", "events", "events.events.k8s.io"} <= {each.strip('"') for each in k._ipython_key_completions_()}


@pytest.mark.parametrize(
    "verbs", ['k["deployments"]', "k.resources.deployments", 'k["deployments.v1.apps"]', 'k["nosuch"]']
)
def test_verbs_are_completed_behind_a_resource(shell: InteractiveShell, verbs: str) -> None:
    assert completed(shell, f"{verbs}.delete_c") == {"delete_collection"}


def test_verbs_are_completed_behind_a_key_of_the_resources(shell: InteractiveShell) -> None:
    shell.Completer.use_jedi = False  # it cannot tell what a generic class gives by a key

    assert completed(shell, 'k.resources["deployments.v1.apps"].delete_c') == {"delete_collection"}


def test_fields_of_what_a_table_holds_are_completed(k: dynkube.sync.Client, shell: InteractiveShell) -> None:
    k["cm"].create(config_map("one", a="1", b="2"))
    shell.user_ns["found"] = k.get("cm", field_selector="metadata.name=one")
    shell.user_ns["listed"] = k["cm"].list(field_selector="metadata.name=one")

    assert completed(shell, 'found[0]["data"]["') == {"a", "b"}
    assert completed(shell, 'listed[0]["data"]["') == {"a", "b"}


def test_completing_asks_nobody_whatever_is_known(
    cluster: ServerThread, k: dynkube.sync.Client, shell: InteractiveShell
) -> None:
    k.mapper.load()
    k.mapper.invalidate()
    before = len(cluster.audit)

    for text in ('k["', "k.resources.", "k.resources.deployments.", 'k["nosuch"].', 'k.resources["', "k."):
        completed(shell, text)
    k.server_version()  # what came before it has arrived by now

    assert [record.path for record in cluster.audit[before:]] == ["/version"]


def test_connecting_costs_no_request_that_the_first_verb_would_not_make(cluster: ServerThread) -> None:
    with dynkube.sync.connect(url=cluster.url) as k:
        k.get("cm", namespace="default")
        k.mapper.load()

    assert sorted(record.path for record in cluster.audit) == ["/api", "/api/v1/namespaces/default/configmaps", "/apis"]


def test_connecting_reads_what_is_served_before_anything_is_asked(cluster: ServerThread) -> None:
    class Asked(Observer):
        def request_started(self, request: RequestInfo) -> None:
            asked.put(request.url.removeprefix(cluster.url))

    asked: SimpleQueue[str] = SimpleQueue()
    with dynkube.sync.connect(url=cluster.url, observers=[Asked()]):
        assert {asked.get(timeout=10), asked.get(timeout=10)} == {"/api", "/apis"}


def test_where_no_server_is_completing_says_nothing(shell: InteractiveShell) -> None:
    with dynkube.sync.connect(url="http://127.0.0.1:9") as lost:
        shell.user_ns["lost"] = lost
        with pytest.raises(dynkube.errors.ConnectFailed):
            lost.get("cm")
        loads = lost.mapper.statistics().loads

        assert completed(shell, 'lost["deplo') == completed(shell, "lost.resources.deplo") == set()
        assert lost.mapper.statistics().loads == loads


def test_on_a_closed_client_nothing_is_completed(k: dynkube.sync.Client, shell: InteractiveShell) -> None:
    k.mapper.load()
    resources = k.resources
    shell.user_ns["resources"] = resources
    k.close()

    assert completed(shell, 'k["deplo') == completed(shell, "resources.deplo") == set()
    assert list(resources) == []


def test_two_clusters_complete_and_show_each_its_own(k: dynkube.sync.Client, shell: InteractiveShell) -> None:
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
