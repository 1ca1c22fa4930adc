"""Displayed objects and live tables in JupyterLab, in light and dark themes, until the kernel ends."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from dynkube_testing import ServerThread, serve_in_thread
from tests.informers.kit import crd, namespace, pod, widget
from tests.notebook.browser.contrast import faint
from tests.notebook.browser.lab import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = [pytest.mark.real_time, pytest.mark.browser, pytest.mark.timeout(180)]


def running(name: str, namespace: str, ready: bool, image: str = "web:1") -> dict[str, Any]:
    """Return a pod with a status as written by a kubelet."""
    phase = "Running" if ready else "Pending"
    found = pod(name, namespace, containers=[{"name": "web", "image": image}])
    conditions = [{"type": "Ready", "status": str(ready), "reason": "" if ready else "ContainersNotReady"}]
    return {**found, "status": {"phase": phase, "conditions": conditions}}


def cells(output: Locator, column: int) -> list[str]:
    """Return the texts of one column of a live table, counted from 0; by default the first one is the name."""
    return [str(text) for text in output.locator(f".dkl-row > :nth-child({column + 2})").all_inner_texts()]


def wait_text(output: Locator, selector: str, text: str) -> None:
    """Wait for an element with this text."""
    output.locator(selector, has_text=re.compile(text)).first.wait_for()


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_an_object_and_a_list_are_displayed_in_any_theme(cluster: ServerThread, notebook: Notebook, theme: str) -> None:
    for number in range(14):
        cluster.load(running(f"web-{number:02}", "default", number % 5 != 2))
    notebook.theme(theme)

    one = notebook.run("k.resource('pods').get('web-02', namespace='default')").locator(".dk-card")
    many = notebook.run("k.resource('pods').list()").locator(".dk-card")

    assert "default/web-02" in one.inner_text()
    assert "Ready=False ContainersNotReady" in one.inner_text()
    assert "14 objects" in many.inner_text()
    one.locator("summary", has_text="spec").click()
    assert faint(one) + faint(many) == []


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_a_live_table_is_readable_in_any_theme(cluster: ServerThread, notebook: Notebook, theme: str) -> None:
    cluster.load(running("web-00", "kube-system", True))
    notebook.theme(theme)
    output = notebook.run("pods = k.informer('pods'); pods.live(columns={'image': '{.spec.containers[*].image}'})")
    wait_text(output, ".dkl-pill", "LIVE")
    wait_text(output, ".dkl-row", "kube-system")

    output.locator(".dkl-toggle").nth(2).click()
    output.locator(".dkl-details details", has_text="spec").locator("summary").first.click()
    assert output.locator(".dkl-scroll").evaluate("node => node.scrollWidth === node.clientWidth")
    assert faint(output.locator(".dkl")) == []
    notebook.run("pods.close()")
    wait_text(output, ".dkl-pill", "STOPPED")
    assert faint(output.locator(".dkl")) == []
    absent = notebook.run("k.informer('nothings.v1.example.com').live()")
    wait_text(absent, ".dkl-message", "no CRD")
    assert faint(absent.locator(".dkl")) == []


def test_an_absent_resource_becomes_a_table_that_follows_the_filter(cluster: ServerThread, notebook: Notebook) -> None:
    notebook.theme("Light")
    output = notebook.run("widgets = k.informer('widgets.v1.example.com'); widgets.live()")
    wait_text(output, ".dkl-message", "no CRD widgets.example.com is installed")
    assert output.locator(".dkl-pill").inner_text() == "ABSENT"

    crd_body = crd()
    crd_body["spec"]["versions"][0]["additionalPrinterColumns"] = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Host", "type": "string", "jsonPath": ".spec.host"},
    ]
    cluster.create(crd_body)
    for number, name in enumerate(["cart", "pay", "search", "web"]):
        team = ["front", "back"][number % 2]
        cluster.create(widget(name, labels={"team": team}, size=number * 5, host=f"{name}.example"))
    wait_text(output, ".dkl-row", "search.example")
    wait_text(output, ".dkl-pill", "LIVE")
    assert cells(output, 1) == ["cart", "pay", "search", "web"]

    notebook.run("widgets.set_filter(dynkube.LabelFilter('team=front'))")
    wait_text(output, ".dkl-counts", "2 of 4 objects")
    assert cells(output, 1) == ["cart", "search"]
    assert "LabelFilter('team=front')" in output.locator(".dkl-filter").inner_text()


def test_expanded_rows_scrolling_and_selection_survive_50_updates(cluster: ServerThread, notebook: Notebook) -> None:
    for number in range(40):
        metadata = {"name": f"p{number:02}", "namespace": "kube-public", "labels": {"step": "none"}}
        cluster.create({**pod("any"), "metadata": metadata})
    output = notebook.run(
        "many = k.informer('pods', namespace='kube-public'); many.live(columns={'step': '{.metadata.labels.step}'})"
    )
    wait_text(output, ".dkl-row", "p39")
    output.locator(".dkl-toggle").nth(3).click()
    details = output.locator(".dkl-details details").first
    details.locator("summary").click()
    output.locator(".dkl-row", has_text="p20").locator("> :nth-child(5)").evaluate(
        "node => getSelection().selectAllChildren(node)"
    )
    scroll = output.locator(".dkl-scroll")
    scroll.evaluate("node => { node.scrollTop = 200; node.dataset.mark = 'same'; }")

    for step in range(50):
        stored = cluster.get("pods", "p03", "kube-public")
        cluster.update({**stored, "metadata": {**stored["metadata"], "labels": {"step": f"s{step}"}}})
        wait_text(output, ".dkl-row > td", f"^s{step}$")

    assert details.evaluate("node => node.open")
    assert scroll.evaluate("node => [node.scrollTop, node.dataset.mark]") == [200, "same"]
    assert notebook.page.evaluate("() => String(getSelection()).trim()") == "Pending"
    wait_text(output, ".dkl-details", "step=s49")


def test_a_table_is_updated_while_a_cell_runs_and_after_a_reload(cluster: ServerThread, notebook: Notebook) -> None:
    output = notebook.run("spaces = k.informer('namespaces'); spaces.live()")
    notebook.run("import threading; end = threading.Event(); end.wait(60)", wait=False)

    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "during"}})
    wait_text(output, ".dkl-row", "during")
    notebook.page.evaluate("() => jupyterapp.commands.execute('notebook:interrupt-kernel')")
    notebook.save()
    notebook.open()
    reopened = notebook.page.locator(".dkl", has_text="during").last
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}})

    reopened.locator(".dkl-row", has_text="later").wait_for()


def test_the_old_table_of_a_cell_that_is_run_again_rests(notebook: Notebook) -> None:
    notebook.run("import dynkube.notebook._audience as audience; audience.GRACE = 0.5")
    output = notebook.run("first = globals().get('table'); table = k.get('nodes').live(); table")
    wait_text(output, ".dkl-pill", "LIVE")

    notebook.run_again()
    wait_text(output, ".dkl-pill", "LIVE")
    texts = notebook.run("k._thread.call(first._follower._ended.wait); repr(first), repr(table)")

    assert texts.inner_text().count("resting") == 1
    assert texts.inner_text().index("resting") < texts.inner_text().index("LIVE 0 objects>")
    notebook.run("audience.GRACE = 60.0; table.close(); first.close()")


def test_keys_pressed_in_a_table_do_not_reach_the_notebook(cluster: ServerThread, notebook: Notebook) -> None:
    output = notebook.run("k.informer('namespaces').live()")
    row = output.locator("tbody", has_text="kube-system")
    row.get_by_role("button", name="Show /kube-system").focus()
    before = notebook.page.locator(".jp-Notebook .jp-Cell").count()

    notebook.page.keyboard.press("x")  # would cut the cell
    notebook.page.keyboard.press("Enter")  # would edit it
    row.locator(".dkl-details details").first.wait_for()
    output.get_by_role("searchbox").focus()
    notebook.page.keyboard.type("xdd")
    wait_text(output, ".dkl-note", "0 of these")

    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == before
    assert output.get_by_role("searchbox").evaluate("node => node === document.activeElement")


def test_a_table_of_two_clusters_keeps_the_rows_of_one_that_ends(cluster: ServerThread, notebook: Notebook) -> None:
    with serve_in_thread() as west:
        notebook.run(f"west = dynkube.sync.connect(url={west.url!r}).informer('namespaces.v1')")
        output = notebook.run("dynkube.sync.live({'east': k.informer('namespaces.v1'), 'west': west})")
        wait_text(output, ".dkl-title", "namespaces.v1 of 2 clusters")
        wait_text(output, ".dkl-row", "west")
        west.create(namespace("only-west"))
        wait_text(output, ".dkl-row", "only-west")
        output.get_by_role("button", name="Show west//only-west").click()
        output.locator(".dkl-details details").first.wait_for()
        output.get_by_role("searchbox").fill("west default")

    wait_text(output, ".dkl-message", r"west \(1 of 2 clusters\): ")

    visible = output.locator("tbody:visible .dkl-row")
    assert (output.locator(".dkl-pill").inner_text(), visible.count()) == ("DEGRADED", 1)
    assert visible.locator("> *").nth(1).inner_text() == "west"
    assert cells(output, 0)[0] == "east"
    assert faint(output.locator(".dkl")) == []


def test_hostile_text_is_not_markup(cluster: ServerThread, notebook: Notebook) -> None:
    hostile = "<img src=x onerror=\"document.title='broken'\"><b>bold</b>"
    cluster.create(crd("gadgets"))
    cluster.create(widget("a", kind="Gadget", text=hostile))
    output = notebook.run(
        f"gadgets = k.informer('gadgets.v1.example.com'); gadgets.live(columns={{{hostile!r}: '{{.spec.text}}'}})"
    )
    wait_text(output, ".dkl-row", "bold")
    output.locator(".dkl-toggle").click()
    wait_text(output, ".dkl-details", "spec")

    assert cells(output, 4) == [hostile]
    assert output.locator(".dkl :is(img, script, .dkl-row b)").count() == 0
    assert notebook.page.title() != "broken"


def test_after_a_restart_of_the_kernel_the_table_stops(cluster: ServerThread, notebook: Notebook) -> None:
    output = notebook.run("spaces = k.informer('namespaces'); spaces.live()")
    wait_text(output, ".dkl-pill", "LIVE")
    rows = cells(output, 1)

    notebook.restart()  # replaces the kernel, so this must be the last test of the module

    wait_text(output, ".dkl-message", "the kernel has ended")
    assert (output.locator(".dkl-pill").inner_text(), cells(output, 1)) == ("STOPPED", rows)
