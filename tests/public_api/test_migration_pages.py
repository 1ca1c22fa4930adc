"""The programs of docs/from-controller-runtime.md and docs/from-kopf.md."""

from __future__ import annotations

from typing import Any

import pytest

import dynkube
from dynkube_testing import APIServer
from tests.controllers.kit import quiet, running
from tests.informers.kit import crd
from tests.public_api.documents import python_blocks, run


@pytest.fixture(autouse=True)
def websites(server: APIServer) -> None:
    definition = crd("websites")
    definition["spec"]["versions"][0]["subresources"] = {"status": {}}
    server.create(definition)
    for name, theme in (("shop", "dark"), ("blog", "pink")):
        site = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": name}}
        server.create({**site, "spec": {"theme": theme}})


async def test_the_controller_in_place_of_one_of_controller_runtime(server: APIServer, client: dynkube.Client) -> None:
    (program,) = python_blocks("docs/from-controller-runtime.md")
    scope: dict[str, Any] = await run(program, {})
    async with running(client, scope["websites"]):
        await quiet(1)

    settings = server.get("configmaps", "shop")
    assert settings["data"] == {"theme": "dark"}
    assert settings["metadata"]["ownerReferences"][0]["name"] == "shop"


async def test_the_controller_in_place_of_a_kopf_operator(server: APIServer, client: dynkube.Client) -> None:
    _, program = python_blocks("docs/from-kopf.md")
    scope: dict[str, Any] = await run(program, {})
    async with running(client, scope["websites"]):
        await quiet(1)
        failures = {failure.key.name: failure.error for failure in scope["websites"].status().failures}

    assert server.get("websites", "shop")["status"] == {"theme": "dark"}
    assert failures == {"blog": "Terminal: no such theme"}


async def test_the_kopf_operator_of_the_page_registers_handlers() -> None:
    operator, _ = python_blocks("docs/from-kopf.md")

    assert callable((await run(operator, {}))["changed"])
