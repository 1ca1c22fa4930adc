"""Comparing two servers: equal ones have no difference, and a different response or event is found."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.backends import EMBEDDED, Backend, open_backend
from tests.contract.cluster import APPLY, MERGE, Cluster
from tests.contract.differential.areas import data
from tests.contract.differential.known import KNOWN, OLDER
from tests.contract.differential.players import script_player, side_by_side
from tests.contract.differential.requests import Request, request

SCRIPT = (
    request("POST", "configmaps", {"metadata": {"name": "a"}, "data": {"k": "v"}}),
    request("PATCH", "configmaps/a", {"metadata": {"resourceVersion": "{rv}"}, "data": {"k": "w"}}, content_type=MERGE),
    request("GET", "configmaps", limit="1"),
)


@pytest.fixture(autouse=True)
def _counted() -> None:
    """Override the fixture that runs a test once for each backend, as only the embedded server is used here."""


@pytest.fixture
def embedded() -> Backend:
    with open_backend(EMBEDDED, None) as backend:
        return backend


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.mark.real_time
async def test_a_server_compared_with_itself_has_no_difference(embedded: Backend) -> None:
    async with side_by_side(embedded, data.SETUP) as both:
        assert await both.first_difference(SCRIPT) is None


@pytest.mark.real_time
async def test_a_different_response_is_found(embedded: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    async with side_by_side(embedded, data.SETUP) as both:
        _rewrite(monkeypatch, both.reference, "PATCH", {"data": {"k": "x"}})

        difference = await both.first_difference(SCRIPT)

    assert difference is not None
    assert difference.label == repr(SCRIPT[1])
    assert list(difference.script) == list(SCRIPT[:2])
    assert any(line.startswith("+") and '"x"' in line for line in difference.lines)


@pytest.mark.real_time
async def test_an_additional_event_is_found(embedded: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    async with side_by_side(embedded, data.SETUP) as both:
        secret = {"metadata": {"name": "more"}}
        original = both.reference.call

        async def call(method: str, path: str, **options: Any) -> Any:
            response = await original(method, path, **options)
            if method == "DELETE":
                await both.reference.create("secrets", secret)
            return response

        with monkeypatch.context() as patched:
            patched.setattr(type(both.reference), "call", _only_for(both.reference, call))

            difference = await both.first_difference([SCRIPT[0], request("DELETE", "configmaps/a")])

    assert difference is not None
    assert difference.label.startswith("watch ")


def _rewrite(monkeypatch: pytest.MonkeyPatch, side: Cluster, method: str, body: object) -> None:
    original = side.call

    async def call(sent: str, path: str, **options: Any) -> Any:
        return await original(sent, path, **{**options, **({"body": body} if sent == method else {})})

    monkeypatch.setattr(type(side), "call", _only_for(side, call))


def _only_for(side: Cluster, replacement: Any) -> Any:
    """Return a replacement for ``Cluster.call`` that affects one cluster; a slotted instance has no own methods."""
    original = type(side).call

    async def call(self: Cluster, method: str, path: str, **options: Any) -> Any:
        return await (replacement(method, path, **options) if self is side else original(self, method, path, **options))

    return call


@pytest.mark.parametrize(
    "sent",
    [
        request("GET", "pods"),
        request(
            "PATCH", "widgets.v2/a/status", {"status": {"a": None}}, content_type=APPLY, fieldManager="m", force="true"
        ),
        request("POST", "pods", '{"', user="ann", accept="application/yaml", dryRun="All"),
    ],
)
def test_the_repr_of_a_request_is_the_code_that_creates_it(sent: Request) -> None:
    assert eval(repr(sent), {"request": request, "MERGE": MERGE, "APPLY": APPLY}) == sent


def test_accepted_differences_have_unique_names_and_reasons() -> None:
    accepted = [*KNOWN, *OLDER]

    assert len({known.name for known in accepted}) == len(accepted)
    assert all(known.reason for known in accepted)


def test_a_synchronous_test_can_play_a_script(embedded: Backend) -> None:
    with script_player(embedded, data.SETUP) as play:
        assert play(SCRIPT) is None
