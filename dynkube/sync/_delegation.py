"""Decorators that make blocking methods from async ones; ``_portal/facade.py`` explains how they are used."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

from dynkube._portal.facade import Facade, like

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")
W = TypeVar("W")
F = TypeVar("F", bound=Facade[Any])


def blocking(
    function: Callable[Concatenate[S, P], Coroutine[object, object, T]],
) -> Callable[[Callable[[F], None]], Callable[Concatenate[F, P], T]]:
    """Make a method that runs an async one in the trio thread, and waits for it."""

    def made(stub: Callable[[F], None]) -> Callable[Concatenate[F, P], T]:
        def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
            __tracebackhide__ = True
            return self._thread.call(function, self._inner, *args, **kwargs)

        return like(function, stub, method)

    return made


def then(
    function: Callable[Concatenate[S, P], Coroutine[object, object, W]],
) -> Callable[[Callable[[F, W, Mapping[str, Any]], T]], Callable[Concatenate[F, P], T]]:
    """Make a method that runs an async one, and converts its result.

    The decorated function converts the result; it also gets a mapping of the arguments that were given, by name.
    """

    def made(wrap: Callable[[F, W, Mapping[str, Any]], T]) -> Callable[Concatenate[F, P], T]:
        def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
            __tracebackhide__ = True
            found = self._thread.call(function, self._inner, *args, **kwargs)
            return wrap(self, found, inspect.signature(method).bind(self, *args, **kwargs).arguments)

        return like(function, wrap, method)

    return made


def overloaded(
    function: Callable[..., Coroutine[object, object, Any]],
) -> Callable[[Callable[[F, Any, Mapping[str, Any]], Any]], Callable[..., Any]]:
    """Make a method as :func:`then` does, from an async method with overloads.

    The overloads have to be repeated by the caller, as a ParamSpec loses them.
    """
    return then(function)
