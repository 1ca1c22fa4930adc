"""OpenAPI documents are built on request, in steps, and cached until their kinds change."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import httpx2
import pytest
import trio

from dynkube_testing import APIServer
from dynkube_testing._kinds.builtin import builtin_kinds
from dynkube_testing._kinds.kinds import Registry
from dynkube_testing._wire.discovery import Discovery
from dynkube_testing._wire.openapi.v2 import JSON, PROTOBUF, DocumentV2, ValueForm
from dynkube_testing._wire.openapi.v3 import DocumentsV3
from tests.testing.wire.openapi.widgets import CRD, kind_of


@pytest.fixture
def registry() -> Registry:
    return Registry(builtin_kinds())


def test_only_the_documents_of_changed_kinds_are_built_again(registry: Registry) -> None:
    documents = DocumentsV3(Discovery(registry), "1.36")
    widgets, apps = documents.document("apis/acme.example/v1"), documents.document("apis/apps/v1")
    registry.add(kind_of({"type": "object"}))
    first = documents.document("apis/acme.example/v1")
    registry.add(replace(kind_of({"type": "object"}), short_names=("w",)))
    second = documents.document("apis/acme.example/v1")

    assert widgets is None
    assert documents.document("apis/apps/v1") is apps
    assert first is not second
    assert documents.document("apis/acme.example/v1") is second


@pytest.mark.parametrize("form", [JSON, PROTOBUF])
async def test_the_v2_document_is_built_again_only_after_a_change(registry: Registry, form: ValueForm) -> None:
    document = DocumentV2(Discovery(registry), "1.36")

    before = await document.published(form)
    again = await document.published(form)
    registry.add(kind_of({"type": "object"}))
    changed = await document.published(form)

    assert again is before
    assert changed.digest != before.digest
    assert b"example.acme.v1.Widget" in changed.body


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3"])
async def test_other_tasks_run_while_documents_are_built(client: httpx2.AsyncClient, path: str) -> None:
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take_turns)
        await client.get(path)
        nursery.cancel_scope.cancel()

    assert turns > 30  # about one per document; a short response takes five


async def test_concurrent_requests_get_the_same_document(server: APIServer, client: httpx2.AsyncClient) -> None:
    tags: list[str] = []

    async def request() -> None:
        tags.append((await client.get("/openapi/v2")).headers["etag"])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(request)
        nursery.start_soon(request)
        server.create(deepcopy(CRD))

    assert len(set(tags)) == 1
