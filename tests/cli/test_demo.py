"""``dynkube demo``: all checks of its steps pass, and a failing check is printed and fails the demo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import StringIO

import pytest
import trio
from rich.console import Console

from dynkube import ABSENT, LIVE, Client, Informer
from dynkube.cli import _story
from dynkube.cli._demo import tell
from dynkube.cli._story import STORY, Act, DemoStep, source
from dynkube_testing import APIServer

Result = tuple[bool, str]


async def run_demo(story: Sequence[DemoStep] = STORY) -> Result:
    console = Console(file=StringIO(), width=200)
    async with APIServer() as server:
        held = await tell(server, console, story)
    assert isinstance(console.file, StringIO)
    return held, console.file.getvalue()


def with_act(title: str, act: Act) -> list[DemoStep]:
    """Return the steps of the demo, with another action for one of them."""
    assert any(step.title == title for step in STORY)
    return [replace(step, act=act) if step.title == title else step for step in STORY]


async def nothing(client: Client, routes: Informer) -> None:
    """Do nothing instead of the action of a step."""


async def test_all_checks_of_the_demo_pass() -> None:
    held, text = await run_demo()

    assert held
    assert "FAILED" not in text
    assert text.endswith("All checks passed.\n")
    for number, step in enumerate(STORY, 1):
        assert f"{number}. {step.title}\n" in text


async def test_states_and_events_are_printed_in_order() -> None:
    _, text = await run_demo()

    events = [line.split()[2] for line in text.splitlines() if line.split()[1:2] == ["s"]]
    assert events[0] in {"UNKNOWN", "ABSENT"}
    assert events[events.index("SYNCING") - 1] == "ABSENT"
    assert [event for event in events if event.isupper()][-6:] == [
        "ABSENT",
        "SYNCING",
        "LIVE",
        "ABSENT",
        "SYNCING",
        "LIVE",
    ]
    assert (events.count("added"), events.count("updated"), events.count("deleted")) == (6, 1, 5)
    assert "most watches at once: 1 on CRDs, 1 on APIServices, 1 on HTTPRoutes" in text


async def test_the_demo_pauses_before_each_step() -> None:
    began = trio.current_time()
    async with APIServer() as server:
        await tell(server, Console(file=StringIO()), STORY, pause=5)

    assert trio.current_time() - began == pytest.approx(5 * len(STORY), abs=1)


# All but the first, whose checks also hold before it.
@pytest.mark.parametrize("step", STORY[1:], ids=lambda step: step.title)
async def test_a_step_that_does_nothing_fails_its_checks(step: DemoStep) -> None:
    held, text = await run_demo(with_act(step.title, nothing))

    assert not held
    assert "  FAILED  " in text
    assert text.endswith("checks failed: see FAILED.\n")


async def test_a_failure_prints_expected_and_found_values_and_ends_the_demo() -> None:
    held, text = await run_demo(with_act("An object is deleted", nothing))

    assert not held
    assert "  FAILED  list: expected [api, web], found [api, docs, web]\n" in text
    assert "  FAILED  handler calls: expected [deleted default/docs], found []\n" in text
    assert "9. " not in text


async def test_an_exception_in_a_step_is_a_failure() -> None:
    async def act(client: Client, routes: Informer) -> None:
        await client.resource("nosuch").get("x")

    held, text = await run_demo(with_act("Objects are created", act))

    assert not held
    assert "FAILED  error: expected none, found NoMatch: the server does not serve 'nosuch'" in text


async def test_a_step_that_hangs_fails_after_a_timeout() -> None:
    async def act(client: Client, routes: Informer) -> None:
        await trio.sleep_forever()

    began = trio.current_time()
    held, _ = await run_demo(with_act("An object is deleted", act))

    assert not held
    assert trio.current_time() - began == pytest.approx(10, abs=1)


async def test_a_second_watch_on_the_server_fails_its_step() -> None:
    async def act(client: Client, routes: Informer) -> None:
        await _story.install(client, routes)
        second = client.informer(_story.ROUTES, label_selector="team=blue")
        await second.__aenter__()  # exited by the client
        await second.wait_state(LIVE)

    held, text = await run_demo(with_act(STORY[1].title, act))

    assert not held
    assert (
        "FAILED  watches: expected 1 on CRDs, 0 on APIServices, 1 on HTTPRoutes, "
        "found 1 on CRDs, 0 on APIServices, 2 on HTTPRoutes" in text
    )


async def test_an_unexpected_request_fails_its_step() -> None:
    async def act(client: Client, routes: Informer) -> None:
        await _story.unfilter(client, routes)
        await client.server_version()

    held, text = await run_demo(with_act("No filter", act))

    assert not held
    assert "FAILED  requests: expected 0, found 1" in text


async def test_an_unexpected_event_fails_the_demo() -> None:
    async def act(client: Client, routes: Informer) -> None:
        await _story.reinstall(client, routes)
        await client.resource("httproutes").create(_story.route("surplus", team="a"))

    held, text = await run_demo(with_act(STORY[-1].title, act))

    assert not held
    assert "surplus" in text


def test_the_printed_code_is_the_source_of_the_step() -> None:
    assert source(_story.unfilter) == "routes.set_filter(None)"
    assert source(_story.uninstall).splitlines()[-1] == "await routes.wait_state(ABSENT)"
    assert "yield" not in source(_story.opening)
    assert source(_story.opening).startswith("async with (\n    connect(")


def test_without_source_no_code_is_printed() -> None:
    scope: dict[str, object] = {}
    exec(compile("def made(): pass", "no file", "exec"), scope)

    assert source(scope["made"]) == ""  # type: ignore[arg-type]  # it is a function


def test_the_demo_begins_absent_and_ends_live() -> None:
    assert [STORY[0].phase, STORY[-1].phase] == [ABSENT, LIVE]
