"""Cards on a narrow page: only tables and YAML may be wider, and those scroll separately."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from dynkube import Unstructured
from dynkube.errors import ApplyConflict, FieldConflict, Status
from dynkube.informers import Informer
from dynkube.notebook._columns import columns_for
from dynkube.notebook._details import details_of
from dynkube.notebook._messages import table_message
from dynkube.notebook._picture import Head, Painter, Picture, headings
from tests.display.kit import POD
from tests.notebook.browser.table_page import TablePage
from tests.notebook.kit import row

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.real_time, pytest.mark.browser]

LONG = "AWordThatIsMuchLongerThanAnyPhoneIsWideAndHasNoPlaceToBreakIt"
CONDITIONS = [{"type": "Ready", "status": "False", "reason": LONG}, {"type": LONG, "status": "True"}]
PATH = '.spec.template.spec.containers[name="web"].image'

WIDER = """selector => [...document.querySelectorAll(selector)]
    .filter(each => each.getBoundingClientRect().right > innerWidth || each.scrollWidth > each.clientWidth + 1)
    .map(each => each.textContent)"""


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    page = chromium.new_page(viewport={"width": 320, "height": 800})
    yield page
    page.close()


def named(name: str) -> Any:
    metadata = {"name": name, "namespace": name, "labels": {"app": name}}
    return Unstructured({**POD, "metadata": metadata, "status": {"conditions": CONDITIONS}})


def informer() -> Any:
    return Informer(lambda: None, "httproutes.v1.gateway.networking.k8s.io", label_selector=f"app={LONG}")  # type: ignore[arg-type,return-value]  # never started


def conflict() -> Any:
    one = FieldConflict(path=PATH, manager="kubectl", ours="web:1", live="web:2")
    request = "PATCH /apis/apps/v1/namespaces/shop/deployments/web"
    return ApplyConflict(Status(code=409, reason="Conflict"), request=request, conflicts=[one])


@pytest.mark.parametrize(
    "thing", [named("web"), named(LONG), informer(), conflict()], ids=["object", "long names", "informer", "conflict"]
)
def test_everything_except_tables_and_yaml_fits_the_page(page: Page, thing: Any) -> None:
    page.set_content(thing._repr_html_())

    assert page.evaluate(WIDER, ".dk-head, .dk-chip, .dk-facts, .dk-note, li, summary") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_short_labels_are_side_by_side_on_one_line(page: Page) -> None:
    page.set_content(Unstructured(POD)._repr_html_())

    first, second = (page.locator(".dk-chip").nth(place).bounding_box() for place in (0, 1))

    assert first is not None
    assert second is not None
    assert first["y"] == second["y"]
    assert first["height"] < 25


def test_details_of_a_live_table_fit_the_page_when_the_table_is_scrolled(
    chromium: Browser,
) -> None:
    table_page = TablePage(chromium)
    table_page.page.set_viewport_size({"width": 320, "height": 800})
    painter, objects = Painter(), [named(LONG), named("web")]
    columns = columns_for((), {})
    rows = tuple(painter.rows([row(each) for each in objects], columns))
    table_page.send(table_message(Picture(Head(title="pods.v1", phase="LIVE"), headings(columns, rows, 2), rows)), 1)

    table_page.page.locator("tbody button").first.click()
    blocks = details_of(objects[0], datetime.now(UTC))
    table_page.send({"kind": "details", "id": table_page.take_sent()[0]["id"], "version": "1", "blocks": blocks}, 2)
    table_page.page.evaluate("document.querySelector('.dkl-scroll').scrollLeft = 80")

    assert table_page.page.locator(".dkl-details .dkl-chip").count() == 2
    assert table_page.page.evaluate(WIDER, ".dkl-details, .dkl-details .dkl-chip, .dkl-facts") == []
    assert table_page.page.evaluate("document.querySelector('.dkl-details').getBoundingClientRect().left") > 20
