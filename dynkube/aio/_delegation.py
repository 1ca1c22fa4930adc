"""Decorators that make methods for asyncio from those for trio; ``_portal/facade.py`` explains how they are used."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from dynkube._portal.facade import Facade, like
from dynkube.aio._call import in_trio

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Facade[Any])

_WORDS: Final = {"trio.fail_after": "asyncio.timeout", "dynkube.connect(": "dynkube.aio.connect("}


def for_asyncio(text: str) -> str:
    """Put a docstring into the words of asyncio."""
    for trio_word, word in _WORDS.items():
        text = text.replace(trio_word, word)
    return text


def awaiting(
    function: Callable[Concatenate[S, P], Coroutine[object, object, T]],
) -> Callable[[Callable[[F], None]], Callable[Concatenate[F, P], Coroutine[Any, Any, T]]]:
    """Make a method that runs an async one in the trio thread, and awaits it."""

    def made(stub: Callable[[F], None]) -> Callable[Concatenate[F, P], Coroutine[Any, Any, T]]:
        async def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
            __tracebackhide__ = True
            return await in_trio(self._thread, function, self._inner, *args, **kwargs)

        return like(function, stub, method, for_asyncio)

    return made


def overloaded(
    function: Callable[..., Coroutine[object, object, Any]],
) -> Callable[[Callable[[F], None]], Callable[..., Any]]:
    """Make a method as :func:`awaiting` does, from one with overloads.

    The overloads have to be repeated by the caller, as a ParamSpec loses them.
    """
    return awaiting(function)
