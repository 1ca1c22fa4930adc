"""Error responses with a success code.

A ``Status`` that reports a failure may arrive with HTTP 200 or 201.
"""

from __future__ import annotations

from typing import Final

import msgspec

from dynkube.errors import APIError, Status
from dynkube.meta._json import UNREADABLE

_MOST: Final = 1 << 20
"""Maximum bytes of a document that is inspected; a larger document is an object or a list.
"""


class _Outline(msgspec.Struct):
    api_version: object = msgspec.field(default="v1", name="apiVersion")
    kind: object = None
    status: object = None


_outlines: Final = msgspec.json.Decoder(_Outline)
_documents: Final = msgspec.json.Decoder(dict)


def failed_status(document: bytes) -> Status | None:
    """Return the Status in a document that reports a failure.

    Returns ``None`` for any other document. Its ``code`` is an error code, 500 where the document has none. client-go
    inspects 200 responses in the same way (``rest.Result.Into``).
    """
    # A fast check: a Status that reports a failure contains both words, and nearly all other documents do not.
    if len(document) > _MOST or b"Failure" not in document or b"Status" not in document:
        return None
    try:
        outline = _outlines.decode(document)
        # A CRD of another group may define a kind Status.
        if (outline.api_version, outline.kind, outline.status) != ("v1", "Status", "Failure"):
            return None
        body = _documents.decode(document)
    except UNREADABLE:
        return None
    return Status.from_mapping(body, code=500)


def raise_failed_status(document: bytes, *, request: str = "") -> None:
    """Raise APIError if the document is a Status that reports a failure; else return."""
    status = failed_status(document)
    if status is not None:
        raise APIError.from_status(status, request=request)
