"""Renders cards as HTML for notebooks. All data is escaped.

For an untrusted notebook, JupyterLab (tested with 4.6) keeps elements and ``style`` attributes but removes ``<style>``.
So the card is hidden by a ``style`` attribute that the stylesheet overrides, and preceded by a plain-text fallback that
the stylesheet hides: without the stylesheet, the text is shown. Folding needs no script.

GitHub removes ``style`` attributes too, and would show both (https://github.com/pydata/xarray/issues/6125). So the card
is inside a closed ``<details>``, whose content the stylesheet shows nevertheless.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from dynkube._display.bounds import bounded
from dynkube._display.cards import Block, Bullets, Card, Chips, Code, Facts, Grid, Line, Note, Section, Span, Tone
from dynkube._display.style import STYLESHEET
from dynkube._display.text import plain_of
from dynkube._text.tables import html_text

_ONE_LINE: Final = 28  # cells up to this many characters are never wrapped
_CLASSES: Final = {tone: f"dk-{tone}" for tone in Tone}  # so that only known tones get into an attribute
_BREAKS: Final = re.compile(r"(?<=[/,])(?=\w)|(?<=[\w\]])(?=[.\[])")  # where a path may be wrapped
_DOT: Final = '<span class="dk-muted"> · </span>'


def page(card: Card, fallback: Card | None = None) -> str:
    """Return a card as an HTML output, with the stylesheet and a plain-text fallback.

    Args:
        card: the card.
        fallback: what the plain-text fallback has, if that is not the same.
    """
    card = bounded(card)
    text = plain_of(card if fallback is None else bounded(fallback))
    return (
        f'<div class="dynkube">{STYLESHEET}'
        f'<pre class="dk-fallback" style="white-space:pre">{html_text(text)}</pre>'
        f'<details class="dk-page" style="display:none"><summary>the same, to unfold</summary>'
        f'<div class="dk-card">{_card(card)}</div></details></div>'
    )


def _card(card: Card) -> str:
    head = f'<div class="dk-head">{_DOT.join(map(_heading, card.head))}</div>' if card.head else ""
    return f"{head}{_blocks(card.blocks)}"


def _blocks(blocks: Iterable[Block]) -> str:
    return "".join(map(_block, blocks))


def _block(block: Block) -> str:
    match block:
        case Facts(()):
            return ""
        case Facts(rows):
            found = (f'<tr><th scope="row">{html_text(name)}</th><td>{_line(value)}</td></tr>' for name, value in rows)
            return f'<table class="dk-facts"><tbody>{"".join(found)}</tbody></table>'
        case Chips(spans):
            return f'<div class="dk-chips">{" ".join(map(_span, spans))}</div>'
        case Grid():
            return _grid(block)
        case Code(lines, tail):
            text = "\n".join(map(_line, lines))
            code = f'<pre class="dk-code">{text}</pre>'
            return f'<div class="dk-tail" tabindex="0">{code}</div>' if tail else code
        case Note(spans):
            return f'<p class="dk-note">{_line(spans)}</p>'
        case Bullets(items):
            return f"<ul>{''.join(f'<li>{html_text(item)}</li>' for item in items)}</ul>"
        case Section(title, blocks, hint, is_open):
            more = f' <span class="dk-muted">{html_text(hint)}</span>' if hint else ""
            summary = f'<summary><span class="dk-strong">{html_text(title)}</span>{more}</summary>'
            return f"<details{' open' if is_open else ''}>{summary}{_blocks(blocks)}</details>"
        case Card():
            return f'<div class="dk-inner">{_card(block)}</div>'


def _grid(grid: Grid) -> str:
    tops = [f'<th scope="col"{_kind(at, grid, ())}>{html_text(name)}</th>' for at, name in enumerate(grid.columns)]
    rows = [
        f"<tr>{''.join(f'<td{_kind(at, grid, cell)}>{_cell(cell)}</td>' for at, cell in enumerate(row))}</tr>"
        for row in grid.rows
    ]
    if grid.gap is not None:
        place, text = grid.gap
        rows.insert(place, f'<tr class="dk-gap"><td colspan="{len(grid.columns)}">{html_text(text)}</td></tr>')
    kind = "dk-grid dk-tree" if grid.is_tree else "dk-grid"
    return f'<table class="{kind}"><thead><tr>{"".join(tops)}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _cell(cell: Line) -> str:
    return "".join(_span(span, breaks=_is_long(cell)) for span in cell)


def _is_long(cell: Line) -> bool:
    return sum(len(span.text) for span in cell) > _ONE_LINE


def _kind(at: int, grid: Grid, cell: Line) -> str:
    if at in grid.right:
        return ' class="dk-right"'
    return ' class="dk-long"' if _is_long(cell) else ""


def _line(spans: Line) -> str:
    return "".join(map(_span, spans))


def _heading(span: Span) -> str:
    return _span(span, breaks=len(span.text) > _ONE_LINE)


def _span(span: Span, *, breaks: bool = False) -> str:
    text = "<wbr>".join(map(html_text, _BREAKS.split(span.text) if breaks else [span.text]))
    classes = [_CLASSES[span.tone]] if span.tone is not Tone.PLAIN else []
    classes += ["dk-chip"] if span.chip else []
    if not classes and not span.title:
        return text
    kind = f' class="{" ".join(classes)}"' if classes else ""
    title = f' title="{html_text(span.title)}"' if span.title else ""
    return f"<span{kind}{title}>{text}</span>"
