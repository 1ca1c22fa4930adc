"""Error responses of the HTTP layer, and the encoding of error responses as HTTP."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from dynkube.errors import APIError, NotAcceptable, NotFound, Status
from dynkube_testing._calls.refuse import Undetailed, plain
from dynkube_testing._store.documents import status_object
from dynkube_testing._wire.http import Answer
from dynkube_testing._wire.layouts import Layout

#: The response to paths that no handler serves. As in a real server, it is plain text and not a Status.
PAGE_NOT_FOUND = Answer(
    status=404,
    body=b"404 page not found\n",
    content_type="text/plain; charset=utf-8",
    headers=(("X-Content-Type-Options", "nosniff"),),
)


class PageNotFound(NotFound):
    """404 for an unknown path outside of the built-in groups.

    It is sent as :data:`PAGE_NOT_FOUND`.
    """


def unknown_path(*, builtin: bool = True) -> APIError:
    """Return 404 for an unknown path.

    It is a Status object in a ``builtin`` group, and plain text elsewhere.
    """
    message = "the server could not find the requested resource"
    status = Status(code=404, reason="NotFound", message=message)
    return APIError.from_status(status) if builtin else PageNotFound(status)


def not_acceptable(accepted: Iterable[str]) -> APIError:
    """Return 406 if the Accept header has none of the ``accepted`` media types."""
    return plain(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(accepted)}")


class NotRepresentable(Undetailed, NotAcceptable):
    """406 with empty ``details``."""


def not_representable(accepted: Iterable[str]) -> APIError:
    """Return 406 for a path that a real server routes by the Accept header, which are those of built-in kinds."""
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(accepted)}"
    return NotRepresentable(Status(code=406, reason="NotAcceptable", message=message))


def unknown_patch_type() -> APIError:
    """Return 415 for a patch of a built-in kind with an unsupported content type.

    Its message differs from other 415 responses, because the real server rejects the patch before it knows the kind.
    """
    return plain(415, "UnsupportedMediaType", "415: Unsupported Media Type")


def too_many_operations(limit: int, given: int) -> APIError:
    """Return 413 for a JSON patch with more than ``limit`` operations."""
    return plain(
        413,
        "RequestEntityTooLarge",
        f"Request entity too large: The allowed maximum operations in a JSON patch is {limit}, got {given}",
    )


def body_too_large(limit: int) -> APIError:
    """Return 413 for a body of more than ``limit`` bytes."""
    return plain(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def unavailable() -> Answer:
    """Return 503 for an aggregated API whose server does not respond.

    As in a real server, it is plain text and not a Status.
    """
    headers = (("X-Content-Type-Options", "nosniff"),)
    content_type = "text/plain; charset=utf-8"
    return Answer(status=503, body=b"service unavailable\n", content_type=content_type, headers=headers)


def answer_refusal(error: APIError, layout: Layout) -> Answer:
    """Return the HTTP response for ``error``, encoded by ``layout``."""
    if isinstance(error, PageNotFound):
        return PAGE_NOT_FOUND
    status = error.status
    headers: tuple[tuple[str, str], ...] = ()
    if status.retry_after:
        headers = (("Retry-After", str(math.ceil(status.retry_after))),)
    body = layout.document(msgspec.json.encode(status_object(error)))
    return Answer(status=status.code, body=body, content_type=layout.content_type, headers=headers)
