"""Scripted trouble: refuse matching requests, as often as told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from dynkube.errors import APIError, InvalidInput, Status
from dynkube.meta import GVR, ResourceArg
from dynkube.testing._store.documents import status_object

# Reason and message as the server has them for answers that are not about an object.
_TEXTS: Mapping[int, tuple[str, str]] = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "Unauthorized"),
    403: ("Forbidden", "forbidden: refused by a scripted fault"),
    404: ("NotFound", "the server could not find the requested resource"),
    409: ("Conflict", "the server reported a conflict"),
    410: ("Expired", "The resourceVersion for the provided watch is too old."),
    429: ("TooManyRequests", "Too many requests, please try again later."),
    500: ("InternalError", "Internal error occurred: refused by a scripted fault"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "Timeout: request did not complete within the allotted timeout"),
}


@dataclass(frozen=True, slots=True)
class FaultAnswer:
    """What to answer instead."""

    status: int
    body: bytes
    content_type: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True, kw_only=True, eq=False)
class Fault:
    """One scripted fault: in force until it was used ``times`` times or removed.

    Attributes:
        verb: The verb it is for, ``None`` for every request.
        resource: The resource it is for, ``None`` for every path.
        path_prefix: What paths have to begin with.
        answer: What it answers.
        times: How often it still strikes, ``None`` for always.
        hits: How often it struck.
    """

    verb: str | None
    resource: ResourceArg | None
    path_prefix: str
    answer: FaultAnswer
    times: int | None
    hits: int = 0
    _remove: Callable[[Fault], None] = field(repr=False)

    def remove(self) -> None:
        """Stop it. Idempotent."""
        self._remove(self)

    def _matches(self, verb: str, resource: GVR | None, path: str) -> bool:
        if self.verb not in {None, verb} or not path.startswith(self.path_prefix):
            return False
        arg = self.resource
        return arg is None or (
            resource is not None
            and arg.name == resource.resource
            and arg.group in {None, resource.group}
            and arg.version in {None, resource.version}
        )


class Faults:
    """The faults in force, oldest first; the first that matches a request answers it."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def fail(
        self,
        *,
        status: int,
        verb: str | None = None,
        resource: str | GVR | None = None,
        path_prefix: str = "",
        retry_after: float | str | None = None,
        times: int | None = None,
        body: Mapping[str, object] | str | bytes | None = None,
        content_type: str | None = None,
    ) -> Fault:
        """Answer matching requests with ``status`` from now on; :meth:`dynkube.testing.APIServer.fail` tells it all.

        Raises:
            InvalidInput: The status or ``times`` is out of range, or the resource is no name.
        """
        if not 200 <= status <= 599:
            raise InvalidInput(f"status {status} is no HTTP status of an answer; give one of 200 to 599")
        if times is not None and times < 1:
            raise InvalidInput(f"times is {times}; give a positive number, or None for always")
        fault = Fault(
            verb=verb,
            resource=_resource_arg(resource),
            path_prefix=path_prefix,
            answer=_answer(status, retry_after, body, content_type),
            times=times,
            _remove=self._discard,
        )
        self._faults.append(fault)
        return fault

    def take(self, *, verb: str, resource: GVR | None, path: str) -> FaultAnswer | None:
        """The answer of the first fault that matches this request, counting it; ``None`` where none does."""
        for fault in self._faults:
            if fault._matches(verb, resource, path):
                fault.hits += 1
                if fault.times is not None:
                    fault.times -= 1
                    if not fault.times:
                        self._discard(fault)
                return fault.answer
        return None

    def _discard(self, fault: Fault) -> None:
        if fault in self._faults:
            self._faults.remove(fault)


def _resource_arg(resource: str | GVR | None) -> ResourceArg | None:
    if isinstance(resource, GVR):
        return ResourceArg(resource.resource, resource.version, resource.group)
    return None if resource is None else ResourceArg.parse(resource)


def _answer(
    status: int,
    retry_after: float | str | None,
    body: Mapping[str, object] | str | bytes | None,
    content_type: str | None,
) -> FaultAnswer:
    headers = () if retry_after is None else (("Retry-After", _seconds(retry_after)),)
    match body:
        case None:
            reason, message = _TEXTS.get(status, ("", f"refused by a scripted fault with status {status}"))
            seconds = float(retry_after) if isinstance(retry_after, int | float) else None
            error = APIError.from_status(Status(code=status, reason=reason, message=message, retry_after=seconds))
            return FaultAnswer(status, msgspec.json.encode(status_object(error)), "application/json", headers)
        case str():
            return FaultAnswer(status, body.encode(), content_type or "text/html; charset=utf-8", headers)
        case bytes():
            return FaultAnswer(status, body, content_type or "application/json", headers)
    return FaultAnswer(status, msgspec.json.encode(body), content_type or "application/json", headers)


def _seconds(retry_after: float | str) -> str:
    return retry_after if isinstance(retry_after, str) else f"{retry_after:g}"
