"""Untrusted notebooks: JupyterLab removes styles and scripts, and the remaining text is readable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from dynkube import Unstructured
from tests.display.kit import POD
from tests.display.specimens import SPECIMENS

# The elements that JupyterLab 4.6 keeps, of those used here, and the attributes that it keeps on all or on one of them.
KEPT = {"b", "details", "div", "li", "p", "pre", "span", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul"}
ATTRIBUTES = {"class", "style", "title", "hidden", "lang", "id"}
OF_ONE = {"details": {"open"}, "td": {"colspan", "rowspan"}, "th": {"colspan", "rowspan"}}
# These are removed with their contents; of other elements, only the tags are removed.
GONE = ["style", "script", "textarea", "option"]


def untrusted(html: str) -> LexborNode:
    """Return the page as JupyterLab displays it in an untrusted notebook."""
    tree = LexborHTMLParser(html)
    tree.strip_tags(GONE, recursive=True)
    body = tree.body
    assert body is not None
    for node in list(body.traverse())[1:]:
        if node.tag not in KEPT:
            node.unwrap()
            continue
        for name in set(node.attributes) - ATTRIBUTES - OF_ONE.get(str(node.tag), set()):
            del node.attrs[name]
    return body


def visible(body: LexborNode) -> list[LexborNode]:
    """Return the outermost elements that are visible without a stylesheet."""
    parts: list[LexborNode] = []
    for container in body.css(".dynkube"):
        parts += [node for node in container.iter() if node.attributes.get("style") != "display:none"]
    return parts


def test_an_object_is_displayed_as_plain_text() -> None:
    (fallback,) = visible(untrusted(Unstructured(POD)._repr_html_()))

    assert fallback.tag == "pre"
    assert fallback.text().splitlines()[1:] == [
        "labels    app=web, tier=front",
        "owned by  ReplicaSet/web",
        "PodScheduled=True  Ready=True",
        "+ spec  containers",
        "+ status  phase, conditions, containerStatuses",
        "+ metadata  uid, resourceVersion, creationTimestamp",
    ]


@pytest.mark.parametrize("make", SPECIMENS.values(), ids=[each.__name__ for each in SPECIMENS])
def test_everything_displayable_is_displayed_as_one_text(make: Callable[[], Any]) -> None:
    body = untrusted(make()._repr_html_())

    (fallback,) = visible(body)

    assert fallback.tag == "pre"
    assert "evil" in fallback.text()
    assert not body.css("style, script, svg, evil")


def test_without_style_attributes_the_page_is_collapsed_below_the_text() -> None:
    body = untrusted(Unstructured(POD)._repr_html_())
    for node in body.css("[style]"):
        del node.attrs["style"]

    (container,) = body.css(".dynkube")
    text, page = container.iter()

    assert (text.tag, page.tag, "open" in page.attributes) == ("pre", "details", False)
    assert page.css("summary")[0].text() == "the same, to unfold"


def test_every_css_rule_is_limited_to_its_class() -> None:
    style = LexborHTMLParser(Unstructured(POD)._repr_html_()).css_first("style")
    assert style is not None

    selectors = [rule.partition("{")[0] for rule in style.text().split("}") if rule.strip()]

    assert len(selectors) > 20
    assert [each for selector in selectors for each in selector.split(",") if ".dynkube" not in each] == []


def test_the_stylesheet_is_small() -> None:
    style = LexborHTMLParser(Unstructured(POD)._repr_html_()).css_first("style")

    assert style is not None
    assert 1000 < len(style.text()) < 5000
