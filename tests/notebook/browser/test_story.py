"""The notebook on lazy informers in JupyterLab: its live table turns into one, back, and into one again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import nbformat
import pytest

from tests.notebook.browser.lab import ROOT, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator

pytestmark = [pytest.mark.real_time, pytest.mark.browser, pytest.mark.timeout(240)]

STORY = "02-lazy-informers.ipynb"


class Story:
    """The notebook, run cell by cell."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._sources: Iterator[str] = iter(
            cell.source for cell in nbformat.read(ROOT / "notebooks" / STORY, as_version=4).cells
        )
        notebook.open(STORY)
        notebook.clear()

    def run_past(self, code: str) -> Locator:
        """Run everything up to the next cell with this in it; gives the outputs of that one."""
        for source in self._sources:
            outputs = self._notebook.run_next()
            if code in source:
                return outputs
        raise AssertionError(f"no cell has {code!r} in it")


def test_the_live_table_of_the_story_follows_it(notebook: Notebook, picture: Callable[[str, Locator], None]) -> None:
    story = Story(notebook)

    table = story.run_past("routes.live()").locator(".dkl")
    table.locator(".dkl-message", has_text="no CRD httproutes.gateway.networking.k8s.io is installed").wait_for()
    absent = table.locator(".dkl-pill").inner_text()
    story.run_past("routes.wait_for(stored")
    table.locator(".dkl-row", has_text="shopfront").wait_for()
    live = table.locator(".dkl-pill").inner_text()
    tops = table.locator("th:visible").all_inner_texts()
    picture("notebook-live", table)
    story.run_past('k["crds"].delete')
    table.locator(".dkl-pill", has_text="ABSENT").wait_for()
    table.locator(".dkl-scroll").wait_for(state="hidden")
    story.run_past("apply_all")  # once more
    table.locator(".dkl-row", has_text="checkout").wait_for()

    assert (absent, live) == ("ABSENT", "LIVE")
    assert [top.upper() for top in tops] == ["", "NAME", "HOSTNAMES", "AGE"]
    assert table.locator(".dkl-row:visible").count() == 1
