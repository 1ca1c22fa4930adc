"""Contrast of text and background by WCAG 2: at least 4.5 to 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator

_FAINT = """(root) => {
    const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const over = ([r, g, b, a = 1], below) => [r, g, b].map((c, i) => c * a + below[i] * (1 - a));
    const light = (colour) => colour.map((c) => c / 255)
        .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const contrast = (node) => {
        const layers = [];
        for (let each = node; each; each = each.parentElement)
            layers.push(parse(getComputedStyle(each).backgroundColor));
        const ground = layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255]);
        const front = over(parse(getComputedStyle(node).color), ground);
        const [a, b] = [light(front), light(ground)].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05);
    };
    const texts = [...root.querySelectorAll("*")].filter((each) => each.checkVisibility()
        && [...each.childNodes].some((child) => child.nodeType === 3 && child.data.trim()));
    return [texts.length, texts.filter((each) => contrast(each) < 4.5).map((each) => each.textContent)];
}"""


def faint(where: Locator) -> list[str]:
    """Return the texts in an element whose contrast is too low."""
    texts, found = where.evaluate(_FAINT)
    assert texts > 2
    return [str(text) for text in found]
