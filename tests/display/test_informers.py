"""Display of informers: state and reason, objects that pass the filter, and handlers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import trio

from dynkube import ABSENT, GVR, LIVE, Client, LabelFilter, Phase, State, Unstructured
from dynkube._display import card_of
from dynkube.informers import InformerStatuses
from dynkube_testing import APIServer
from tests.display.kit import NOW, Page, lines
from tests.display.specimens import SPECIMENS
from tests.informers.kit import WIDGETS, crd, quiet, widget


async def test_an_informer_displays_state_filter_and_counts(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("a", labels={"app": "web"}))
    server.create(widget("b"))
    async with client.informer(WIDGETS, filter=LabelFilter("app=web"), namespace="default") as widgets:
        await widgets.wait_state(LIVE)

        shown = lines(card_of(widgets, datetime.now(UTC)))

    assert shown[0] == f"informer · {WIDGETS} · default · LIVE"
    assert shown[1].startswith("state        Watching")
    assert shown[2] == "objects      1 of 2 pass the filter"
    assert shown[3] == "filter       LabelFilter('app=web')"
    assert shown[-1] == "+ objects  1"


async def test_an_absent_resource_is_not_displayed_as_an_error(server: APIServer, client: Client) -> None:
    async with client.informer("gadgets.v1.example.com") as gadgets:
        await gadgets.wait_state(ABSENT)

        shown = Page(card_of(gadgets, datetime.now(UTC)))

    assert shown.text(".dk-head") == "informer · gadgets.v1.example.com · all namespaces · ABSENT"
    assert "no CRD gadgets.example.com is installed" in shown.text()
    assert shown.text(".dk-note").startswith("This is not an error")
    assert not shown.all(".dk-bad")


async def test_handlers_display_backlog_and_errors(server: APIServer, client: Client) -> None:
    async def slow(obj: Unstructured) -> None:
        await trio.sleep(1000)

    def failing(obj: Unstructured) -> None:
        raise ValueError("no such thing")

    server.create(crd())
    for name in "abc":
        server.create(widget(name))
    async with client.informer(WIDGETS) as widgets:
        widgets.add_handler(on_add=slow, name="slow")
        widgets.add_handler(on_add=failing, on_error=lambda exc, event: None, name="failing")
        await widgets.wait_state(LIVE)
        await quiet()

        shown = Page(card_of(widgets, datetime.now(UTC)))

    assert shown.rows()[:3] == [
        ["HANDLER", "BACKLOG", "HANDLED", "SKIPPED", "ERRORS", "LAST ERROR"],
        ["slow", "2", "1", "0", "0", ""],
        ["failing", "0", "3", "0", "3", "ValueError: no such thing"],
    ]


async def test_the_informers_of_a_client_display_failures(server: APIServer, client: Client) -> None:
    server.fail(resource="pods", status=503)
    async with client.informer("pods.v1") as pods, client.informer("secrets.v1", namespace="shop"):
        await pods.wait_state(Phase.DEGRADED)
        await quiet()

        shown = Page(card_of(client.informers(), datetime.now(UTC)))

    assert [row[:5] for row in shown.rows()[1:]] == [
        ["pods.v1", "all", "", "DEGRADED", "ServiceUnavailable"],
        ["secrets.v1", "shop", "", "LIVE", "Watching"],
    ]
    assert shown.text(".dk-note").startswith("pods.v1: ServiceUnavailable: 503")


async def test_an_informer_that_was_not_entered_displays_that(client: Client) -> None:
    assert lines(card_of(client.informer("pods.v1"), datetime.now(UTC)))[:2] == [
        "informer · pods.v1 · all namespaces · STOPPED",
        "state    NotEntered · for 0s",
    ]


def test_a_state_is_one_line() -> None:
    state = State(Phase.DEGRADED, "Forbidden", "may not list pods", NOW - timedelta(minutes=5))

    assert lines(card_of(state, NOW)) == ["DEGRADED · Forbidden · may not list pods · for 5m"]
    assert Page(card_of(state, NOW)).all(".dk-chip.dk-bad") == ["DEGRADED"]


def test_of_many_informers_and_errors_the_first_are_displayed() -> None:
    one = SPECIMENS[InformerStatuses]()
    assert isinstance(one, InformerStatuses)

    named = replace(
        one[0], gvr=GVR.parse(WIDGETS), namespace="shop", label_selector="", field_selector="", state=State(LIVE)
    )
    page = Page(InformerStatuses([named] * 500)._repr_html_())

    assert len(page.rows()) == 101
    assert page.all(".dk-note")[0] == "100 of 500 shown: print() it for all"
    assert page.all(".dk-note")[-1] == "and 480 more with an error"


async def test_the_first_and_last_objects_by_name_are_displayed(server: APIServer, client: Client) -> None:
    server.create(crd())
    for number in range(30):
        server.create(widget(f"w{number:02}"))
    async with client.informer(WIDGETS, namespace="default") as widgets:
        await widgets.wait_synced()

        page = Page(card_of(widgets, datetime.now(UTC)))

    names = [row[0] for row in page.rows()[1:]]
    assert names == ["w00", "w01", "w02", "w03", "w04", "… 20 more …", "w25", "w26", "w27", "w28", "w29"]
