"""``v1.Status``, the body of an error response, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_MOST_TEXT: Final = 1 << 20
"""Maximum characters kept of each string in a Status.

Errors, states and logs show far less; see ``_server_text``.
"""
_LONGEST_WORD: Final = 64 << 10  # as long as all header fields of a request may be, credentials included
_ERROR_CODES: Final = range(400, 600)


@dataclass(frozen=True, slots=True)
class StatusCause:
    """One entry of ``Status.details.causes``.

    Has the field, a machine-readable reason, and a message.
    """

    field: str = ""
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """A ``v1.Status`` as plain data.

    ``retry_after`` is ``details.retryAfterSeconds`` (or the value of the Retry-After header), in seconds.
    ``continue_token`` is ``metadata.continue``: in a 410 for a page, the token that continues the list at a newer
    resourceVersion.
    """

    code: int
    reason: str = ""
    message: str = ""
    kind: str = ""
    group: str = ""
    name: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after: float | None = None
    continue_token: str = ""

    @classmethod
    def from_mapping(cls, body: Mapping[str, object], *, code: int | None = None) -> Status:
        """Read a decoded ``kind: Status`` body.

        Tolerant on purpose, as proxies and aggregated servers respond too: a field of the wrong type counts as absent.
        A string of more than a million characters is cut.

        Args:
            body: the decoded JSON object.
            code: the HTTP status, used where the body has no error code of its own (400 to 599).
        """
        details = body.get("details")
        if not isinstance(details, Mapping):
            details = {}
        metadata = body.get("metadata")
        causes = details.get("causes")
        seconds = details.get("retryAfterSeconds")
        body_code = body.get("code")
        return cls(
            code=body_code if type(body_code) is int and body_code in _ERROR_CODES else code or 500,
            reason=_text(body, "reason"),
            message=_text(body, "message"),
            kind=_text(details, "kind"),
            group=_text(details, "group"),
            name=_text(details, "name"),
            uid=_text(details, "uid"),
            causes=tuple(
                StatusCause(_text(cause, "field"), _text(cause, "reason"), _text(cause, "message"))
                for cause in (causes if isinstance(causes, list) else [])
                if isinstance(cause, Mapping)
            ),
            continue_token=_text(metadata, "continue") if isinstance(metadata, Mapping) else "",
            retry_after=_seconds(seconds),
        )


def _seconds(value: object) -> float | None:
    if not isinstance(value, int | float) or not value > 0:
        return None
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits, which JSON may hold
        return math.inf


def _text(mapping: Mapping[str, object], key: str) -> str:
    value = mapping.get(key)
    if not isinstance(value, str):
        return ""
    if not value[_MOST_TEXT:]:
        return value
    # Cut at a space if there is one nearby: half a token would not be recognized as a credential, and would not be
    # redacted from messages.
    end = value.rfind(" ", _MOST_TEXT - _LONGEST_WORD, _MOST_TEXT)
    return f"{value[: end if end >= 0 else _MOST_TEXT]} … (truncated, {len(value):,} characters)"
