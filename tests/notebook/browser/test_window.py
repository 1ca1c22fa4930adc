"""Of many rows the script holds a window: it asks for others, and keeps focus, places and what is unfolded."""

from __future__ import annotations

import pytest

from dynkube.meta import Added, Deleted, Unstructured
from dynkube.notebook._columns import columns_for
from dynkube.notebook._messages import delta_message, table_message
from dynkube.notebook._picture import Head, Painter, Picture, headings
from dynkube.notebook._view import Asked, TableView
from tests.notebook.browser.table_page import TablePage
from tests.notebook.kit import Selection, obj

pytestmark = [pytest.mark.real_time, pytest.mark.browser]

ROWS = 5_000
TALL = 700_000
HEIGHT = 26
SEEN = """() => {
    const [top, all] = [document.querySelector(".dkl-scroll"), [...document.querySelectorAll(".dkl-row")]];
    const [from, to] = [top.getBoundingClientRect().top + 27, top.getBoundingClientRect().bottom];
    const boxes = all.map((row) => [row, row.getBoundingClientRect()]);
    const seen = boxes.filter(([, box]) => box.top >= from && box.bottom <= to).map(([row]) => row);
    return seen.map((row) => row.querySelector("th").textContent);
}"""

# Frames are no measure: the clock of the page is a fake one, and so is its requestAnimationFrame.
SCROLL = """(place) => new Promise((done) => {
    const scroll = document.querySelector(".dkl-scroll");
    const before = scroll.scrollTop;
    scroll.addEventListener("scroll", done, { once: true });
    scroll.scrollTop = place;
    if (scroll.scrollTop === before) done();
})"""


class Kernel:
    """The kernel of one page: answers its questions at once."""

    def __init__(self, page: TablePage, rows: int = ROWS) -> None:
        self.page = page
        self.selection = Selection()
        for number in range(rows):
            self.selection.fold(Added(item(number)))
        self._view = TableView(self.selection, 200, Asked())
        self._painter = Painter()
        self._picture = Picture(Head(title="", phase=""))
        self._seq = 1
        page.send(table_message(self._paint()), 1)
        self.answer()

    def answer(self) -> list[str]:
        """Answer questions until there are no more; return the kinds of the messages."""
        kinds = []
        while sent := self.page.take_sent():
            kinds += [str(message["kind"]) for message in sent]
            for message in sent:
                if message["kind"] == "view":
                    self._view.ask(Asked.parse(message))
            self.send()
        return kinds

    def send(self) -> None:
        """Send what has changed."""
        message = delta_message(self._picture, self._paint())
        self._seq += 1
        self.page.send(message or {"kind": "pulse"}, self._seq)

    def scroll(self, place: int) -> None:
        """Scroll to a place, and answer what the page asks for then."""
        self.move(place)
        self.answer()

    def move(self, place: int) -> None:
        """Scroll to a place; return after the event."""
        self.page.page.evaluate(SCROLL, place * HEIGHT)

    def seen(self) -> list[str]:
        """Return the names of the rows that can be seen."""
        found: list[str] = self.page.page.evaluate(SEEN)
        return found

    def _paint(self) -> Picture:
        columns = columns_for((), {})
        objects, view = self._view.window(columns)
        rows = tuple(self._painter.rows(objects, columns))
        number = len(self.selection)
        head = Head(title="things.v1", phase="LIVE", shown=number, matching=number, total=number, view=view)
        self._picture = Picture(head, headings(columns, rows, 1), rows)
        return self._picture


def item(number: int) -> Unstructured:
    """Return one of many objects."""
    return obj(name(number))


def name(number: int) -> str:
    """Return the name of an object."""
    return f"n{number:06}"


@pytest.fixture
def kernel(empty_page: TablePage) -> Kernel:
    """A page that shows a table of many rows."""
    empty_page.begin()
    return Kernel(empty_page)


def test_scrolling_shows_the_rows_at_that_place(kernel: Kernel) -> None:
    first = kernel.seen()
    kernel.scroll(3_000)
    middle = kernel.seen()
    kernel.scroll(9_999)

    assert first[:2] == [name(0), name(1)]
    assert (middle[0] in (name(3_000), name(3_001)), len(middle) >= 13) == (True, True)
    assert kernel.seen()[-1] == name(4_999)
    assert kernel.page.page.locator(".dkl-row").count() == 200


def test_scrolling_within_the_window_asks_for_nothing(kernel: Kernel) -> None:
    kernel.scroll(3_000)
    kernel.move(3_020)

    assert kernel.page.take_sent() == []


def test_what_is_seen_stays_in_place_when_rows_above_come_and_go(kernel: Kernel) -> None:
    kernel.scroll(3_000)
    before = kernel.seen()

    for number in range(40):
        kernel.selection.fold(Added(obj(f"a{number}")))
    kernel.selection.fold(Deleted(item(7)))
    kernel.send()
    kernel.answer()

    assert kernel.seen() == before


def test_rows_have_their_place_among_all_for_screen_readers(kernel: Kernel) -> None:
    kernel.scroll(3_000)
    table = kernel.page.page.get_by_role("table")
    row = kernel.page.page.locator(".dkl-row", has_text=name(3_001))

    assert (table.get_attribute("aria-rowcount"), row.get_attribute("aria-rowindex")) == ("5001", "3003")


def test_the_focus_is_kept_while_its_row_is_out_of_sight(kernel: Kernel) -> None:
    page = kernel.page.page
    page.get_by_role("button", name=f"Show default/{name(3)}").focus()
    kernel.scroll(3_000)
    away = page.evaluate("document.activeElement.className")
    kernel.scroll(0)

    assert away == "dkl-scroll"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == f"Show default/{name(3)}"


def test_unfolded_and_selected_rows_are_so_again_when_they_come_back(kernel: Kernel) -> None:
    page = kernel.page.page
    page.get_by_role("button", name=f"Show default/{name(2)}").click()
    page.locator(".dkl-row > th").nth(3).click()
    kernel.scroll(3_000)
    away = (page.locator(".dkl-more").count(), page.locator(".dkl-picked").count())
    kernel.scroll(0)

    assert away == (0, 0)
    assert page.get_by_role("button", name=f"Show default/{name(2)}", expanded=True).count() == 1
    assert page.locator(".dkl-picked").inner_text().strip().startswith(name(3))


def test_sorting_and_searching_ask_the_kernel_from_the_top(kernel: Kernel) -> None:
    kernel.scroll(3_000)
    kernel.page.page.get_by_role("button", name="Name", exact=True).click()
    (sort,) = kernel.page.take_sent()
    kernel.page.page.get_by_role("searchbox", name="Find in all rows").fill("Web 1")
    kernel.page.page.clock.run_for(500)
    (search,) = kernel.page.take_sent()

    assert (sort["kind"], sort["first"], sort["column"], sort["words"]) == ("view", 0, "Name", [])
    assert (search["kind"], search["first"], search["column"], search["words"]) == ("view", 0, "Name", ["web", "1"])


def test_tables_that_are_taller_than_browsers_allow_are_scrolled_to_their_end(kernel: Kernel) -> None:
    page = kernel.page
    page.begin()
    kernel = Kernel(page, TALL)
    kernel.scroll(10**7)

    assert kernel.seen()[-1] == name(TALL - 1)
    assert page.page.evaluate("document.querySelector('.dkl-scroll').scrollHeight") < 16e6
