"""Without anywidget, a live table is an output that is replaced on each update, in a real kernel."""

from __future__ import annotations

import pytest

from dynkube_testing import ServerThread
from tests.display.kit import Page
from tests.informers.kit import crd, widget
from tests.notebook.kernel import Kernel
from tests.sync.kit import run_script

pytestmark = pytest.mark.real_time

FOLLOW = """
import sys, threading
sys.modules["anywidget"] = None  # as if it were not installed
widgets = k.informer("widgets.v1.example.com")
table = widgets.live()

shown = threading.Event()
def show(message, picture, show=table.show):
    show(message, picture)
    if picture.rows:
        shown.set()
table.show = show
display(table)
print("displayed")
assert shown.wait(30)
"""


def test_the_output_is_replaced_after_events(cluster: ServerThread, kernel: Kernel) -> None:
    def appear(printed: str) -> None:
        if "displayed" in printed:  # not at the end: the newline may be a separate message
            cluster.create(crd())
            cluster.create(widget("a", host="<b>bold</b>"))

    cell = kernel.run(FOLLOW, on_output=appear)

    page = Page(cell.result["text/html"])
    assert cell.error == ""
    assert page.rows()[1][:1] == ["a"]
    assert cell.result["text/plain"].startswith("widgets.v1.example.com · ")


def test_the_old_table_of_a_cell_that_is_run_again_rests(cluster: ServerThread, kernel: Kernel) -> None:
    kernel.run("import sys; sys.modules['anywidget'] = None")
    kernel.run("import dynkube.notebook._audience as audience; audience.GRACE = 0")
    before = int(kernel.run("print(sum(each.users > 0 for each in k.informers()))").printed)
    kernel.run("first = k.get('pods').live(); display(first)", cell_id="a")
    kernel.run("second = k.get('nodes').live(); display(second)", cell_id="b")

    kernel.run("pass", cell_id="a")
    cell = kernel.run(
        "k._thread.call(first._follower._ended.wait); print(sum(each.users > 0 for each in k.informers()))"
    )

    assert (cell.error, int(cell.printed)) == ("", before + 1)
    assert "resting" in kernel.run("audience.GRACE = 60.0; second.close(); print(repr(first))").printed


IN_A_TERMINAL = """
import sys, dynkube.sync, dynkube.notebook._live
dynkube.notebook._live._PATIENCE = 30.0
sys.modules["anywidget"] = None
from IPython.core.interactiveshell import InteractiveShell
k = dynkube.sync.connect(url=sys.argv[1])
namespaces = k.informer("namespaces")
shell = InteractiveShell.instance()
shell.user_ns["namespaces"] = namespaces
shell.run_cell("table = namespaces.live(); display(table)")
shell.run_cell("namespaces.set_filter(lambda obj: False); table.close()")
"""


def test_a_terminal_displays_one_picture_as_text(cluster: ServerThread) -> None:
    done = run_script(IN_A_TERMINAL, cluster.url)

    assert [line for line in done.stdout.splitlines() if "namespaces.v1" in line] == [
        "namespaces.v1 · LIVE · Watching · 4 objects"
    ]
    assert "html" not in done.stdout
    assert done.returncode == 0


def test_with_anywidget_the_output_is_a_widget_and_text(kernel: Kernel) -> None:
    pytest.importorskip("anywidget", reason="anywidget is not installed")

    cell = kernel.run("import sys; sys.modules.pop('anywidget', None); k.informer('namespaces').live()")

    assert set(cell.result) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    assert cell.result["text/plain"].startswith("namespaces.v1 · ")
