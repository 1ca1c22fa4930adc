"""Requests for OpenAPI documents.

Media types, ETags and redirects are as in kube-openapi.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import TypeVar

import msgspec
import trio

from dynkube_testing._wire.discovery import Discovery
from dynkube_testing._wire.http import Answer, HTTPRequest
from dynkube_testing._wire.negotiate import parse_accept
from dynkube_testing._wire.openapi import v2
from dynkube_testing._wire.openapi.published import Published
from dynkube_testing._wire.openapi.v2 import DocumentV2
from dynkube_testing._wire.openapi.v3 import DocumentsV3

_YEAR = timedelta(days=365)
# The media type that client-go sends for protobuf. The response has it without the "@", which media types cannot have.
_OLD = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_V2_FORMS = {"application/json": v2.JSON, v2.PROTOBUF.content_type: v2.PROTOBUF, _OLD: v2.PROTOBUF}
_V3_FORMS = {"application/json": "json"}
_NOT_ACCEPTABLE = Answer(status=406, headers=(("Vary", "Accept"),))

T = TypeVar("T")


class OpenAPI:
    """Responses to requests below ``/openapi``.

    Args:
        discovery: The kinds served.
        version: Of the server, like ``v1.36.3``.
        now: The wall clock, for the Expires header.
    """

    def __init__(self, discovery: Discovery, version: str, now: Callable[[], datetime]) -> None:
        minor = ".".join(version.removeprefix("v").split(".")[:2])
        self._v3 = DocumentsV3(discovery, minor)
        self._v2 = DocumentV2(discovery, minor)
        self._now = now

    async def answer(self, request: HTTPRequest) -> Answer | None:
        """Return the response to a request below ``/openapi``.

        ``None`` for an unknown path.
        """
        if request.path.endswith("/"):
            return None
        match request.segments[1:]:
            case ("v2",):
                return await self._v2_answer(request)
            case ("v3",):
                return await self._index()
            case ("v3", *parts):
                path = "/".join(parts)
                document = self._v3.document(path)
                return None if document is None else self._v3_answer(request, path, document)
        return None

    async def _index(self) -> Answer:
        # The index has a hash of each document's content, so the first request after a change builds the changed
        # documents, one at a time. The core group's document comes last: it is the largest, and the first document
        # takes additional time to load the built-in types.
        paths: dict[str, dict[str, str]] = {}
        for path in sorted(self._v3.paths(), reverse=True):
            document = self._v3.document(path)
            if document is not None:
                paths[path] = {"serverRelativeURL": _address(path, document)}
            await trio.lowlevel.checkpoint()
        body = msgspec.json.encode({"paths": dict(sorted(paths.items()))})
        # As in kube-apiserver, this JSON is declared as text/plain.
        return Answer(body=body, content_type="text/plain; charset=utf-8")

    async def _v2_answer(self, request: HTTPRequest) -> Answer:
        form = _best_form(request, _V2_FORMS)
        if form is None:
            return _NOT_ACCEPTABLE
        document = await self._v2.published(form)
        return _unless_known(request, document, (("Vary", "Accept"), _tag(document)), form.content_type)

    def _v3_answer(self, request: HTTPRequest, path: str, document: Published) -> Answer:
        if _best_form(request, _V3_FORMS) is None:
            return _NOT_ACCEPTABLE
        headers = [("Vary", "Accept"), _tag(document)]
        asked = request.params.get("hash", "")
        if asked and asked != document.digest:
            return Answer(status=301, headers=(*headers, ("Location", _address(path, document))))
        if asked:
            # The URL changes with the content, so the document may be cached forever.
            headers.append(("Cache-Control", "public, immutable"))
            headers.append(("Expires", format_datetime(self._now() + _YEAR, usegmt=True)))
        return _unless_known(request, document, tuple(headers), "application/json")


def _best_form(request: HTTPRequest, forms: Mapping[str, T]) -> T | None:
    """Return the best available form for an Accept header.

    A wildcard means the first form.
    """
    for entry in parse_accept(request.headers.get("accept") or "*/*"):
        if entry.media_type in forms:
            return forms[entry.media_type]
        if entry.media_type in {"application/*", "*/*", "*"}:
            return next(iter(forms.values()))
    return None


def _unless_known(
    request: HTTPRequest, document: Published, headers: tuple[tuple[str, str], ...], content_type: str
) -> Answer:
    known = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if known & {f'"{document.digest}"', "*"}:
        return Answer(status=304, content_type=content_type, headers=headers)
    return Answer(body=document.body, content_type=content_type, headers=headers)


def _tag(document: Published) -> tuple[str, str]:
    return ("ETag", f'"{document.digest}"')


def _address(path: str, document: Published) -> str:
    return f"/openapi/v3/{path}?hash={document.digest}"
