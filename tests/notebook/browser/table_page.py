"""The script of live tables on an otherwise empty page: messages in, elements out."""

from __future__ import annotations

import base64
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dynkube.notebook._messages import Message

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_STATIC = files("dynkube.notebook") / "static"
_LOAD = """async (script) => {
    const { Table, age } = await import(`data:text/javascript;base64,${script}`);
    window.age = age;
    window.begin = () => {
        window.sent = [];
        window.table = new Table((message) => sent.push(message));
        document.body.replaceChildren(table.root);
    };
    begin();
}"""
_ROWS = """() => [...document.querySelectorAll("tbody")].filter((body) => !body.hidden).map((body) =>
    [...body.firstChild.children].slice(1).filter((cell) => !cell.hidden).map((cell) => cell.textContent))"""


class TablePage:
    """A page with one live table."""

    def __init__(self, browser: Browser) -> None:
        self.page = browser.new_page(viewport={"width": 900, "height": 700})
        self.page.clock.install()
        self.page.set_content(f"<style>{(_STATIC / 'live.css').read_text(encoding='utf-8')}</style>")
        self.page.evaluate(_LOAD, base64.b64encode((_STATIC / "live.js").read_bytes()).decode())

    def begin(self) -> None:
        """Replace the table by a new one that has received no message."""
        self.page.evaluate("begin()")

    def send(self, message: Message, seq: int) -> None:
        """Send a message to the table."""
        self.page.evaluate("(message) => table.receive(message)", {**message, "seq": seq})

    def rows(self) -> list[list[str]]:
        """Return the visible text of each row's cells."""
        found: list[list[str]] = self.page.evaluate(_ROWS)
        return found

    def take_sent(self) -> list[Any]:
        """Return the messages that the page sent since the last call."""
        found: list[Any] = self.page.evaluate("sent.splice(0)")
        return found

    def text(self, selector: str) -> str:
        """Return the visible text of an element."""
        return self.page.locator(selector).inner_text()
