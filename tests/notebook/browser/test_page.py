"""The script of live tables: it displays the kernel's pictures, and changes only elements that differ."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynkube._text.ages import duration_text
from dynkube.informers._availability.crd_summary import PrinterColumn
from dynkube.meta import Added, Deleted, Unstructured, Updated
from dynkube.meta._object import Key
from dynkube.notebook._columns import columns_for
from dynkube.notebook._messages import delta_message, table_message
from dynkube.notebook._picture import Head, Painter, Picture
from tests.notebook.browser.table_page import TablePage
from tests.notebook.kit import Selection, obj, paint
from tests.notebook.test_pictures import COLUMNS, STEPS, event_for

pytestmark = [pytest.mark.real_time, pytest.mark.browser]

MARK = "document.querySelectorAll('tbody').forEach((body) => (body.mark = body.innerText.split('\\n')[0]))"
SAME = """() => [...document.querySelectorAll("tbody")].filter((body) => body.mark).length"""
FLASHED = """() => document.getAnimations().map(({ effect }) => effect.target.innerText.trim())"""


@pytest.fixture
def table_page(empty_page: TablePage) -> TablePage:
    """A table that has received no message."""
    empty_page.begin()
    return empty_page


def visible(picture: Picture) -> list[list[str]]:
    """Return the cells of a picture's visible columns."""
    shown = [place for place, heading in enumerate(picture.headings) if heading.shown]
    return [[row.cells[place].text for place in shown] for row in picture.rows]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(STEPS, st.sampled_from(COLUMNS), st.integers(1, 6)), max_size=6))
def test_the_page_displays_the_cells_of_the_picture(empty_page: TablePage, script: list[tuple[Any, Any, int]]) -> None:
    empty_page.begin()
    selection, painter, known = Selection(), Painter(), dict[Key, Unstructured]()
    last = Picture(Head(title="", phase=""))
    empty_page.send(table_message(last), 1)

    for number, (steps, columns, limit) in enumerate(script):
        for step in steps:
            if event := event_for(known, *step):
                selection.fold(event)
        picture = paint(selection, painter, limit=limit, columns=columns)
        message = delta_message(last, picture) or {"kind": "pulse"}
        empty_page.send(message, number + 2)
        last = picture

        assert empty_page.rows() == visible(picture)
        assert empty_page.take_sent() == []


def shown(table_page: TablePage, *objects: Unstructured, columns: Any = None) -> tuple[Selection, Painter, Picture]:
    """Send a table of some objects; return selection, painter and picture."""
    selection, painter = Selection(), Painter()
    for each in objects:
        selection.fold(Added(each))
    picture = paint(selection, painter, columns=columns)
    table_page.send(table_message(picture), 1)
    return selection, painter, picture


def test_rows_keep_their_elements_and_only_changes_are_highlighted(table_page: TablePage) -> None:
    selection, painter, before = shown(table_page, *(obj(name, status={"phase": "Pending"}) for name in "abcdef"))
    table_page.page.evaluate(MARK)

    selection.fold(Deleted(obj("b")))
    selection.fold(Added(obj("aa")))
    selection.fold(Updated(obj("c"), obj("c", version=2, status={"phase": "Running"})))
    delta = delta_message(before, paint(selection, painter))
    assert delta is not None
    table_page.send(delta, 2)

    assert [row[0] for row in table_page.rows()] == ["a", "aa", "c", "d", "e", "f"]
    assert table_page.page.evaluate(SAME) == 5
    assert table_page.page.evaluate(FLASHED) == ["aa", "Running"]


COUNT = """() => {
    window.getStyle ??= getComputedStyle;
    window.calls = 0;
    window.getComputedStyle = (...given) => { calls += 1; return getStyle(...given); };
}"""


