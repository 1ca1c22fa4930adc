"""Calls the hooks of several observers, and catches their exceptions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, Generic, ParamSpec, TypeVar

from dynkube._guard import attempt
from dynkube._logs import get_logger
from dynkube.errors import InvalidInput
from dynkube.meta._arguments import a_type
from dynkube.telemetry._observed import ObservedClient, ObservedControllers
from dynkube.telemetry._observer import Observer
from dynkube.telemetry._records import (
    Collection,
    HandlerRun,
    ReconcileInfo,
    ReconcileOutcome,
    ReflectorOutcome,
    RequestInfo,
    RequestOutcome,
    StateChange,
)

_log = get_logger("dynkube.telemetry")

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
# Fields for routing and framing, which observers may not set, as that could redirect or corrupt the request.
_FRAMING = frozenset(
    {"connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade"}
)

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Hook(Generic[_P, _R]):
    """One method of one observer; calling it never raises an exception of the method."""

    __slots__ = ("_failed", "_method", "_name")

    def __init__(self, method: Callable[_P, _R], name: str) -> None:
        self._method = method
        self._name = name
        self._failed = False

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R | None:
        """Return what the method returns; ``None`` if it raised."""
        return attempt(partial(self._method, *args, **kwargs), None, self._note)

    def _note(self, exc: Exception) -> None:
        if not self._failed:
            self._failed = True
            _log.error("observer %s failed; further failures of it are not logged", self._name, exc_info=exc)


class Observers:
    """The overridden hooks of all observers, by method, in the order given.

    Callers create a record (such as :class:`RequestInfo`) only if there is a hook for it.

    Args:
        observers: instances of classes derived from :class:`Observer`.

    Raises:
        InvalidInput: ``observers`` is not a collection of such instances.
    """

    def __init__(self, observers: Iterable[Observer] = ()) -> None:
        if isinstance(observers, Observer):
            raise InvalidInput(f"observers is a single {type(observers).__name__}: pass a list, observers=[...]")
        given = tuple(observers)
        for position, observer in enumerate(given):
            _check(observer, position)
        self.client_opened: tuple[Hook[[ObservedClient], None], ...] = _hooks(
            given, Observer.client_opened, [o.client_opened for o in given]
        )
        self.client_closed: tuple[Hook[[ObservedClient], None], ...] = _hooks(
            given, Observer.client_closed, [o.client_closed for o in given]
        )
        self.request_started: tuple[Hook[[RequestInfo], Mapping[str, str] | None], ...] = _hooks(
            given, Observer.request_started, [_sendable(o.request_started) for o in given]
        )
        self.request_finished: tuple[Hook[[RequestInfo, RequestOutcome], None], ...] = _hooks(
            given, Observer.request_finished, [o.request_finished for o in given]
        )
        self.list_started: tuple[Hook[[Collection], None], ...] = _hooks(
            given, Observer.list_started, [o.list_started for o in given]
        )
        self.list_finished: tuple[Hook[[Collection, ReflectorOutcome], None], ...] = _hooks(
            given, Observer.list_finished, [o.list_finished for o in given]
        )
        self.watch_started: tuple[Hook[[Collection], None], ...] = _hooks(
            given, Observer.watch_started, [o.watch_started for o in given]
        )
        self.watch_finished: tuple[Hook[[Collection, ReflectorOutcome], None], ...] = _hooks(
            given, Observer.watch_finished, [o.watch_finished for o in given]
        )
        self.state_changed: tuple[Hook[[Collection, StateChange], None], ...] = _hooks(
            given, Observer.state_changed, [o.state_changed for o in given]
        )
        self.handler_ran: tuple[Hook[[Collection, HandlerRun], None], ...] = _hooks(
            given, Observer.handler_ran, [o.handler_ran for o in given]
        )
        self.controllers_started: tuple[Hook[[ObservedControllers], None], ...] = _hooks(
            given, Observer.controllers_started, [o.controllers_started for o in given]
        )
        self.controllers_stopped: tuple[Hook[[ObservedControllers], None], ...] = _hooks(
            given, Observer.controllers_stopped, [o.controllers_stopped for o in given]
        )
        self.reconcile_started: tuple[Hook[[ReconcileInfo], None], ...] = _hooks(
            given, Observer.reconcile_started, [o.reconcile_started for o in given]
        )
        self.reconcile_finished: tuple[Hook[[ReconcileInfo, ReconcileOutcome], None], ...] = _hooks(
            given, Observer.reconcile_finished, [o.reconcile_finished for o in given]
        )


def _hooks(
    observers: tuple[Observer, ...], default: Callable[..., object], methods: list[Callable[_P, _R]]
) -> tuple[Hook[_P, _R], ...]:
    """Return hooks for the methods that are overridden."""
    name = default.__name__
    return tuple(
        Hook(method, f"{type(observer).__qualname__}.{name}")
        for observer, method in zip(observers, methods, strict=True)
        if getattr(type(observer), name) is not default or name in vars(observer)
    )


def _sendable(
    method: Callable[[RequestInfo], Mapping[str, str] | None],
) -> Callable[[RequestInfo], Mapping[str, str] | None]:
    """Wrap ``method`` so that it raises for header fields that cannot be sent."""

    def started(request: RequestInfo) -> Mapping[str, str] | None:
        fields = method(request)
        if fields is not None:
            _check_fields(fields)
        return fields

    return started


def _check_fields(fields: object) -> None:
    """Validate header fields.

    Raises:
        InvalidInput: ``fields`` is not a mapping, a name or value is malformed, or a name is reserved for HTTP framing.
    """
    if not isinstance(fields, Mapping):
        raise InvalidInput(f"request_started returned {a_type(fields)}: return a mapping of header fields, or None")
    for name, value in fields.items():
        if not isinstance(name, str) or _TOKEN.match(name) is None:
            raise InvalidInput(f"request_started returned {name!r}, which is not a valid header name")
        if name.lower() in _FRAMING:
            raise InvalidInput(f"request_started returned {name!r}, which is reserved for the client")
        if not isinstance(value, str) or not value.isprintable():
            raise InvalidInput(
                f"request_started returned an invalid value for {name!r}: expected one line of printable text"
            )


def _check(observer: object, position: int) -> None:
    if isinstance(observer, type) and issubclass(observer, Observer):
        raise InvalidInput(f"observers[{position}] is the class {observer.__name__}: pass an instance of it")
    if not isinstance(observer, Observer):
        raise InvalidInput(
            f"observers[{position}] is {a_type(observer)}: pass an instance of a subclass of dynkube.telemetry.Observer"
        )


NO_OBSERVERS: Final = Observers()
"""No observers; the default of components that are used without a client."""
