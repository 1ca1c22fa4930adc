"""A plugin that prompts for a login has its own timeout; the request's deadline is extended by that time."""

from __future__ import annotations

import httpx2
import pytest
import trio

from dynkube.config import ClientConfig, Combined, Credential, CredentialTimeout
from dynkube.errors import DeadlineExceeded
from dynkube.rest._messages import Request
from tests.rest.wire import MakeClient, Wire, chunks, status

GET = Request(method="GET", path="/api/v1/pods")
SOON = Request(method="GET", path="/api/v1/pods", timeout=5)


class Slow:
    """A slow credential source with its own timeout."""

    def __init__(self, seconds: float, credential_timeout: CredentialTimeout | None) -> None:
        self._seconds = seconds
        if credential_timeout is not None:
            self.credential_timeout = credential_timeout

    async def current(self) -> Credential:
        await trio.sleep(self._seconds)
        return Credential({"Authorization": "Bearer t"})

    async def refresh(self, rejected: Credential) -> Credential:
        return await self.current()


def config(seconds: float, credential_timeout: CredentialTimeout | None) -> ClientConfig:
    return ClientConfig(server="https://api.example", credentials=Slow(seconds, credential_timeout))


@pytest.mark.parametrize(
    ("request_", "credential_timeout"),
    [
        (GET, CredentialTimeout(300, interactive=True)),
        (SOON, CredentialTimeout(300, interactive=True)),
        (GET, CredentialTimeout(300, interactive=False)),
    ],
    ids=["a prompt", "a prompt, and a short timeout", "a browser login"],
)
async def test_a_login_may_take_longer_than_the_timeout_of_the_request(
    make_client: MakeClient, request_: Request, credential_timeout: CredentialTimeout
) -> None:
    wire = Wire(httpx2.Response(200, content=chunks(b"{}")))

    response = await make_client(wire, config=config(200, credential_timeout)).request(request_)

    assert (response.body, trio.current_time()) == (b"{}", 200)


@pytest.mark.parametrize(
    ("request_", "credential_timeout", "ends"),
    [
        (SOON, CredentialTimeout(300, interactive=False), 5),  # the caller allows five seconds; not interactive
        (GET, None, 32),  # a source without a timeout
        (GET, CredentialTimeout(100, interactive=True), 132),  # a source that exceeds its own timeout
    ],
)
async def test_a_source_without_timeout_or_over_its_timeout_is_cancelled(
    make_client: MakeClient, request_: Request, credential_timeout: CredentialTimeout | None, ends: float
) -> None:
    with pytest.raises(DeadlineExceeded, match="while waiting for a credential"):
        await make_client(Wire(), config=config(10_000, credential_timeout)).request(request_)

    assert trio.current_time() == ends


async def test_after_the_login_the_request_has_its_full_timeout(make_client: MakeClient) -> None:
    async def silent(request: httpx2.Request) -> httpx2.Response:
        await trio.sleep_forever()
        raise AssertionError

    with pytest.raises(DeadlineExceeded, match=r"within 32 s, while waiting for .* to respond"):
        await make_client(Wire(silent), config=config(200, CredentialTimeout(300, interactive=True))).request(GET)

    assert trio.current_time() == 232


async def test_a_login_after_a_401_may_take_longer_as_well(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(401, content=status(401, "Unauthorized")), httpx2.Response(200, content=chunks(b"{}")))

    response = await make_client(wire, config=config(100, CredentialTimeout(300, interactive=True))).request(GET)

    assert (response.status, trio.current_time()) == (200, 200)


async def test_the_deadline_of_a_list_starts_after_the_login(make_client: MakeClient) -> None:
    client = make_client(
        Wire(httpx2.Response(200, content=chunks(b"{}"))), config=config(70, CredentialTimeout(300, interactive=True))
    )

    async with client.stream(Request(method="GET", path="/api/v1/pods", timeout=75), watch=False) as stream:
        assert stream.deadline == 70 + 75


def test_the_timeouts_of_two_sources_are_added() -> None:
    both = Combined(
        Slow(1, CredentialTimeout(60, interactive=False)), Slow(1, CredentialTimeout(300, interactive=True))
    )

    assert both.credential_timeout == (360, True)
    assert Combined(Slow(1, None), Slow(1, None)).credential_timeout == (0, False)
