"""Client-side rate limiting, off by default."""

from __future__ import annotations

import httpx2
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from dynkube.errors import DeadlineExceeded, InvalidInput
from dynkube.rest import Limits
from dynkube.rest._messages import Request
from dynkube.rest._throttle import TokenBucket
from tests.rest.wire import MakeClient, Wire

GET = Request(method="GET", path="/api/v1/pods")


def ok(request: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(200)


def test_a_burst_is_sent_at_once_and_the_rest_at_the_rate() -> None:
    bucket = TokenBucket(qps=2, burst=3)

    assert [bucket.reserve(0.0) for _ in range(5)] == [0, 0, 0, 0.5, 1.0]
    assert bucket.reserve(10.0) == 0


@given(st.lists(st.floats(0, 3), min_size=1, max_size=60))
def test_no_interval_exceeds_burst_and_rate(gaps: list[float]) -> None:
    bucket = TokenBucket(qps=4, burst=3)
    now = 0.0
    turns = []
    for gap in gaps:
        now += gap
        turns.append(now + bucket.reserve(now))

    for first in range(len(turns)):
        for last in range(first, len(turns)):
            assert last - first + 1 <= 3 + 4 * (turns[last] - turns[first]) + 1e-6


def test_a_token_that_is_given_back_can_be_used_again() -> None:
    bucket = TokenBucket(qps=1, burst=1)
    bucket.reserve(0.0)
    bucket.reserve(0.0)
    bucket.give_back()

    assert bucket.reserve(0.0) == 1.0


def test_a_bucket_without_a_rate_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="qps"):
        TokenBucket(qps=0, burst=1)


async def test_requests_over_the_rate_wait_and_watches_do_not(make_client: MakeClient) -> None:
    client = make_client(Wire(ok), limits=Limits(qps=2, burst=1))

    for _ in range(3):
        await client.request(GET)
    assert trio.current_time() == 1.0

    async with client.stream(GET, watch=True):
        assert trio.current_time() == 1.0
    async with client.stream(GET, watch=False):
        assert trio.current_time() == 1.5


async def test_without_a_rate_nothing_waits(make_client: MakeClient) -> None:
    client = make_client(Wire(ok))

    for _ in range(100):
        await client.request(GET)

    assert trio.current_time() == 0


async def test_the_deadline_error_while_waiting_for_the_rate_names_the_setting(make_client: MakeClient) -> None:
    client = make_client(Wire(ok), limits=Limits(qps=0.1, burst=1), timeout=2)
    await client.request(GET)

    with pytest.raises(DeadlineExceeded, match=r"while waiting for the rate limit \(Limits\.qps\), 10 s"):
        await client.request(GET)


async def test_a_cancelled_wait_gives_its_token_back(make_client: MakeClient) -> None:
    client = make_client(Wire(ok), limits=Limits(qps=0.1, burst=1))
    await client.request(GET)

    with trio.move_on_after(1):
        await client.request(GET)
    await client.request(GET)

    assert trio.current_time() == 10
