"""``dynkube demo``: the story holds, and a step that does not is shown and fails it."""

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
from dynkube.testing import APIServer

Told = tuple[bool, str]


async def told(story: Sequence[DemoStep] = STORY) -> Told:
    console = Console(file=StringIO(), width=200)
    async with APIServer() as server:
        held = await tell(server, console, story)
    assert isinstance(console.file, StringIO)
    return held, console.file.getvalue()


def with_act(title: str, act: Act) -> list[DemoStep]:
    """The story, with one step doing something else than it should."""
    assert any(step.title == title for step in STORY)
    return [replace(step, act=act) if step.title == title else step for step in STORY]


async def nothing(client: Client, routes: Informer) -> None:
    """Forgets to do what the step is about."""


async def test_the_whole_story_holds() -> None:
    held, text = await told()

    assert held
    assert "FAILED" not in text
    assert text.endswith("All checks passed.\n")
    for number, step in enumerate(STORY, 1):
        assert f"{number}. {step.title}\n" in text


async def test_it_tells_what_the_issue_is_about_in_this_order() -> None:
    _, text = await told()

    words = [line.split()[2] for line in text.splitlines() if line.split()[1:2] == ["s"]]
    assert words[0] in {"UNKNOWN", "ABSENT"}
    assert words[words.index("SYNCING") - 1] == "ABSENT"
    assert [word for word in words if word.isupper()][-6:] == ["ABSENT", "SYNCING", "LIVE", "ABSENT", "SYNCING", "LIVE"]
    assert (words.count("added"), words.count("updated"), words.count("deleted")) == (6, 1, 5)
    assert "most watches at once: 1 on CRDs, 1 on APIServices, 1 on HTTPRoutes" in text


async def test_a_pause_comes_before_each_step() -> None:
    began = trio.current_time()
    async with APIServer() as server:
        await tell(server, Console(file=StringIO()), STORY, pause=5)

    assert trio.current_time() - began == pytest.approx(5 * len(STORY), abs=1)


# All but the first, which claims what holds before it, too.
@pytest.mark.parametrize("step", STORY[1:], ids=lambda step: step.title)
async def test_a_step_that_does_nothing_where_something_is_claimed_fails(step: DemoStep) -> None:
    held, text = await told(with_act(step.title, nothing))

    assert not held
    assert "  FAILED  " in text
    assert text.endswith("checks failed: see FAILED.\n")


async def test_a_failure_says_what_was_expected_and_what_was_found_and_ends_the_story() -> None:
    held, text = await told(with_act("An object is deleted", nothing))

    assert not held
    assert "  FAILED  list: expected [api, web], found [api, docs, web]\n" in text
    assert "  FAILED  handler calls: expected [deleted default/docs], found []\n" in text
    assert "9. " not in text


async def test_an_error_is_a_failure_that_says_so() -> None:
    async def act(client: Client, routes: Informer) -> None:
        await client.resource("nosuch").get("x")

    held, text = await told(with_act("Objects are created", act))

    assert not held
    assert "FAILED  error: expected none, found NoMatch: the server does not serve 'nosuch'" in text


async def test_a_step_that_hangs_fails_after_a_while() -> None:
    async def act(client: Client, routes: Informer) -> None:
        await trio.sleep_forever()

    began = trio.current_time()
    held, _ = await told(with_act("An object is deleted", act))

    assert not held
    assert trio.current_time() - began == pytest.approx(10, abs=1)


async def test_a_second_watch_on_the_server_fails_the_step_in_which_it_is_opened() -> None:
    async def act(client: Client, routes: Informer) -> None:
        await _story.install(client, routes)
        second = client.informer(_story.ROUTES, label_selector="team=blue")
        await second.__aenter__()  # ends with the client
        await second.wait_state(LIVE)

    held, text = await told(with_act(STORY[1].title, act))

    assert not held
    assert (
        "FAILED  watches: expected 1 on CRDs, 0 on APIServices, 1 on HTTPRoutes, "
        "found 1 on CRDs, 0 on APIServices, 2 on HTTPRoutes" in text
    )


async def test_a_request_in_a_step_that_needs_none_fails() -> None:
    async def act(client: Client, routes: Informer) -> None:
        await _story.unfilter(client, routes)
        await client.server_version()

    held, text = await told(with_act("No filter", act))

    assert not held
    assert "FAILED  requests: expected 0, found 1" in text


async def test_an_event_too_many_fails_the_whole_story() -> None:
    async def act(client: Client, routes: Informer) -> None:
        await _story.reinstall(client, routes)
        await client.resource("httproutes").create(_story.route("surplus", team="a"))

    held, text = await told(with_act(STORY[-1].title, act))

    assert not held
    assert "surplus" in text


def test_the_python_that_is_shown_is_what_runs() -> None:
    assert source(_story.unfilter) == "routes.set_filter(None)"
    assert source(_story.uninstall).splitlines()[-1] == "await routes.wait_state(ABSENT)"
    assert "yield" not in source(_story.opening)
    assert source(_story.opening).startswith("async with (\n    connect(")


def test_where_there_is_no_source_none_is_shown() -> None:
    scope: dict[str, object] = {}
    exec(compile("def made(): pass", "no file", "exec"), scope)

    assert source(scope["made"]) == ""  # type: ignore[arg-type]  # it is a function


def test_the_story_begins_absent_and_ends_live() -> None:
    assert [STORY[0].phase, STORY[-1].phase] == [ABSENT, LIVE]
