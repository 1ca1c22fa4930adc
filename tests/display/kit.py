"""Helpers for tests of displays: HTML parsed as by a browser, and a sample object."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from dynkube._display.cards import Card
from dynkube._display.html import page
from dynkube._display.text import plain

NOW = datetime(2026, 5, 6, 12, tzinfo=UTC)

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web-1",
        "namespace": "shop",
        "uid": "11",
        "resourceVersion": "42",
        "creationTimestamp": "2026-05-01T09:00:00Z",
        "labels": {"app": "web", "tier": "front"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "10"}],
    },
    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    "status": {
        "phase": "Running",
        "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "web", "ready": True}],
    },
}


class Page:
    """The HTML of a notebook output, parsed."""

    def __init__(self, source: Card | str) -> None:
        self.source = page(source) if isinstance(source, Card) else source
        self._tree = LexborHTMLParser(self.source)

    @property
    def elements(self) -> list[LexborNode]:
        """All elements in the body."""
        body = self._tree.body
        return [] if body is None else list(body.traverse(include_text=False))[1:]

    @property
    def attributes(self) -> set[tuple[str, str]]:
        """All attributes of elements, as pairs of tag and attribute name."""
        return {(str(node.tag), name) for node in self.elements for name in node.attributes}

    def text(self, selector: str = ".dk-card") -> str:
        """Return the text of the first element that matches ``selector``."""
        found = self._tree.css_first(selector)
        assert found is not None, selector
        return re.sub(r"\s+", " ", found.text(separator=" ")).strip()

    def all(self, selector: str) -> list[str]:
        """Return the text of each element that matches ``selector``."""
        return [re.sub(r"\s+", " ", found.text()).strip() for found in self._tree.css(selector)]

    def rows(self) -> list[list[str]]:
        """Return the cells of all tables with headings, by row."""
        return [[cell.text().strip() for cell in row.css("th,td")] for row in self._tree.css(".dk-grid tr")]

    def sections(self) -> dict[str, str]:
        """Return the text of the collapsible sections, by title."""
        found = {}
        for section in self._tree.css("details"):
            title = section.css_first("summary .dk-strong")
            code = section.css_first("pre")
            found[title.text() if title else ""] = code.text() if code else ""
        return found


def lines(card: Card) -> list[str]:
    """Return a card as lines of a terminal."""
    return plain(card).splitlines()