@pytest.mark.parametrize(("rows", "highlighted"), [(400, 400), (1_100, 0)])
def test_many_changes_read_styles_once_and_too_many_are_not_highlighted(
    table_page: TablePage, rows: int, highlighted: int
) -> None:
    selection, painter = Selection(), Painter()
    for number in range(rows):
        selection.fold(Added(obj(f"{number}")))
    before = paint(selection, painter, limit=rows)
    table_page.send(table_message(before), 1)
    table_page.page.evaluate(COUNT)

    for number in range(rows):
        selection.fold(Updated(obj(f"{number}"), obj(f"{number}", version=2, status={"phase": "Running"})))
    delta = delta_message(before, paint(selection, painter, limit=rows))
    assert delta is not None
    table_page.send(delta, 2)

    assert table_page.page.evaluate("calls") <= 1
    assert len(table_page.page.evaluate(FLASHED)) == highlighted
    assert [row[1] for row in table_page.rows()] == ["Running"] * rows


def test_rows_of_several_clusters_are_in_order_and_can_be_sorted_by_cluster(table_page: TablePage) -> None:
    selection, painter = Selection(), Painter()
    for cluster, name in [("west", "a"), ("b/east", "b"), ("b/east", "a")]:
        selection.fold(Added(obj(name)), cluster)
    table_page.send(table_message(paint(selection, painter, columns=columns_for((), {"b/east": (), "west": ()}))), 1)
    first = [cells[:2] for cells in table_page.rows()]

    table_page.page.get_by_role("button", name="Cluster").click()
    table_page.page.get_by_role("button", name="Cluster").click()
    table_page.page.get_by_role("button", name="Show west/default/a").click()

    assert first == [["b/east", "a"], ["b/east", "b"], ["west", "a"]]
    assert [cells[:2] for cells in table_page.rows()] == [["west", "a"], ["b/east", "a"], ["b/east", "b"]]
    assert table_page.take_sent()[-1] == {"kind": "details", "id": "west/default/a"}
    assert [each.inner_text() for each in table_page.page.get_by_role("rowheader").all()] == ["a", "a", "b"]


SIZES = columns_for((), {"": [PrinterColumn(name="Size", type="integer", json_path=".size")]})


def test_rows_are_sorted_ascending_descending_or_not(table_page: TablePage) -> None:
    shown(table_page, obj("a", size=10), obj("b", size=9), obj("c", size=100), columns=SIZES)
    top = table_page.page.locator("th button", has_text="Size")
    orders = []

    for _ in range(4):
        orders.append("".join(row[0] for row in table_page.rows()))
        top.click()

    assert orders == ["abc", "bac", "cab", "abc"]
    assert table_page.page.locator("th[aria-sort=ascending]").count() == 1


def test_a_changed_row_moves_to_its_sorted_position_and_stays_expanded(table_page: TablePage) -> None:
    selection, painter, before = shown(
        table_page, *(obj(name, size=i) for i, name in enumerate("abcdef")), columns=SIZES
    )
    table_page.page.locator("th button", has_text="Size").click()
    table_page.page.locator(".dkl-toggle").first.click()
    details = {"kind": "details", "id": "default/a", "blocks": [{"section": "spec", "hint": "", "open": False}]}
    details["blocks"][0]["blocks"] = [{"code": [["size: 0"]]}]  # type: ignore[index]  # a decoded message
    table_page.send(details, 1)
    table_page.page.locator(".dkl-details summary").click()

    selection.fold(Updated(obj("a"), obj("a", version=2, size=50)))
    delta = delta_message(before, paint(selection, painter, columns=SIZES))
    assert delta is not None
    table_page.send(delta, 2)

    assert "".join(row[0] for row in table_page.rows()) == "bcdefa"
    assert table_page.page.locator("tbody").last.locator("details[open]").count() == 1
    assert [message["kind"] for message in table_page.take_sent()] == ["details", "details"]


def test_search_filters_rows_and_displays_their_number(table_page: TablePage) -> None:
    shown(table_page, obj("web-1", "shop"), obj("web-2", "cart"), obj("db-1", "shop"))

    table_page.page.locator(".dkl-search").fill("WEB shop")

    assert table_page.rows() == [["shop", "web-1", ""]]
    assert table_page.text(".dkl-note") == "1 of these 3 rows match"
    table_page.page.locator(".dkl-search").fill("nothing")
    assert table_page.rows() == []
    assert table_page.page.locator(".dkl-search").is_visible()


