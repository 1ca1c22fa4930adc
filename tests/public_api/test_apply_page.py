"""The examples in docs/apply.md: owners, extract, paths."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dynkube import Client, FieldPath
from dynkube_testing import APIServer
from tests.public_api.documents import python_blocks, run

PAGE = "docs/apply.md"
TEXT = (Path(__file__).parents[2] / PAGE).read_text(encoding="utf-8")
WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}


@pytest.fixture
async def shop(server: APIServer, client: Client) -> APIServer:
    """A cluster with a Deployment that a team applied, and an autoscaler scaled."""
    server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    server.apply(WEB, field_manager="team")
    scale = client.resource("deployments").subresource("scale")
    await scale.patch("web", {"spec": {"replicas": 3}}, namespace="shop", field_manager="autoscaler")
    return server


def blocks_with(text: str) -> list[str]:
    return [block for block in python_blocks(PAGE) if text in block]


async def test_the_table_of_owners_is_that_of_the_page(
    shop: APIServer, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = blocks_with("owners(web)")

    names = await run(first, {"client": client})
    table = capsys.readouterr().out
    await run(second, names)

    shown = re.search(r"^    FIELD .*?\n\n", TEXT.split("## Who owns what")[1], re.DOTALL | re.MULTILINE)
    assert shown is not None

    def without_times(text: str) -> list[list[str]]:
        return [re.sub(r"\d{4}-\S+Z", "TIME", line).split() for line in text.strip().splitlines()]

    assert without_times(table) == without_times(shown[0])


async def test_extracted_and_changed_fields_are_applied(shop: APIServer, client: Client) -> None:
    (block,) = blocks_with("extract(web")

    await run(block, {"client": client})

    live = shop.get("deployments", "web", "shop")
    assert live["spec"]["template"]["spec"]["containers"][0]["image"] == "web:2"
    assert live["spec"]["replicas"] == 3


async def test_paths_of_the_page_can_be_parsed(shop: APIServer, client: Client) -> None:
    (block,) = blocks_with("FieldPath.parse")
    web = await client.resource("deployments").get("web", namespace="shop")

    names = await run(block, {"client": client, "web": web})

    assert isinstance(image := names["image"], FieldPath)
    assert image.find(web) == "web:1"
    written = re.findall(r"^\| `(\.[^`]*)` \|", TEXT, re.MULTILINE)
    assert len(written) == 6
    for text in written:
        assert str(FieldPath.parse(text)) == text
