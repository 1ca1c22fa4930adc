"""The examples of docs/typed.md, on an embedded server, and the same in the other two APIs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import dynkube
import dynkube.aio
import dynkube.sync
from dynkube.errors import InvalidObject
from dynkube_testing import ServerThread, serve_in_thread
from tests.public_api.documents import python_blocks

pytestmark = pytest.mark.real_time

MODELS, READING, WRITING = python_blocks("docs/typed.md")


def execute(code: str, names: dict[str, Any]) -> None:
    # msgspec looks annotations up, which the future import of this module would make texts.
    exec(compile(code, "docs/typed.md", "exec", dont_inherit=True), names)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerThread]:
    """A cluster with the Deployment ``web`` in ``shop``, to which ``connect()`` connects."""
    connect = dynkube.sync.connect
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    with serve_in_thread() as cluster:
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
        cluster.create(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "web", "namespace": "shop"},
                "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
            }
        )
        monkeypatch.setattr(dynkube.sync, "connect", lambda: connect(url=cluster.url))
        yield cluster


@pytest.fixture
def names() -> dict[str, Any]:
    """The models of the page."""
    found: dict[str, Any] = {"__name__": "page"}
    execute(MODELS, found)
    return found


def test_an_object_is_read_as_a_model_and_applied(
    cluster: ServerThread, names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    execute(READING, names)
    execute(WRITING, names)

    assert capsys.readouterr().out == "web 2\n"
    assert [each.spec.replicas for each in names["every"]] == [2]
    with dynkube.sync.connect() as k:
        spec = k["deploy"].get("web", namespace="shop")["spec"]
    assert spec["minReadySeconds"] == 5
    assert spec["template"]["spec"]["containers"][0]["image"] == "web:1"


def test_the_error_names_the_object_and_the_field(cluster: ServerThread, names: dict[str, Any]) -> None:
    execute(MODELS.replace("replicas: int | None", "replicas: str | None"), names)

    with (
        dynkube.sync.connect() as k,
        pytest.raises(
            InvalidObject,
            match=r"<Deployment apps/v1 shop/web rv=\d+> is not a Deployment: "
            r"spec.replicas is a number, expected a string: put it in quotes",
        ),
    ):
        k["deploy"].get("web", namespace="shop").typed(names["Deployment"])


async def test_the_form_for_trio(cluster: ServerThread, names: dict[str, Any]) -> None:
    async with dynkube.connect(url=cluster.url) as client, client.informer("deployments.v1.apps") as informer:
        await informer.wait_synced()
        cached = informer.get("web", namespace="shop")
        assert cached is not None
        web = cached.typed(names["Deployment"])
        web.spec.replicas = 3
        applied = await client["deploy"].apply(web, field_manager="typed", force=True)

    assert applied["spec"]["replicas"] == 3


def test_the_form_for_asyncio(cluster: ServerThread, names: dict[str, Any]) -> None:
    async def main() -> Any:
        async with dynkube.aio.connect(url=cluster.url) as client:
            web = (await client["deploy"].get("web", namespace="shop")).typed(names["Deployment"])
            web.spec.replicas = 4
            return await client["deploy"].apply(web, field_manager="typed", force=True)

    assert asyncio.run(main())["spec"]["replicas"] == 4
