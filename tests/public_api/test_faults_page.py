"""docs/faults.md: its tests in a pytest of their own, and each line of its table on a server."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

import dynkube_testing
from dynkube_testing import APIServer, rewrites
from tests.informers.kit import crd
from tests.public_api.documents import python_blocks
from tests.public_api.test_testing_page import project  # noqa: F401 - a fixture

pytest_plugins = ["pytester"]

PAGE = "docs/faults.md"
TEXT = (Path(__file__).parents[2] / PAGE).read_text(encoding="utf-8")
CONFTEST = """
import pytest

@pytest.fixture
def anyio_backend(virtual_time_backend):
    return virtual_time_backend
"""


def lines() -> Iterator[str]:
    """Yield the calls in the page's table."""
    section = TEXT.split("## One line for each fault")[1].split("\n## ")[0]
    for row in section.splitlines():
        if row.startswith("| ") and "server." in row:
            for code in re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1]):
                if re.match(r"(await |\w+ = )?(server|outage|held)\.", code) or " = server." in code:
                    yield code


@pytest.mark.real_time
@pytest.mark.timeout(300)
def test_every_test_of_the_page_passes(project: pytest.Pytester) -> None:  # noqa: F811 - a fixture
    project.makeconftest(CONFTEST)
    blocks = python_blocks(PAGE)
    assert all(re.search(r"^(async )?def test_", block, re.MULTILINE) for block in blocks)
    project.makepyfile(**{f"test_block_{number}": block for number, block in enumerate(blocks)})

    result = project.runpytest_subprocess("-q", "-ra")

    result.assert_outcomes(passed=len(blocks))
    assert len(blocks) >= 8


async def test_every_call_in_the_table_works() -> None:
    async with APIServer(rbac=True) as server:
        server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        crd_body = crd(group="acme.example")
        server.create(crd_body)
        names = {name: getattr(dynkube_testing, name) for name in dir(dynkube_testing)}
        names |= {"server": server, "backup": server.snapshot(), "other_definition": crd_body}
        server.grant("alice", verbs=["list"], resource="pods")
        done = 0
        for line in lines():
            with trio.fail_after(60):
                await _write(line, names)
            done += 1

    assert done > 45


async def _write(line: str, names: dict[str, Any]) -> None:
    code = compile(line, "<table>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, names)
    if inspect.isawaitable(result):
        await result


def test_every_ready_made_rewrite_is_on_the_page() -> None:
    section = TEXT.split("`rewrites` has `drop")[1].split("###")[0]
    named = set(re.findall(r"`(\w+)", "`drop" + section))

    public = {
        name
        for name, value in vars(rewrites).items()
        if inspect.isfunction(value) and value.__module__ == rewrites.__name__ and not name.startswith("_")
    }
    assert named == public
