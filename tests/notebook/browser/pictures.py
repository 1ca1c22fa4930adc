"""Write the pictures in docs/images: all of the same width, sharp on dense screens, and small files."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import Locator

WIDTH = 720
"""Width of a picture on a page in CSS pixels: ``<img width="720">``. The file has twice as many pixels."""

# The whole element without scrolling, on the notebook's background.
_LAYOUT = f"""
:is(.dkl, .dk-card) {{
  box-sizing: border-box !important; width: {WIDTH}px !important; padding: 10px 14px !important;
  background: var(--jp-layout-color0) !important;
}}
.dynkube {{ overflow: visible !important; }}
.dkl-scroll {{ max-height: none !important; overflow: visible !important; }}
"""
_COLOURS = 32  # the most frequent ones; the others are antialiased edges of letters


def write_picture(file: Path, what: Locator) -> None:
    """Write a screenshot of an element to ``file``."""
    what.page.mouse.move(0, 0)  # so that no row has the style of :hover
    taken = Image.open(io.BytesIO(what.screenshot(animations="disabled", style=_LAYOUT))).convert("RGB")
    taken = taken.crop((0, 0, taken.width, taken.height - 2))  # half a CSS pixel of the next element
    file.parent.mkdir(exist_ok=True)
    _with_few_colours(taken).save(file, optimize=True)


def _with_few_colours(taken: Image.Image) -> Image.Image:
    """Reduce to the most frequent colours, unchanged; Pillow's own quantization alters backgrounds slightly."""
    pixels = taken.tobytes()
    each = list(zip(pixels[::3], pixels[1::3], pixels[2::3], strict=True))
    known = Counter(each)
    kept = [colour for colour, _ in known.most_common(_COLOURS)]
    nearest = {
        colour: min(range(len(kept)), key=lambda at: sum((a - b) ** 2 for a, b in zip(kept[at], colour, strict=True)))
        for colour in known
    }
    few = Image.frombytes("P", taken.size, bytes(nearest[colour] for colour in each))
    few.putpalette([part for colour in kept for part in colour])
    return few
