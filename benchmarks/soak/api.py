"""A minimal client for a real API server, without the proxy, and independent of the library that is tested."""

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
from dynkube_testing import Endpoint


class API:
    """One API server over HTTP; error responses are raised as :class:`~dynkube.errors.APIError`."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def request(
        self, method: str, path: str, body: JSONObject | None = None, *, params: dict[str, str] | None = None
    ) -> JSONObject:
        """Send a request, and return the body of the response."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        content = None if body is None else msgspec.json.encode(body)
        response = await self._http.request(
            method, path, content=content, params=params, headers={"Content-Type": kind, "Accept": "application/json"}
        )
        if response.status_code >= 300:
            raise _error_of(response)
        decoded: JSONObject = msgspec.json.decode(response.content)
        return decoded

    async def request_until_done(
        self, method: str, path: str, body: JSONObject | None = None, *, params: dict[str, str] | None = None
    ) -> JSONObject:
        """Repeat a request until there is a response; an earlier attempt may have taken effect already."""
        while True:
            try:
                return await self.request(method, path, body, params=params)
            except httpx2.HTTPError:
                await trio.sleep(0.5)

    async def watch_until(self, path: str, params: dict[str, str], holds: Callable[[str, JSONObject], bool]) -> None:
        """Watch ``path`` until ``holds`` returns true for the type and the object of an event.

        Raises:
            APIError: the response to the watch is an error.
        """
        while True:
            try:
                async with self._http.stream("GET", path, params={**params, "watch": "1"}) as response:
                    if response.status_code >= 300:
                        await response.aread()
                        raise _error_of(response)
                    async with aclosing(_lines(response)) as lines:
                        async for line in lines:
                            event = msgspec.json.decode(line)
                            if holds(event["type"], event["object"]):
                                return
            except httpx2.HTTPError:
                await trio.sleep(0.5)


async def _lines(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """Yield the lines of a response without content coding; ``aiter_lines()`` does not close its generators."""
    rest = b""
    chunks = aiter(response.stream)  # type: ignore[arg-type]  # its type includes synchronous streams
    assert isinstance(chunks, AsyncGenerator)
    async with aclosing(chunks):
        async for chunk in chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line


def _error_of(response: httpx2.Response) -> APIError:
    try:
        decoded = msgspec.json.decode(response.content)
    except msgspec.DecodeError:  # plain text: "404 page not found"
        decoded = {"message": response.text}
    reason, message = decoded.get("reason", ""), decoded.get("message", "")
    return APIError.from_status(Status(code=response.status_code, reason=reason, message=message))


@asynccontextmanager
async def open_api(endpoint: Endpoint) -> AsyncIterator[API]:
    """Connect to an API server as the user of ``endpoint``, which has a client certificate."""
    context = ssl.create_default_context(cadata=(endpoint.ca_pem or b"").decode())
    with TemporaryDirectory() as folder:
        paths = Path(folder, "certificate.pem"), Path(folder, "key.pem")
        for path, content in zip(paths, (endpoint.certificate_pem, endpoint.key_pem), strict=True):
            path.write_bytes(content or b"")
        context.load_cert_chain(*paths)
    # Streams of httpx2's own transport leak if they are closed before their end.
    transport = PoolTransport(ssl_context=context, proxy_url=None, max_connections=None, keepalive=60, http2=False)
    headers = {"Accept-Encoding": "identity"}
    async with httpx2.AsyncClient(base_url=endpoint.url, transport=transport, headers=headers, timeout=60.0) as http:
        yield API(http)
