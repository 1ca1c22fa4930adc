"""Live tables by accessible roles and names, and by keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dynkube.meta import Added, Unstructured, Updated
from dynkube.notebook._messages import delta_message, table_message
from dynkube.notebook._picture import Painter
from tests.display.kit import POD
from tests.notebook.browser.table_page import TablePage
from tests.notebook.kit import Selection, obj, paint

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.real_time, pytest.mark.browser]

FOCUS = "(document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent)"
SECTIONS = ["spec", "status", "metadata"]
OUTLINE = "getComputedStyle(document.activeElement).outlineStyle"


@pytest.fixture
def table_page(empty_page: TablePage) -> TablePage:
    """A table of three pods."""
    empty_page.begin()
    empty_page.page.emulate_media(reduced_motion="no-preference")
    show(
        empty_page, *(pod(name, phase) for name, phase in [("cart", "Running"), ("web", "Running"), ("api", "Failed")])
    )
    return empty_page


def pod(name: str, phase: str, version: int = 1) -> Unstructured:
    """Return a pod with this phase."""
    return obj(name, version=version, status={"phase": phase})


def show(table_page: TablePage, *objects: Unstructured) -> None:
    """Send a whole table."""
    selection = Selection()
    for each in objects:
        selection.fold(Added(each))
    table_page.send(table_message(paint(selection, Painter())), 1)


def change(table_page: TablePage) -> None:
    """Change one pod and add another."""
    selection, painter = Selection(), Painter()
    for each in [pod("cart", "Running"), pod("web", "Running"), pod("api", "Failed")]:
        selection.fold(Added(each))
    before = paint(selection, painter)
    selection.fold(Updated(pod("web", "Running"), pod("web", "Pending", 2)))
    selection.fold(Added(pod("new", "Pending")))
    message = delta_message(before, paint(selection, painter))
    assert message is not None
    table_page.send(message, 2)


def test_a_live_table_has_a_name_column_headings_and_row_headings(table_page: TablePage) -> None:
    table = table_page.page.get_by_role("region", name="Rows of things.v1").get_by_role("table", name="things.v1")

    assert table.get_by_role("columnheader").all_text_contents() == ["Details", "Name", "Status", "Age"]
    assert table.get_by_role("rowheader").all_text_contents() == ["api", "cart", "web"]
    assert table.get_by_role("button", name="Show default/web", expanded=False).count() == 1
    assert [*table.locator("thead th").evaluate_all("all => all.map((each) => each.scope)")] == ["col"] * 6


def test_headings_have_aria_sort_and_sort_by_keyboard(table_page: TablePage) -> None:
    names = table_page.page.locator("thead th", has_text="Name").last
    before = names.get_attribute("aria-sort")

    table_page.page.get_by_role("button", name="Name", exact=True).focus()
    table_page.page.keyboard.press("Enter")
    up = names.get_attribute("aria-sort")
    table_page.page.keyboard.press("Space")

    assert (before, up, names.get_attribute("aria-sort")) == ("none", "ascending", "descending")
    assert [row[0] for row in table_page.rows()] == ["web", "cart", "api"]


def test_all_controls_are_reached_by_tab_with_a_visible_focus(table_page: TablePage) -> None:
    table_page.page.get_by_role("searchbox", name="Find in these rows").focus()
    reached = []

    for _ in range(7):
        table_page.page.keyboard.press("Tab")
        reached.append(table_page.page.evaluate(FOCUS))
        assert table_page.page.evaluate(OUTLINE) == "solid", reached

    shows = [f"Show default/{name}" for name in ("api", "cart", "web")]
    assert reached == ["Rows of things.v1", "Name", "Status", "Age", *shows]


def test_rows_are_expanded_and_searched_by_keyboard(table_page: TablePage) -> None:
    table_page.page.get_by_role("button", name="Show default/cart").focus()
    table_page.page.keyboard.press("Enter")
    sent = table_page.take_sent()

    search = table_page.page.get_by_role("searchbox")
    search.focus()
    table_page.page.keyboard.type("failed")
    found, texts = table_page.rows(), table_page.page.get_by_role("status").all_inner_texts()
    table_page.page.keyboard.press("Escape")

    assert sent == [{"kind": "details", "id": "default/cart"}]
    assert [row[0] for row in found] == ["api"]
    assert "1 of these 3 rows match" in texts
    assert len(table_page.rows()) == 3


def test_changes_are_not_animated_with_reduced_motion(table_page: TablePage) -> None:
    change(table_page)
    lit = table_page.page.evaluate("document.getAnimations().length")
    table_page.begin()
    show(table_page, pod("cart", "Running"), pod("web", "Running"), pod("api", "Failed"))
    table_page.page.emulate_media(reduced_motion="reduce")

    change(table_page)

    assert (lit, table_page.page.evaluate("document.getAnimations().length")) == (2, 0)


def test_a_stopped_table_says_so_and_is_grey(table_page: TablePage) -> None:
    ages = table_page.page.locator("td.dkl-age")
    table_page.page.get_by_role("button", name="Show default/cart").click()

    table_page.page.evaluate("table.end()")
    before = ages.all_inner_texts()
    table_page.page.clock.run_for(600_000)
    table_page.page.evaluate("table.tick()")
    table_page.page.get_by_role("button", name="Show default/web").click()

    texts = table_page.page.get_by_role("status").all_inner_texts()
    assert texts[:2] == ["STOPPED", "the kernel has ended: run the cell again"]
    assert ages.all_inner_texts() == before
    assert table_page.page.locator(".dkl-details").all_inner_texts() == ["the kernel does not respond"] * 2
    assert table_page.page.locator(".dkl-scroll").evaluate("node => getComputedStyle(node).filter") == "grayscale(1)"


def test_a_card_is_a_table_with_a_heading_for_each_row(chromium: Browser) -> None:
    page = chromium.new_page()
    page.set_content(Unstructured(POD)._repr_html_())

    assert page.get_by_role("rowheader").all_inner_texts() == ["labels", "owned by"]
    assert [name for name in SECTIONS if page.get_by_role("group").filter(has_text=name).last.is_visible()] == SECTIONS
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.get_by_text("containers:").last.is_visible()
    page.close()
