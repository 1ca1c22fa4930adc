"""Notebooks that are not running: saved, untrusted, and on pages without scripts or styles."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from dynkube import Unstructured
from tests.display.kit import POD
from tests.notebook.browser.contrast import faint
from tests.notebook.browser.lab import ROOT, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = [pytest.mark.real_time, pytest.mark.browser, pytest.mark.timeout(180)]


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """Pages that run no scripts."""
    context = chromium.new_context(java_script_enabled=False)
    yield context
    context.close()


def without_styles(html: str) -> str:
    """Return the HTML as JupyterLab displays it if untrusted."""
    return re.sub(r"(?s)<style>.*?</style>", "", html)


def without_attributes(html: str) -> str:
    """Return the HTML as GitHub displays it."""
    return re.sub(r' (style|class)="[^"]*"', "", without_styles(html))


@pytest.mark.parametrize(
    ("cleaned", "expected"),
    [
        pytest.param(str, (False, False, True), id="as it is"),
        pytest.param(without_styles, (True, False, False), id="not trusted"),
        pytest.param(without_attributes, (True, True, False), id="without attributes"),
    ],
)
def test_either_the_text_or_the_card_is_visible(
    context: BrowserContext, cleaned: Callable[[str], str], expected: tuple[bool, bool, bool]
) -> None:
    page = context.new_page()
    page.set_content(cleaned(Unstructured(POD)._repr_html_()))

    text = page.locator("pre", has_text="labels    app=web").first.is_visible()
    offered = page.get_by_text("the same, to unfold").is_visible()
    card = page.locator("table", has_text="labels").is_visible()
    folded = page.locator("pre", has_text="containers:").is_visible()

    assert (text, offered, card, folded) == (*expected, False)


def converted(page: Page, name: str, theme: str = "light") -> list[str]:
    """Open a notebook converted by nbconvert; return the errors of its scripts."""
    nbconvert = pytest.importorskip("nbconvert", reason="nbconvert is not installed: run 'make browser'")
    html, _ = nbconvert.HTMLExporter(theme=theme).from_filename(str(ROOT / "notebooks" / name))
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.route("**/*", lambda route: route.abort())  # it requests MathJax from a CDN
    page.set_content(html)
    return wrong


@pytest.mark.parametrize("scripts", [True, False])
def test_a_page_by_nbconvert_displays_tables_objects_and_live_tables(chromium: Browser, scripts: bool) -> None:
    context = chromium.new_context(java_script_enabled=scripts)
    page = context.new_page()

    wrong = converted(page, "02-lazy-informers.ipynb")

    assert page.locator(".dk-card td", has_text="checkout.example.com").is_visible()
    assert page.locator(".dk-card", has_text="HTTPRoute · shop/checkout").is_visible()
    assert page.get_by_text("httproutes.v1.gateway.networking.k8s.io · ABSENT").first.is_visible()
    assert page.locator(".dk-fallback:visible").count() == 0
    assert wrong == []
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["02-lazy-informers.ipynb", "04-server-side-apply.ipynb"])
def test_a_page_by_nbconvert_is_readable_in_either_theme(context: BrowserContext, name: str, theme: str) -> None:
    page = context.new_page()

    converted(page, name, theme)

    cards = page.locator(".dynkube")
    assert cards.count() > 1
    assert [text for card in cards.all() for text in faint(card)] == []


def test_a_saved_untrusted_notebook_displays_texts(notebook: Notebook) -> None:
    notebook.run("k.get('namespaces')")
    notebook.run("k.informer('namespaces').live()").locator(".dkl-row", has_text="kube-system").wait_for()
    notebook.save()
    document = json.loads(notebook.file.read_text(encoding="utf-8"))
    document["metadata"]["changed"] = "by somebody else"

    (notebook.file.parent / "sent.ipynb").write_text(json.dumps(document), encoding="utf-8")
    notebook.open("sent.ipynb")
    outputs = notebook.page.locator(".jp-OutputArea-output:visible", has_text="kube-system")

    listed, live = outputs.all_inner_texts()
    assert [line.split()[0] for line in listed.splitlines()] == [
        "v1",
        "NAME",
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system",
    ]
    assert live.startswith("namespaces.v1 · LIVE · Watching · 4 objects")
