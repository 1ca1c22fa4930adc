"""The stylesheets of notebook outputs recognize dark pages."""

from __future__ import annotations

from importlib.resources import files

import pytest

from dynkube._display.style import STYLESHEET

LIVE = (files("dynkube.notebook") / "static" / "live.css").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("body[data-jp-theme-light=false]", id="nbconvert --theme dark, which sets no color-scheme"),
        pytest.param("html[data-theme=dark]", id="sphinx"),
        pytest.param("body.vscode-dark", id="VS Code"),
    ],
)
@pytest.mark.parametrize(("css", "root"), [(STYLESHEET, ".dynkube"), (LIVE, ".dkl")])
def test_a_page_with_an_attribute_for_dark_gets_the_dark_colours(page: str, css: str, root: str) -> None:
    plain = "".join(css.replace('"', "").split())

    rule = next(rule for rule in plain.split("}") if rule.endswith("{color-scheme:dark;"))

    assert f"{page}{root}".replace(" ", "") in rule.removesuffix("{color-scheme:dark;").split(",")
