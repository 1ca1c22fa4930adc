"""A live table of many objects in JupyterLab, of which a hundred change each second.

``LIVE_ROWS=200000 make browser ARGS="tests/notebook/browser/test_many_rows.py -s"`` prints how long it takes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from benchmarks.measure import byte_server
from tests.notebook.browser.contrast import faint
from tests.notebook.browser.lab import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = [pytest.mark.real_time, pytest.mark.browser, pytest.mark.timeout(900)]

ROWS = int(os.environ.get("LIVE_ROWS", "2000"))
RATE = 100  # changes per second
CHANGED = 500  # objects that change; some of them are in the first window
OPEN = """
many = dynkube.sync.connect(url={url!r}).informer("widgets.v1.bench.example.com")
many.wait_synced(timeout=600)
REVISION = "{{.metadata.annotations['example.com/revision']}}"
"""
LAST = """(end) => [...document.querySelectorAll(".dkl-row > th")].some((cell) => {
    const [row, top] = [cell.getBoundingClientRect(), cell.closest(".dkl-scroll").getBoundingClientRect()];
    return cell.textContent.includes(end) && row.bottom <= top.bottom && row.top >= top.top;
})"""
CHANGED_ROW = """(before) => {
    const row = [...document.querySelectorAll(".dkl-row")].find((row) => row.textContent.includes("widget-000000"));
    return row && row.innerText !== before;
}"""
CPU = "began = time.process_time(); time.sleep({seconds}); print((time.process_time() - began) / {seconds})"


@pytest.fixture(scope="module")
def many() -> Iterator[str]:
    """The URL of a server with the objects, which change as long as the test runs."""
    with byte_server(objects=ROWS, size=3_000, events=60_000, rate=RATE, changed=CHANGED) as url:
        yield url


@pytest.fixture(scope="module")
def table(notebook: Notebook, many: str) -> Locator:
    """A live table of all objects."""
    notebook.page.set_default_timeout(300_000)
    notebook.run(OPEN.format(url=many))
    began = time.perf_counter()
    output = notebook.run("many.live(columns={'revision': REVISION})", wait=False)
    output.locator(".dkl-row").first.wait_for()
    print(f"\nfirst row: {time.perf_counter() - began:.2f} s")
    output.locator(".dkl-counts", has_text=f"{ROWS:,} objects").filter(has_not_text="so far").wait_for()
    print(f"all {ROWS:,} objects: {time.perf_counter() - began:.2f} s")
    output.locator(".dkl-space").last.wait_for(state="attached")
    return output


def seconds(what: Callable[[], object]) -> float:
    """Return how long a call takes."""
    began = time.perf_counter()
    what()
    return time.perf_counter() - began


def test_rows_at_any_place_are_reached_by_scrolling(notebook: Notebook, table: Locator) -> None:
    scroll = table.locator(".dkl-scroll")

    def to(place: float, row: str) -> None:
        scroll.evaluate("(node, place) => { node.scrollTop = place * node.scrollHeight; }", place)
        notebook.page.wait_for_function(LAST, arg=row)

    # Each of the 50 namespaces has every 50th object: the last one ends with the last object, the 26th has 25, 75, ...
    took = seconds(lambda: to(1, f"widget-{ROWS - 1:06}"))
    took_middle = seconds(lambda: to(0.5, "widget-000075"))
    print(f"scrolling: to the end {took:.2f} s, to the middle {took_middle:.2f} s")

    assert table.locator(".dkl-row").count() == 200


def test_all_objects_are_searched_and_the_keyboard_scrolls(notebook: Notebook, table: Locator) -> None:
    word = f"widget-{ROWS - 7:06}"
    box = table.get_by_role("searchbox", name="Find in all rows")
    found = table.locator(".dkl-row", has_text=word)
    first = seconds(lambda: (box.fill(word), found.wait_for()))  # type: ignore[func-returns-value]
    note = table.locator(".dkl-note", has_text="rows match").filter(has_not_text="searching")
    done = seconds(note.wait_for)
    print(f"search: found after {first:.2f} s, complete after {first + done:.2f} s")
    assert table.locator(".dkl-row").count() == 1

    box.fill("")
    notebook.page.wait_for_function("() => document.querySelectorAll('.dkl-row').length === 200")
    table.locator(".dkl-scroll").focus()
    notebook.page.keyboard.press("End")
    notebook.page.wait_for_function(LAST, arg=f"widget-{ROWS - 1:06}")


def test_changes_are_shown_and_cost_little_of_the_kernel(notebook: Notebook, table: Locator) -> None:
    table.locator(".dkl-scroll").evaluate("(node) => { node.scrollTop = 0; }")
    row = table.locator(".dkl-row", has_text="widget-000000")
    row.wait_for()
    before = row.inner_text()

    notebook.page.wait_for_function(CHANGED_ROW, arg=before)
    output = notebook.run(CPU.format(seconds=10 if ROWS > 10_000 else 1))
    print(f"kernel at {RATE} changes a second: {float(output.inner_text()):.1%} of a core")


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_the_window_is_readable_in_any_theme(
    notebook: Notebook, table: Locator, theme: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    notebook.theme(theme)
    table.locator(".dkl").screenshot(path=tmp_path_factory.getbasetemp() / f"many-{theme}.png")

    assert faint(table.locator(".dkl-head")) == []
