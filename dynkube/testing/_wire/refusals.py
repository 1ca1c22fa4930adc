"""What the wire itself refuses, and how any refusal is written: ``v1.Status`` as kube-apiserver words it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from dynkube.errors import APIError, NotFound, Status
from dynkube.testing._calls.refuse import plain
from dynkube.testing._store.documents import status_object
from dynkube.testing._wire.http import Answer
from dynkube.testing._wire.layouts import Layout

#: What a real server says of paths that none of its parts has: a text, which every client turns into its own words.
PAGE_NOT_FOUND = Answer(
    status=404,
    body=b"404 page not found\n",
    content_type="text/plain; charset=utf-8",
    headers=(("X-Content-Type-Options", "nosniff"),),
)


class PageNotFound(NotFound):
    """404 outside of the built-in groups; answered by :data:`PAGE_NOT_FOUND`."""


def unknown_path(*, builtin: bool = True) -> APIError:
    """404 for a path that nothing serves: in a ``builtin`` group, or elsewhere."""
    message = "the server could not find the requested resource"
    status = Status(code=404, reason="NotFound", message=message)
    return APIError.from_status(status) if builtin else PageNotFound(status)


def method_not_allowed() -> APIError:
    """405 for a path that exists, with a method it does not take."""
    return plain(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def not_acceptable(accepted: Iterable[str]) -> APIError:
    """406: nothing in the Accept header can be produced."""
    return plain(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(accepted)}")


def not_representable(accepted: Iterable[str]) -> APIError:
    """406 for a built-in resource: the Accept header names no media type that its paths have at all."""
    available = ", ".join(accepted)
    return plain(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {available}")


def unsupported_media_type(accepted: Iterable[str]) -> APIError:
    """415: the body's content type is not understood there."""
    return plain(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted),
    )


def unknown_patch_type() -> APIError:
    """415 for a patch of a built-in kind, which the real server refuses before it knows the kind: in its own words."""
    return plain(415, "UnsupportedMediaType", "415: Unsupported Media Type")


def too_many_operations(limit: int, given: int) -> APIError:
    """413: a JSON patch with more than ``limit`` operations."""
    return plain(
        413,
        "RequestEntityTooLarge",
        f"Request entity too large: The allowed maximum operations in a JSON patch is {limit}, got {given}",
    )


def body_too_large(limit: int) -> APIError:
    """413: the body is over ``limit`` bytes."""
    return plain(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def bad_request(message: str) -> APIError:
    """400: the request makes no sense."""
    return plain(400, "BadRequest", message)


def unavailable() -> Answer:
    """503: the server behind an aggregated API does not answer. The real server says so in plain text."""
    headers = (("X-Content-Type-Options", "nosniff"),)
    content_type = "text/plain; charset=utf-8"
    return Answer(status=503, body=b"service unavailable\n", content_type=content_type, headers=headers)


def internal(error: Exception) -> APIError:
    """500: a defect of this server."""
    return plain(500, "InternalError", f"Internal error occurred: {type(error).__name__}: {error}")


def answer_refusal(error: APIError, layout: Layout) -> Answer:
    """The HTTP answer that says ``error``, written as its reader wants it."""
    if isinstance(error, PageNotFound):
        return PAGE_NOT_FOUND
    status = error.status
    headers: tuple[tuple[str, str], ...] = ()
    if status.retry_after:
        headers = (("Retry-After", str(math.ceil(status.retry_after))),)
    body = layout.document(msgspec.json.encode(status_object(error)))
    return Answer(status=status.code, body=body, content_type=layout.content_type, headers=headers)
