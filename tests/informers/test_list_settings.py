"""How an informer lists: settings of the client and of one informer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
import trio

import dynkube
from dynkube import LIVE, Client
from dynkube.errors import InvalidInput
from dynkube_testing import APIServer, Refuse
from tests.informers.kit import WIDGETS, crd, quiet, widget


@pytest.fixture(autouse=True)
def six_widgets(server: APIServer) -> None:
    server.create(crd())
    for number in range(6):
        server.create(widget(f"w{number}"))


@pytest.fixture
async def lister(server: APIServer) -> AsyncIterator[Client]:
    """A client that uses lists instead of streaming lists."""
    settings = dynkube.InformerSettings(random=Random(7), streaming_lists=False, page_size=4)
    async with dynkube.connect(transport=server.transport(), settings=settings) as client:
        yield client


def list_params(server: APIServer, verb: str = "list") -> list[dict[str, str]]:
    """Return the parameters of requests for widgets, without the continue tokens."""
    requests = [r for r in server.requests if r.verb == verb and r.resource and r.resource.resource == "widgets"]
    return [{name: "..." if name == "continue" else value for name, value in r.params.items()} for r in requests]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [{"resourceVersion": "0", "limit": "4"}]),
        ({"consistency": "any", "page_size": 9}, [{"resourceVersion": "0", "limit": "9"}]),
        ({"consistency": "most_recent"}, [{"limit": "4"}, {"limit": "4", "continue": "..."}]),
        ({"consistency": "most_recent", "page_size": 2}, [{"limit": "2"}, *[{"limit": "2", "continue": "..."}] * 2]),
        ({"streaming_lists": True}, []),
    ],
    ids=repr,
)
async def test_an_informer_lists_according_to_its_settings(
    server: APIServer, lister: Client, given: dict[str, Any], expected: list[dict[str, str]]
) -> None:
    async with lister.informer(WIDGETS, **given) as widgets:
        await widgets.wait_state(LIVE)

        assert len(widgets) == 6
        assert list_params(server) == expected


async def test_informers_inherit_the_settings_of_their_client(server: APIServer) -> None:
    settings = dynkube.InformerSettings(random=Random(7), streaming_lists=False, consistency="most_recent", page_size=5)
    connection = dynkube.connect(transport=server.transport(), settings=settings)
    async with connection as client, client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)

        assert list_params(server) == [{"limit": "5"}, {"limit": "5", "continue": "..."}]


async def test_lists_after_failures_are_also_of_the_most_recent_state(server: APIServer, lister: Client) -> None:
    async with lister.informer(WIDGETS, consistency="most_recent", page_size=10) as widgets:
        await widgets.wait_state(LIVE)
        await trio.sleep(70)  # the first bookmark was received

        server.inject(Refuse(410), verb="watch", resource="widgets", times=1)
        server.end_watches("widgets", how="clean")
        server.create(widget("new"))
        await trio.sleep(10)

        assert len(widgets) == 7
        assert list_params(server) == [{"limit": "10"}] * 2


async def test_informers_share_a_cache_only_if_they_list_in_the_same_way(server: APIServer, lister: Client) -> None:
    async with (
        lister.informer(WIDGETS),
        lister.informer(WIDGETS, page_size=4, consistency="any", streaming_lists=False),
        lister.informer(WIDGETS, page_size=2),
        lister.informer(WIDGETS, page_size=2),
        lister.informer(WIDGETS, consistency="most_recent"),
    ):
        await quiet()

        assert sorted(status.users for status in lister.informers()) == [1, 2, 2]
        assert len(list_params(server, "watch")) == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"page_size": 0}, "page_size must be a positive number, not 0"),
        ({"page_size": "500"}, "page_size must be a positive number, not '500'"),
        ({"consistency": "strong"}, "consistency must be one of any, most_recent, not 'strong'"),
    ],
    ids=repr,
)
async def test_an_invalid_setting_is_rejected_at_once(client: Client, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        client.informer(WIDGETS, **given)
    with pytest.raises(InvalidInput, match=message):
        dynkube.InformerSettings(**given)
