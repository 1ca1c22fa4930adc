"""Error responses of the API server: one exception class for each Status reason."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from dynkube._displayable import Displayable
from dynkube._server_text import MOST_IN_A_MESSAGE, sanitized, word
from dynkube.errors._base import DynkubeError
from dynkube.errors._conflicts import FieldConflict, conflicts_of, one_line, text_of
from dynkube.errors._status import Status, StatusCause

_CAUSES = 50


class APIError(Displayable, DynkubeError):
    """The server returned an error response.

    Attributes:
        status: the response as data; ``code``, ``reason``, ``causes`` and ``retry_after`` are shortcuts to its fields.
        request: the request line (``"GET /api/v1/pods"``), or ``""`` where it is not known.
    """

    def __init__(self, status: Status, *, request: str = "") -> None:
        self.status = status
        self.request = request
        super().__init__(self._describe())

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), self.status, request=self.request), (), self.__dict__

    @property
    def code(self) -> int:
        """The HTTP status code."""
        return self.status.code

    @property
    def reason(self) -> str:
        """The machine-readable reason, e.g. ``"NotFound"``; may be empty."""
        return self.status.reason

    @property
    def causes(self) -> tuple[StatusCause, ...]:
        """The entries of ``details.causes``: which fields are invalid and why.

        May be empty.
        """
        return self.status.causes

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before a retry, as requested by the server; or ``None``."""
        return self.status.retry_after

    @staticmethod
    def from_status(status: Status, *, request: str = "") -> APIError:
        """Return the most specific exception for ``status``.

        Chosen by reason first, then by code.
        """
        cls = _BY_REASON.get(status.reason) or _BY_CODE.get(status.code)
        if cls is Conflict and any(cause.reason == "FieldManagerConflict" for cause in status.causes):
            cls = ApplyConflict
        if cls is None:
            cls = ServerError if status.code >= 500 else APIError
        return cls(status, request=request)

    def _describe(self) -> str:
        what = sanitized(self.status.message or self.status.reason or "no message", MOST_IN_A_MESSAGE, lines=True)
        shown = [c for c in self.causes[: _CAUSES + 1] if c.message]
        causes = "; ".join(_cause_text(c) for c in shown[:_CAUSES])
        if causes and causes not in what:
            more = f"; and {len(self.causes) - _CAUSES:,} more" if len(shown) > _CAUSES else ""
            what = f"{what} ({sanitized(causes, MOST_IN_A_MESSAGE, lines=True)}{more})"
        where = f" [{self.request}]" if self.request else ""
        return f"{self.code} {self._title()}: {what}{where}"

    def _title(self) -> str:
        return word(self.reason) or type(self).__name__


def _cause_text(cause: StatusCause) -> str:
    return f"{cause.field}: {cause.message}" if cause.field else cause.message


class BadRequest(APIError):
    """400: the request is malformed."""


class Unauthorized(APIError):
    """401: authentication failed, even after refreshing the credential.

    Attributes:
        hint: whether credentials were sent, where the client has them from, and what to do; the end of the message.
    """

    def __init__(self, status: Status, *, request: str = "", hint: str = "") -> None:
        self.hint = hint
        super().__init__(status, request=request)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), self.status, request=self.request, hint=self.hint), (), self.__dict__

    def _describe(self) -> str:
        return f"{super()._describe()}; {self.hint}" if self.hint else super()._describe()


class Forbidden(APIError):
    """403: authenticated, but denied by RBAC or by an admission plugin."""


class NotFound(APIError):
    """404: the object or the resource does not exist."""


class MethodNotAllowed(APIError):
    """405: the resource does not support the verb."""


class NotAcceptable(APIError):
    """406: the server cannot respond in any of the requested media types."""


class AlreadyExists(APIError):
    """409 on create: an object of that name exists.

    Not a :class:`Conflict`: a retry does not help.
    """


class Conflict(APIError):
    """409: the object changed since it was read, or a precondition failed.

    Read it again, then retry.
    """


class ApplyConflict(Conflict):
    """409 on server-side apply: other managers own some of the fields.

    ``conflicts`` lists the fields. ``print(error.table())`` shows them with both values and the ways to resolve them; a
    notebook renders the same by itself.

    Args:
        status: the error response.
        request: the request line.
        conflicts: one entry for each field; parsed from ``status.causes`` unless given.
    """

    def __init__(self, status: Status, *, request: str = "", conflicts: Iterable[FieldConflict] | None = None) -> None:
        self.conflicts: tuple[FieldConflict, ...] = (
            conflicts_of(status.causes) if conflicts is None else tuple(conflicts)
        )
        super().__init__(status, request=request)

    def __reduce__(self) -> tuple[Any, ...]:
        again = partial(type(self), self.status, request=self.request, conflicts=self.conflicts)
        return again, (), self.__dict__

    def table(self) -> str:
        """Return the conflicts as a table for a terminal, with the ways to resolve them."""
        return text_of(self.conflicts)

    def _describe(self) -> str:
        where = f" [{self.request}]" if self.request else ""
        return f"{self._heading()}: {one_line(self.conflicts)}{where}"

    def _heading(self) -> str:
        number = len(self.conflicts)
        reason = word(self.reason) or "Conflict"
        return f"{self.code} {reason}: Apply failed with {number} conflict{'' if number == 1 else 's'}"


class Gone(APIError):
    """410: the resourceVersion or continue token is too old. List again."""


class RequestEntityTooLarge(APIError):
    """413: the request body exceeds the server's size limit."""


class UnsupportedMediaType(APIError):
    """415: the content type or the patch type is not supported for the resource."""


class Invalid(APIError):
    """422: validation failed; ``causes`` names each field."""


class TooManyRequests(APIError):
    """429: the server is overloaded, or a PodDisruptionBudget blocks an eviction.

    ``retry_after`` is the number of seconds to wait before a retry.
    """


class ServerError(APIError):
    """5xx: the server failed."""


class InternalError(ServerError):
    """500: the server failed, often in a webhook or an aggregated API behind it."""


class ServiceUnavailable(ServerError):
    """503: the server, or an aggregated API behind it, is not available."""


class ServerTimeout(ServerError):
    """504: the server timed out.

    One cause is a watch cache that did not reach the requested resourceVersion in time.
    """


_BY_CODE: dict[int, type[APIError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: NotAcceptable,
    409: Conflict,
    410: Gone,
    413: RequestEntityTooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    503: ServiceUnavailable,
    504: ServerTimeout,
}

# metav1.StatusReason; the reason decides where a code has two meanings (409) or a proxy changed it.
_BY_REASON: dict[str, type[APIError]] = {
    "BadRequest": BadRequest,
    "Unauthorized": Unauthorized,
    "Forbidden": Forbidden,
    "NotFound": NotFound,
    "MethodNotAllowed": MethodNotAllowed,
    "NotAcceptable": NotAcceptable,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Gone": Gone,
    "Expired": Gone,
    "RequestEntityTooLarge": RequestEntityTooLarge,
    "UnsupportedMediaType": UnsupportedMediaType,
    "Invalid": Invalid,
    "TooManyRequests": TooManyRequests,
    "InternalError": InternalError,
    "ServiceUnavailable": ServiceUnavailable,
    "ServerTimeout": ServerTimeout,
    "Timeout": ServerTimeout,
}
