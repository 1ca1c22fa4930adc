"""The examples of docs/resources.md, on an embedded server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dynkube
import dynkube.errors
from dynkube_testing import APIServer, Refuse
from tests.public_api.documents import python_blocks, run

PAGE = "docs/resources.md"
READ, CHANGE, COUNT, CREATE, STATUS, ERRORS, RAW = python_blocks(PAGE)
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}


@pytest.fixture(autouse=True)
def shop(server: APIServer) -> None:
    server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    server.create(DEPLOYMENT)


async def test_the_examples_run_one_after_the_other(
    server: APIServer, client: dynkube.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    scope: dict[str, object] = {"client": client}
    for block in (READ, CHANGE, COUNT, CREATE, STATUS, ERRORS, RAW):
        scope = await run(block, scope)

    assert server.get("configmaps", "settings", "shop")["data"] == {"colour": "blue", "size": "10", "count": "1"}
    assert capsys.readouterr().out.splitlines() == [
        "web {'app': 'web'} 2 0",
        "['web:1']",
        "shop web",
        "1",
        "1",
        "404 NotFound",
        f"200 DeploymentList {await client.server_version()}",
    ]


async def test_the_loop_repeats_an_update_after_conflicts(server: APIServer, client: dynkube.Client) -> None:
    scope = await run(COUNT, await run(CHANGE, {"client": client}))
    server.inject(Refuse(409), verb="update", resource="configmaps", times=4)

    await scope["count_up"](client.resource("configmaps"), "settings", "shop")  # type: ignore[operator]

    assert server.get("configmaps", "settings", "shop")["data"]["count"] == "2"


async def test_the_errors_of_the_page_exist() -> None:
    table = Path(__file__).parents[2].joinpath(PAGE).read_text(encoding="utf-8").partition("## Errors")[2]
    names = set(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE))

    found = {name for cell in names for name in re.findall(r"`(\w+)`", cell)}
    assert len(found) > 15
    assert {name for name in found if not hasattr(dynkube.errors, name)} == set()
