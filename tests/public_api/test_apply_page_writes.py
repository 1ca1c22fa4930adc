"""The examples in docs/apply.md for writes: each section runs on its own cluster and prints what the page shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dynkube
from dynkube import Client, fields_of
from dynkube_testing import APIServer
from tests.public_api.documents import python_blocks, run

PAGE = "docs/apply.md"
TEXT = (Path(__file__).parents[2] / PAGE).read_text(encoding="utf-8")
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
IMAGE = '.spec.template.spec.containers[name="web"].image'


def section(heading: str) -> str:
    """Return the text below a heading, up to the next heading of any level."""
    return re.split(r"^##+ .*$", TEXT.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def shown(heading: str) -> list[str]:
    """Return the output that a section shows."""
    text = _BLOCK.sub("", section(heading))
    return [line[4:].rstrip() for line in text.splitlines() if line.startswith("    ")]


@pytest.fixture
async def play(server: APIServer, client: Client, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run the Python blocks of a section, after the page's common definitions."""
    connect = dynkube.connect
    monkeypatch.setattr(dynkube, "connect", lambda **options: connect(**{"transport": server.transport()} | options))
    common = await run(python_blocks(PAGE)[0], {})

    async def play(heading: str) -> None:
        for block in _BLOCK.findall(section(heading)):
            await run(block, {**common, "client": client})
            if heading.startswith("Giving") and "release" in block:
                server.delete("deployments", "web")

    return play


async def test_applying_prints_the_output_of_the_page(
    play: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    await play("Applying")

    assert capsys.readouterr().out.split() == " ".join(shown("Applying")).split()


def dateless(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "WHEN", text)


async def test_a_conflict_is_printed_as_on_the_page(
    play: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    await play("Conflicts")

    lines = capsys.readouterr().out.splitlines()
    assert [dateless(line) for line in lines if line][:-1] == [dateless(line) for line in shown("Conflicts") if line]
    assert lines[-1].startswith(f"{IMAGE} web:2 web:1 team-a Apply 20")


async def test_the_ownership_of_one_path_is_taken_over(
    server: APIServer, play: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    await play("Taking over")

    assert "team-b" in capsys.readouterr().out
    assert IMAGE not in fields_of(server.get("deployments", "web"), "team-a")


@pytest.mark.parametrize("heading", ["Differences", "Drift"])
async def test_differences_are_printed_as_on_the_page(
    play: Callable[..., Any], capsys: pytest.CaptureFixture[str], heading: str
) -> None:
    await play(heading)

    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == shown(heading)


async def test_fields_are_released_transferred_and_converted(
    server: APIServer, play: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    await play("Giving up, handing over, migrating")

    assert capsys.readouterr().out == "1\n"
    assert "replicas" not in str(fields_of(server.get("deployments", "web"), "my-tool"))


def test_every_block_of_the_page_is_run() -> None:
    here = ["Applying", "Conflicts", "Taking over", "Differences", "Drift", "Giving up, handing over, migrating"]
    elsewhere = ["Who owns what", "Extract, change, apply", "Paths"]  # test_apply_page.py
    elsewhere += ["Many at once", "Pruning", "Differences in CI"]  # test_apply_page_many.py

    headings = re.findall(r"^##+ (.*)$", TEXT, re.MULTILINE)

    assert [heading for heading in headings if _BLOCK.findall(section(heading))] == sorted(
        here + elsewhere, key=headings.index
    )
