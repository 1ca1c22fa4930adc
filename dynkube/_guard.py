"""Calls of users' functions, whose exceptions must not end a task of the client.

Handlers, filters, transforms, index functions and observers are called by tasks that serve others as well. All such
calls go through this module, which ``tests/architecture/test_user_code.py`` checks. An exception is passed to the
caller as an :class:`Exception` to report, and work continues. Some are raised again:

``trio.Cancelled``
    Always propagates, also out of a group. The rest of the group is the failure: a handler's nursery may fail while it
    is being cancelled.
``KeyboardInterrupt``, ``SystemExit``
    In the main thread they propagate and end the program, as anywhere in Python: Ctrl-C may arrive while any function
    runs. In another thread neither can end the program (``threading.Thread`` ignores ``sys.exit()`` for the same
    reason), so there they are ordinary failures. The blocking API calls all functions in such threads, except those
    called by reads.
Other exceptions that derive from ``BaseException`` but not from ``Exception``
    Propagate; pytest's ``fail()`` is one.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Final, TypeAlias, TypeVar

A = TypeVar("A")
R = TypeVar("R")

Failed: TypeAlias = Callable[[Exception], object]
"""Called with the exception of a user's function."""

LoggedException: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None]
"""The value of ``exc_info``."""

_CALLERS: Final = frozenset({"dynkube", "trio", "outcome", "asyncio"})  # packages whose frames lead to the function
_TEXT: Final = 2000  # characters of an exception's text or an object's repr


def attempt(function: Callable[[], R], otherwise: R, failed: Failed) -> R:
    """Call a user's function and return its result.

    If it raises, call ``failed`` with the exception and return ``otherwise``.
    """
    try:
        return function()
    except BaseException as exc:  # noqa: BLE001  # a user's function
        failed(contained(exc))
        return otherwise


def attempt_with(function: Callable[[A], R], argument: A, otherwise: R, failed: Failed) -> R:
    """Call a user's function with one argument, like :func:`attempt`.

    Cheaper than a closure, for functions that are called for each object.
    """
    try:
        return function(argument)
    except BaseException as exc:  # noqa: BLE001  # a user's function
        failed(contained(exc))
        return otherwise


def passing(matches: Callable[[A], object], objects: Iterable[A], failed: Callable[[A, Exception], object]) -> list[A]:
    """Return the ``objects`` for which a user's predicate is true.

    Those for which it raises are left out, after ``failed`` was called.
    """
    found: list[A] = []
    for obj in objects:
        try:
            if matches(obj):
                found.append(obj)
        except BaseException as exc:  # noqa: BLE001  # a user's function
            failed(obj, contained(exc))
    return found


def count_passing(
    matches: Callable[[A], object], objects: Iterable[A], failed: Callable[[A, Exception], object]
) -> int:
    """Return how many objects :func:`passing` would return."""
    count = 0
    for obj in objects:
        try:
            if matches(obj):
                count += 1
        except BaseException as exc:  # noqa: BLE001  # a user's function
            failed(obj, contained(exc))
    return count


async def finish(pending: Awaitable[object], failed: Failed) -> None:
    """Await what a user's async function returned.

    Cancellation propagates; if the function failed as well, ``failed`` is called first.
    """
    try:
        await pending
    except BaseException as exc:
        failure, rest = split_failure(exc)
        if failure is not None:
            failed(failure)
        if rest is exc:
            raise
        if rest is not None:
            raise rest from None


def contained(exc: BaseException) -> Exception:
    """Return ``exc`` as a failure; raise it if any part of it must propagate."""
    failure, rest = split_failure(exc)
    if failure is None or rest is not None:
        raise exc
    return failure


def split_failure(exc: BaseException) -> tuple[Exception | None, BaseException | None]:
    """Split an exception into the function's own failure and what must propagate."""
    if isinstance(exc, Exception):
        return exc, None
    if isinstance(exc, BaseExceptionGroup):
        rest, own = exc.split(_goes_on)
        return (None if own is None else _as_exception(own)), rest
    return (None, exc) if _goes_on(exc) else (_as_exception(exc), None)


def _goes_on(exc: BaseException) -> bool:
    """Return whether a single exception must propagate; ``False`` for groups."""
    if isinstance(exc, Exception | BaseExceptionGroup):
        return False
    return not isinstance(exc, SystemExit | KeyboardInterrupt) or _in_main_thread()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _as_exception(exc: BaseException) -> Exception:
    if isinstance(exc, Exception):
        return exc
    failure = RuntimeError(f"{text_of(exc)} was raised outside of the main thread, where it cannot end the program")
    failure.__cause__ = exc
    return failure


def logged(exc: BaseException) -> LoggedException:
    """Return an exception of a user's function as ``exc_info`` of a log record.

    Its traceback begins in the user's function: the frames that lead there are the same for each failure. An exception
    without a frame of the user keeps all.
    """
    trace = exc.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] in _CALLERS:
        trace = trace.tb_next
    return type(exc), exc, trace or exc.__traceback__


def text_of(exc: BaseException) -> str:
    """Return ``"ValueError: no such field"``, truncated; never raises.

    Works for an exception whose ``__str__`` raises, too.
    """
    name = type(exc).__name__
    text = attempt(lambda: str(exc), "(its __str__ failed)", _ignore)
    return f"{name}: {_limited(text)}" if text else name


def repr_of(value: object) -> str:
    """Return the ``repr`` of a user's value, truncated; also if that raises."""
    return _limited(attempt(lambda: repr(value), f"<{type(value).__name__}, whose __repr__ failed>", _ignore))


def name_of(function: object) -> str:
    """Return the qualified name of a user's function; ``""`` if it has none."""
    name: object = attempt(lambda: getattr(function, "__qualname__", ""), "", _ignore)
    return name if isinstance(name, str) else ""


def _limited(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}… ({len(text):,} characters)"


def _ignore(exc: Exception) -> None:
    """Ignore a failure while the text of a report is made."""