def test_a_page_that_missed_a_message_requests_the_whole_table(table_page: TablePage) -> None:
    _, _, picture = shown(table_page, obj("a"))

    table_page.send({"kind": "delta", "drop": ["default/a"]}, 3)

    assert [message["kind"] for message in table_page.take_sent()] == ["hello"]
    assert table_page.rows() == visible(picture)
    table_page.send({"kind": "delta", "drop": ["default/a"]}, 1)  # an old message that is late
    assert table_page.take_sent() == []


def test_a_page_opened_later_waits_for_the_whole_table(table_page: TablePage) -> None:
    table_page.send({"kind": "delta", "drop": ["default/a"]}, 7)

    assert table_page.text(".dkl-message") == "waiting for the kernel"
    shown(table_page, obj("a"))
    assert len(table_page.rows()) == 1


def test_a_page_without_messages_says_what_to_do(table_page: TablePage) -> None:
    table_page.page.clock.run_for(60_000)
    table_page.page.evaluate("table.tick()")

    assert table_page.text(".dkl-message") == "the kernel has no table for this output: run the cell again"
    assert table_page.text(".dkl-pill") == "STOPPED"


def test_silence_of_the_kernel_is_displayed_until_the_next_message(table_page: TablePage) -> None:
    shown(table_page, obj("a"))
    table_page.page.clock.run_for(60_000)
    table_page.page.evaluate("table.tick()")
    silent = table_page.text(".dkl-message")

    table_page.send({"kind": "pulse"}, 2)

    assert silent == "no message from the kernel for a while: this may be outdated"
    assert [message["kind"] for message in table_page.take_sent()] == ["hello"]
    assert not table_page.page.locator(".dkl-message").is_visible()
    assert table_page.text(".dkl-pill") == "LIVE"


def test_a_page_that_receives_messages_sends_keep_alives(table_page: TablePage) -> None:
    shown(table_page, obj("a"))

    for seq in range(2, 8):
        table_page.page.clock.run_for(15_000)
        table_page.send({"kind": "pulse"}, seq)

    assert [message["kind"] for message in table_page.take_sent()] == ["here"] * 3


def test_a_page_whose_hello_was_lost_repeats_it(table_page: TablePage) -> None:
    for seq in range(7, 10):
        table_page.page.clock.run_for(15_000)
        table_page.send({"kind": "pulse"}, seq)

    assert [message["kind"] for message in table_page.take_sent()] == ["hello"]


def test_details_of_expanded_rows_are_requested_after_a_whole_table(table_page: TablePage) -> None:
    _, _, picture = shown(table_page, obj("a"))
    table_page.page.locator(".dkl-toggle").click()
    table_page.take_sent()

    table_page.send(table_message(picture), 2)

    assert [(message["kind"], message["id"]) for message in table_page.take_sent()] == [("details", "default/a")]


def test_a_click_on_a_selected_row_deselects(table_page: TablePage) -> None:
    shown(table_page, obj("a"), obj("b"))
    cells = table_page.page.locator(".dkl-row > :nth-child(3)")

    cells.nth(0).click()
    cells.nth(1).click(modifiers=["Control"])
    both = table_page.page.locator(".dkl-picked").count()
    cells.nth(1).click()

    assert (both, table_page.page.locator(".dkl-picked").count()) == (2, 0)


@pytest.mark.parametrize(
    "seconds", [-5, -1, 0, 1.9, 59, 119, 121, 599, 600, 10_799, 10_800, 30_000, 172_800, 700_000, 7e7, 2e8, 3e8]
)
def test_ages_are_formatted_as_in_python(table_page: TablePage, seconds: float) -> None:
    assert table_page.page.evaluate("(seconds) => age(seconds)", seconds) == duration_text(seconds)
