"""A live log in JupyterLab: it is scrolled to its newest lines, readable in both themes, and says when it has ended."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from dynkube_testing import ServerThread
from tests.notebook.browser.contrast import faint
from tests.notebook.browser.lab import Notebook
from tests.pods.logs.kubelet import Kubelet, pod

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = [pytest.mark.real_time, pytest.mark.browser, pytest.mark.timeout(180)]

PODS = tuple(f"web-{number}" for number in range(40))  # some of each colour


def wait_line(output: Locator, text: str) -> None:
    """Wait until the newest line of a log is in sight, and ends with this text."""
    output.locator(".dk-tail pre", has_text=re.compile(f"{text}$")).wait_for()
    box = output.locator(".dk-tail").first
    assert box.evaluate("box => Math.abs(box.scrollTop) < 1 && box.scrollHeight > box.clientHeight")
    assert box.evaluate("box => box.scrollWidth === box.clientWidth")  # long lines are wrapped
    assert box.evaluate(
        "box => box.firstChild.getBoundingClientRect().bottom <= box.getBoundingClientRect().bottom + 1"
    )


def test_a_live_log_shows_the_newest_lines(cluster: ServerThread, notebook: Notebook) -> None:
    kubelets = [Kubelet(cluster.server, name) for name in PODS]
    for kubelet in kubelets:
        cluster.create(pod(kubelet.name))
        cluster.run(kubelet.start)
        cluster.run(kubelet.write, *(f"line {number} <b>{'of some length ' * number}</b>" for number in range(10)))
    output = notebook.run("log = k.logs('app=web').live(); log")
    output.locator(".dk-note", has_text="100 earlier lines are not shown").wait_for()

    cluster.run(kubelets[-1].write, "the newest")
    wait_line(output, "web-39 app the newest")
    for theme in ("Dark", "Light"):
        notebook.theme(theme)
        assert faint(output.locator(".dk-card")) == []

    notebook.run("log.close()")
    output.locator(".dk-note", has_text="— stopped: closed").wait_for()


def test_a_cell_that_is_run_again_follows_the_log_anew(cluster: ServerThread, notebook: Notebook) -> None:
    cluster.create(pod("db"))
    kubelet = Kubelet(cluster.server, "db")
    cluster.run(kubelet.start)
    cluster.run(kubelet.write, *map(str, range(50)))
    output = notebook.run("logs = [*globals().get('logs', []), k.pod('db').logs(follow=True).live()]; logs[-1]")
    wait_line(output, "49")

    notebook.run_again()
    cluster.run(kubelet.write, "50")
    wait_line(output, "50")

    assert "stopped: no page shows it" in notebook.run("print(logs[0])").inner_text()
    assert "stopped" not in notebook.run("print(logs[1])").inner_text()
