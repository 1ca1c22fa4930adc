"""The one place in which users' functions are called, so that what they raise ends no task of a client.

Handlers, filters, transforms, index functions, observers and their like are called by tasks that serve others, too. So
every call of one goes through this module (``tests/architecture/test_user_code.py`` holds the package to that). What is
raised becomes an :class:`Exception` that the caller reports, and work goes on. The exceptions to that rule:

``trio.Cancelled``
    Always goes on, also out of a group. What else is in that group is the failure: a handler's nursery may fail while
    it is being cancelled.
``KeyboardInterrupt``, ``SystemExit``
    In the main thread they go on and end the program, as anywhere in Python: Ctrl-C may hit while any function runs. In
    another thread neither can end the program (``threading.Thread`` ignores ``sys.exit()`` for the same reason), so
    there they are failures like others. The blocking API calls all functions in such threads, but for those that a
    read asks.
Other exceptions that derive from ``BaseException`` alone
    Go on. pytest's ``fail()`` is one.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeAlias, TypeVar

A = TypeVar("A")
R = TypeVar("R")

Failed: TypeAlias = Callable[[Exception], object]
"""Called with what a user's function raised."""

_TEXT: Final = 2000  # characters of an exception's text or an object's repr


def attempt(function: Callable[[], R], otherwise: R, failed: Failed) -> R:
    """What a user's function returns; ``otherwise`` where it raised, after ``failed`` was called with the exception."""
    try:
        return function()
    except BaseException as exc:  # noqa: BLE001  # a user's function
        failed(contained(exc))
        return otherwise


def attempt_with(function: Callable[[A], R], argument: A, otherwise: R, failed: Failed) -> R:
    """The same for a function of one argument: cheaper than a closure where it is called for each object."""
    try:
        return function(argument)
    except BaseException as exc:  # noqa: BLE001  # a user's function
        failed(contained(exc))
        return otherwise


def passing(matches: Callable[[A], object], objects: Iterable[A], failed: Callable[[A, Exception], object]) -> list[A]:
    """Those of ``objects`` for which a user's predicate gives something true; not those for which it raises."""
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
    """How many :func:`passing` would find."""
    count = 0
    for obj in objects:
        try:
            if matches(obj):
                count += 1
        except BaseException as exc:  # noqa: BLE001  # a user's function
            failed(obj, contained(exc))
    return count


async def finish(pending: Awaitable[object], failed: Failed) -> None:
    """Await what a user's async function returned. Cancellation goes on; ``failed`` is called if it failed besides."""
    try:
        await pending
    except BaseException as exc:
        failure, rest = told_apart(exc)
        if failure is not None:
            failed(failure)
        if rest is exc:
            raise
        if rest is not None:
            raise rest from None


def contained(exc: BaseException) -> Exception:
    """The failure that ``exc`` is; where some of it has to go on, it is raised again."""
    failure, rest = told_apart(exc)
    if failure is None or rest is not None:
        raise exc
    return failure


def told_apart(exc: BaseException) -> tuple[Exception | None, BaseException | None]:
    """What of an exception is the failure of the function that raised it, and what has to be raised on."""
    if isinstance(exc, Exception):
        return exc, None
    if isinstance(exc, BaseExceptionGroup):
        rest, own = exc.split(_goes_on)
        return (None if own is None else _as_exception(own)), rest
    return (None, exc) if _goes_on(exc) else (_as_exception(exc), None)


def _goes_on(exc: BaseException) -> bool:
    """Of a single exception, whether it is none of the function's own. A group is looked into."""
    if isinstance(exc, Exception | BaseExceptionGroup):
        return False
    return not isinstance(exc, SystemExit | KeyboardInterrupt) or _in_main_thread()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _as_exception(exc: BaseException) -> Exception:
    if isinstance(exc, Exception):
        return exc
    failure = RuntimeError(f"{text_of(exc)} was raised outside of the main thread, where it ends no program")
    failure.__cause__ = exc
    return failure


def text_of(exc: BaseException) -> str:
    """``ValueError: no such field``, of limited length; also of an exception whose ``__str__`` raises."""
    name = type(exc).__name__
    text = attempt(lambda: str(exc), "(it has no text: its __str__ failed)", _ignore)
    return f"{name}: {_limited(text)}" if text else name


def repr_of(value: object) -> str:
    """The ``repr`` of something of a user's, of limited length; also where it raises."""
    return _limited(attempt(lambda: repr(value), f"<{type(value).__name__}, whose __repr__ failed>", _ignore))


def name_of(function: object) -> str:
    """The qualified name of a user's function; ``""`` where it has none."""
    name: object = attempt(lambda: getattr(function, "__qualname__", ""), "", _ignore)
    return name if isinstance(name, str) else ""


def _limited(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}… ({len(text):,} characters)"


def _ignore(exc: Exception) -> None:
    """For what is only about the text of a report."""
