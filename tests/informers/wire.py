"""A transport between the embedded server and a client that can modify responses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import httpx2

from dynkube_testing import APIServer

Edit = Callable[[httpx2.Request, bytes], bytes]


class TamperedWire(httpx2.AsyncBaseTransport):
    """Passes each line of a watch through ``edit``, and everything else unchanged; empty lines are dropped."""

    def __init__(self, server: APIServer, edit: Edit) -> None:
        self._under = server.transport()
        self._edit = edit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request; only responses to watches are modified."""
        response = await self._under.handle_async_request(request)
        if request.url.params.get("watch") == "true" and response.status_code == 200:
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Tampered(response.stream, lambda line: self._edit(request, line))
        return response

    async def aclose(self) -> None:
        """Close the underlying transport."""
        await self._under.aclose()


class _Tampered(httpx2.AsyncByteStream):
    def __init__(self, under: httpx2.AsyncByteStream, edit: Callable[[bytes], bytes]) -> None:
        self._under = under
        self._edit = edit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._under:
            edited = b"".join(map(self._edit, chunk.splitlines(keepends=True)))
            if edited:
                yield edited

    async def aclose(self) -> None:
        await self._under.aclose()
