"""Requests for OpenAPI documents: forms, hashes, tags and redirects, as kube-openapi handles them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from email.utils import format_datetime

import msgspec
import trio

from dynkube.testing._wire.discovery import Discovery
from dynkube.testing._wire.http import Answer, HTTPRequest
from dynkube.testing._wire.negotiate import parse_accept
from dynkube.testing._wire.openapi.v3 import DocumentsV3, Published

_YEAR = timedelta(days=365)
_JSON = "application/json"
_NOT_ACCEPTABLE = Answer(status=406, content_type=_JSON, headers=(("Vary", "Accept"),))


class OpenAPI:
    """Answers below ``/openapi``.

    Args:
        discovery: What is served.
        version: Of the server, like ``v1.36.3``.
        now: The wall clock, for the time until which clients may keep a document.
    """

    def __init__(self, discovery: Discovery, version: str, now: Callable[[], datetime]) -> None:
        self._v3 = DocumentsV3(discovery, ".".join(version.removeprefix("v").split(".")[:2]))
        self._now = now

    async def answer(self, request: HTTPRequest) -> Answer | None:
        """The answer to a request below ``/openapi``; ``None`` for a path that is none."""
        if request.path.endswith("/"):
            return None
        match request.segments[1:]:
            case ("v3",):
                return await self._index()
            case ("v3", *parts):
                path = "/".join(parts)
                document = self._v3.document(path)
                return None if document is None else self._v3_answer(request, path, document)
        return None

    async def _index(self) -> Answer:
        paths: dict[str, dict[str, str]] = {}
        for path in self._v3.paths():
            # Hashes are of contents, so the first index after a change builds what has changed, a document at a time.
            document = self._v3.document(path)
            if document is not None:
                paths[path] = {"serverRelativeURL": _address(path, document)}
            await trio.lowlevel.checkpoint()
        body = msgspec.json.encode({"paths": dict(sorted(paths.items()))})
        # That this JSON calls itself text is how kube-apiserver has it.
        return Answer(body=body, content_type="text/plain; charset=utf-8")

    def _v3_answer(self, request: HTTPRequest, path: str, document: Published) -> Answer:
        if not accepts_json(request):
            return _NOT_ACCEPTABLE
        headers = [("Vary", "Accept"), ("ETag", f'"{document.digest}"')]
        asked = request.params.get("hash", "")
        if asked and asked != document.digest:
            return Answer(status=301, headers=(*headers, ("Location", _address(path, document))))
        if asked:
            # The address changes with the content, so what is there may be kept for ever.
            headers.append(("Cache-Control", "public, immutable"))
            headers.append(("Expires", format_datetime(self._now() + _YEAR, usegmt=True)))
        return answer_unless_known(request, document, tuple(headers))


def accepts_json(request: HTTPRequest) -> bool:
    """Whether the client takes JSON, whatever it likes better."""
    ranges = parse_accept(request.headers.get("accept") or "*/*")
    return any(entry.media_type in {_JSON, "application/*", "*/*", "*"} for entry in ranges)


def answer_unless_known(
    request: HTTPRequest, document: Published, headers: tuple[tuple[str, str], ...], content_type: str = _JSON
) -> Answer:
    """The document, or 304 where the client has it already."""
    known = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if known & {f'"{document.digest}"', "*"}:
        return Answer(status=304, content_type=content_type, headers=headers)
    return Answer(body=document.body, content_type=content_type, headers=headers)


def _address(path: str, document: Published) -> str:
    return f"/openapi/v3/{path}?hash={document.digest}"
