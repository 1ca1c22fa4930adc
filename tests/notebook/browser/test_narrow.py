"""Cards on a narrow page: only tables and YAML are wider than it, and those can be scrolled by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from dynkube import Unstructured
from dynkube.errors import ApplyConflict, FieldConflict, Status
from dynkube.informers import Informer
from tests.display.kit import POD

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
    return Informer(lambda: None, "httproutes.v1.gateway.networking.k8s.io", label_selector=f"app={LONG}")  # type: ignore[arg-type,return-value]  # it asks for nothing


def conflict() -> Any:
    one = FieldConflict(path=PATH, manager="kubectl", ours="web:1", live="web:2")
    request = "PATCH /apis/apps/v1/namespaces/shop/deployments/web"
    return ApplyConflict(Status(code=409, reason="Conflict"), request=request, conflicts=[one])


@pytest.mark.parametrize(
    "thing", [named("web"), named(LONG), informer(), conflict()], ids=["object", "long names", "informer", "conflict"]
)
def test_what_is_no_table_and_no_yaml_is_within_the_page(page: Page, thing: Any) -> None:
    page.set_content(thing._repr_html_())

    assert page.evaluate(WIDER, ".dk-head, .dk-chip, .dk-facts, .dk-note, li, summary") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_label_that_fits_is_on_one_line_and_the_next_one_beside_it(page: Page) -> None:
    page.set_content(Unstructured(POD)._repr_html_())

    first, second = (page.locator(".dk-chip").nth(place).bounding_box() for place in (0, 1))

    assert first is not None
    assert second is not None
    assert first["y"] == second["y"]
    assert first["height"] < 25
