"""The notebooks with live tables, run cell by cell in JupyterLab; also takes the pictures for the documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import nbformat
import pytest

from tests.notebook.browser.lab import ROOT, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    Take = Callable[[str, Locator], None]

pytestmark = [pytest.mark.real_time, pytest.mark.browser, pytest.mark.timeout(240)]


class Story:
    """A notebook that is run cell by cell."""

    def __init__(self, notebook: Notebook, name: str) -> None:
        self._notebook = notebook
        cells = nbformat.read(ROOT / "notebooks" / name, as_version=4).cells
        self._sources: Iterator[tuple[int, str]] = enumerate(cell.source for cell in cells)
        notebook.open(name)
        notebook.clear()

    def run_past(self, code: str) -> Locator:
        """Run all cells up to the next one that contains ``code``; return the output area of that one."""
        for place, source in self._sources:
            outputs = self._notebook.run_at(place)
            if code in source:
                return outputs
        raise AssertionError(f"no cell has {code!r} in it")


def texts(found: Locator) -> list[str]:
    """Return the text of each element."""
    return [text.strip() for text in found.all_text_contents()]


def names(table: Locator) -> list[str]:
    """Return the names in a live table, from top to bottom."""
    return texts(table.locator(".dkl-row:visible > th"))


def test_lazy_informers_and_their_live_table(notebook: Notebook, picture: Take) -> None:
    story = Story(notebook, "02-lazy-informers.ipynb")

    table = story.run_past("routes.live(").locator(".dkl")
    table.locator(".dkl-message", has_text="no CRD httproutes.gateway.networking.k8s.io is installed").wait_for()
    assert table.locator(".dkl-pill").inner_text() == "ABSENT"
    picture("live-absent", table)

    story.run_past("routes.wait_for(stored")
    table.locator(".dkl-row", has_text="shop.example.com").wait_for()
    assert table.locator(".dkl-pill").inner_text() == "LIVE"
    assert texts(table.locator("thead th:visible"))[1:] == ["Name", "Hostnames", "backend", "Age"]
    assert names(table) == ["basket", "checkout", "refunds", "shop"]
    picture("live-appeared", table)

    listed = story.run_past('k.get("httproutes")').locator(".dk-card")
    assert texts(listed.locator("th")) == ["NAME", "HOSTNAMES", "AGE"]
    assert texts(listed.locator("td:first-child")) == ["basket", "checkout", "refunds", "shop"]
    picture("list", listed)

    one = story.run_past('routes.get("checkout"').locator(".dk-card")
    assert "HTTPRoute · shop/checkout" in one.inner_text()
    one.locator("summary", has_text="spec").click()
    assert "name: ledger" in one.inner_text()
    picture("object", one)

    story.run_past("routes.set_filter(")
    table.locator(".dkl-counts", has_text="2 of 4 objects").wait_for()
    assert names(table) == ["checkout", "refunds"]
    assert "LabelFilter('team=payments')" in (table.locator(".dkl-filter").text_content() or "")
    picture("live-filtered", table)

    story.run_past('k["crds"].delete')
    table.locator(".dkl-pill", has_text="ABSENT").wait_for()
    table.locator(".dkl-scroll").wait_for(state="hidden")
    story.run_past("apply_all")  # a second time
    table.locator(".dkl-row", has_text="checkout").wait_for()
    assert names(table) == ["checkout"]


def test_a_live_table_of_pods_with_an_expanded_row(notebook: Notebook, picture: Take) -> None:
    story = Story(notebook, "03-dynamic-filters.ipynb")

    table = story.run_past("pods.live(").locator(".dkl")
    row = table.locator("tbody", has_text="fraud-check")
    row.get_by_role("button").click()
    row.locator(".dkl-details .dkl-chip", has_text="Ready=False").first.wait_for()

    assert texts(row.locator(".dkl-row .dkl-bad")) == ["0/1", "CrashLoopBackOff"]
    picture("live", table)
