"""Paged collections: as one list, page by page, and after their resourceVersion has expired."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from dynkube.errors import DeadlineExceeded, Gone
from tests.client.wire import ScriptedServer, connect, error_response, pod, pods, stream


async def test_all_pages_of_a_list_have_one_resource_version() -> None:
    server = ScriptedServer(pods(9, pod("a"), token="t1"), pods(9, pod("b"), token="t2"), pods(9, pod("c")))

    listing = await connect(server).resource("pods").list(page_size=1, resource_version="5")

    assert [obj.name for obj in listing] == ["a", "b", "c"]
    assert (listing.resource_version, listing.continue_token, listing.kind) == ("9", "", "PodList")
    assert server.request_lines == [
        "GET /api/v1/pods rv=5 limit=1",
        "GET /api/v1/pods limit=1 continue=t1",
        "GET /api/v1/pods limit=1 continue=t2",
    ]


@pytest.mark.scenario("F16", "F20")
async def test_a_list_whose_token_expires_is_read_again_in_one_response() -> None:
    server = ScriptedServer(
        pods(9, pod("a"), token="t1"), error_response(410, "Expired"), pods(20, pod("a"), pod("b"), pod("c"))
    )

    listing = await connect(server).resource("pods").list(page_size=1)

    assert ([obj.name for obj in listing], listing.resource_version) == (["a", "b", "c"], "20")
    assert server.request_lines[2] == "GET /api/v1/pods"


async def test_a_version_that_is_too_old_raises_gone_and_is_not_requested_again() -> None:
    server = ScriptedServer(error_response(410, "Expired"))

    with pytest.raises(Gone):
        await connect(server).resource("pods").list(resource_version="1", resource_version_match="Exact")

    assert len(server.requests) == 1


async def test_a_limit_reads_one_page_and_its_token_the_next() -> None:
    server = ScriptedServer(pods(9, pod("a"), token="t1", remaining=1), pods(9, pod("b")))
    resource = connect(server).resource("pods")

    first = await resource.list(limit=1)
    second = await resource.list(limit=1, continue_token=first.continue_token)

    assert (first.remaining_item_count, [obj.name for obj in second]) == (1, ["b"])


async def test_a_token_that_has_expired_raises_gone() -> None:
    with pytest.raises(Gone):
        await connect(ScriptedServer(error_response(410, "Expired"))).resource("pods").list(continue_token="old")


async def test_the_timeout_of_a_list_covers_all_its_pages() -> None:
    def slowly(token: str) -> Any:
        return stream(15.0, pods(9, pod("a"), token=token).content)

    server = ScriptedServer(slowly("a"), slowly("b"), slowly("c"))

    with pytest.raises(DeadlineExceeded, match="not everything was listed within 40 s"):
        await connect(server).resource("pods").list(timeout=40)

    assert trio.current_time() == 40


async def test_iterating_requests_a_page_when_it_is_needed() -> None:
    server = ScriptedServer(pods(9, pod("a"), pod("b"), token="t1"), pods(9, pod("c")))
    received: list[tuple[str, int]] = []

    async for obj in connect(server).resource("pods").iterate(page_size=2):
        received.append((obj.name, len(server.requests)))  # noqa: PERF401  # the count is taken in the loop

    assert received == [("a", 1), ("b", 1), ("c", 2)]


async def test_iterating_may_stop_early() -> None:
    server = ScriptedServer(pods(9, pod("a"), token="t1"))

    async for _ in connect(server).resource("pods").iterate(page_size=1):
        break

    assert len(server.requests) == 1


@pytest.mark.parametrize("allow_inconsistent", [False, True])
async def test_iterating_raises_gone_with_a_hint_after_a_compaction(allow_inconsistent: bool) -> None:
    server = ScriptedServer(pods(9, pod("a"), token="t1"), error_response(410, "Expired"))
    objects = connect(server).resource("pods").iterate(page_size=1, allow_inconsistent=allow_inconsistent)
    await anext(objects)

    with pytest.raises(Gone) as caught:
        await anext(objects)

    assert "allow_inconsistent=True" in "\n".join(caught.value.__notes__)
