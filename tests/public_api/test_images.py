"""The pictures in the documentation: each exists in light and dark, is used, sharp and small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PICTURES = sorted(path.name for path in (ROOT / "docs/images").glob("*.png"))
_PICTURE = re.compile(
    r'<picture>\n  <source media="\(prefers-color-scheme: dark\)" srcset="(?:docs/)?images/([\w-]+)-dark\.png">\n'
    r'  <img src="(?:docs/)?images/([\w-]+)-light\.png" width="720" alt="[^"]{20,}">\n</picture>'
)


def test_every_picture_is_used_in_light_and_dark_with_alternative_text() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)

    used = set(_PICTURE.findall(text))

    assert sorted(
        f"{name}-{theme}.png" for pair in used for name, theme in zip(pair, ("dark", "light"), strict=True)
    ) == (PICTURES)
    assert text.count("images/") == 2 * len(_PICTURE.findall(text))


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_the_common_width_and_a_small_file(name: str) -> None:
    path = ROOT / "docs/images" / name

    with Image.open(path) as picture:
        assert picture.width == 1440
    assert path.stat().st_size < 66_000
