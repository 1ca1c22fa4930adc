"""The pictures of docs/images: of one width, sharp on dense screens, and small."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import Locator

WIDTH = 720
"""How wide a picture is on a page, in its pixels: ``<img width="720">``. The file has twice as many."""

# All of it, however long: a picture does not scroll. Around it the notebook's own ground.
_LAYOUT = f"""
:is(.dkl, .dk-card) {{
  box-sizing: border-box !important; width: {WIDTH}px !important; padding: 10px 14px !important;
  background: var(--jp-layout-color0) !important;
}}
.dynkube {{ overflow: visible !important; }}
.dkl-scroll {{ max-height: none !important; overflow: visible !important; }}
"""
_COLOURS = 32  # the most frequent ones; all others are the edges of letters


def write_picture(file: Path, what: Locator) -> None:
    """Write what an element looks like now."""
    what.page.mouse.move(0, 0)  # or a row looks as if it were pointed at
    taken = Image.open(io.BytesIO(what.screenshot(animations="disabled", style=_LAYOUT))).convert("RGB")
    taken = taken.crop((0, 0, taken.width, taken.height - 2))  # half a pixel of what comes next
    file.parent.mkdir(exist_ok=True)
    _with_few_colours(taken).save(file, optimize=True)


def _with_few_colours(taken: Image.Image) -> Image.Image:
    """The same with its most frequent colours, which stay as they are; Pillow's own ways move the grounds a little."""
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
