"""Requests to a real API server, around the proxy and without dynkube, so that it is not asked about itself."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
import msgspec
import trio

from benchmarks.soak.resources import JSONObject
from dynkube.errors import APIError, Status
from dynkube.rest._transport import PoolTransport
from dynkube.testing import Endpoint


class API:
    """One API server over HTTP; what it refuses is raised as :class:`~dynkube.errors.APIError`."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def ask(
        self, method: str, path: str, body: JSONObject | None = None, *, params: dict[str, str] | None = None
    ) -> JSONObject:
        """The answer's body."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        content = None if body is None else msgspec.json.encode(body)
        answer = await self._http.request(
            method, path, content=content, params=params, headers={"Content-Type": kind, "Accept": "application/json"}
        )
        if answer.status_code >= 300:
            raise _error_of(answer)
        decoded: JSONObject = msgspec.json.decode(answer.content)
        return decoded

    async def surely(
        self, method: str, path: str, body: JSONObject | None = None, *, params: dict[str, str] | None = None
    ) -> JSONObject:
        """The same, asked again until somebody answers; so it may have been done by an earlier attempt."""
        while True:
            try:
                return await self.ask(method, path, body, params=params)
            except httpx2.HTTPError:
                await trio.sleep(0.5)

    async def until(self, path: str, params: dict[str, str], holds: Callable[[str, JSONObject], bool]) -> None:
        """Watch ``path`` until an event, given by its type and object, is what is waited for.

        Raises:
            APIError: the watch is refused.
        """
        while True:
            try:
                async with self._http.stream("GET", path, params={**params, "watch": "1"}) as answer:
                    if answer.status_code >= 300:
                        await answer.aread()
                        raise _error_of(answer)
                    async with aclosing(_lines(answer)) as lines:
                        async for line in lines:
                            event = msgspec.json.decode(line)
                            if holds(event["type"], event["object"]):
                                return
            except httpx2.HTTPError:
                await trio.sleep(0.5)


async def _lines(answer: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """The lines of an answer without content coding; ``aiter_lines()``, left early, leaves generators behind."""
    rest = b""
    chunks = aiter(answer.stream)  # type: ignore[arg-type]  # typed for the sync half as well
    assert isinstance(chunks, AsyncGenerator)
    async with aclosing(chunks):
        async for chunk in chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line


def _error_of(answer: httpx2.Response) -> APIError:
    try:
        decoded = msgspec.json.decode(answer.content)
    except msgspec.DecodeError:  # plain text: "404 page not found"
        decoded = {"message": answer.text}
    reason, message = decoded.get("reason", ""), decoded.get("message", "")
    return APIError.from_status(Status(code=answer.status_code, reason=reason, message=message))


@asynccontextmanager
async def open_api(endpoint: Endpoint) -> AsyncIterator[API]:
    """Connections to an API server, as the user of ``endpoint``, who has a certificate."""
    context = ssl.create_default_context(cadata=(endpoint.ca_pem or b"").decode())
    with TemporaryDirectory() as folder:
        paths = Path(folder, "certificate.pem"), Path(folder, "key.pem")
        for path, content in zip(paths, (endpoint.certificate_pem, endpoint.key_pem), strict=True):
            path.write_bytes(content or b"")
        context.load_cert_chain(*paths)
    # Streams of httpx2's own transport leave something behind when they are closed before their end.
    transport = PoolTransport(ssl_context=context, proxy_url=None, max_connections=None, keepalive=60, http2=False)
    headers = {"Accept-Encoding": "identity"}
    async with httpx2.AsyncClient(base_url=endpoint.url, transport=transport, headers=headers, timeout=60.0) as http:
        yield API(http)
