"""How the methods of the blocking face are made of the async ones: one line each, with their signatures and texts.

::

    class ResourceClient(Facade[dynkube.client.ResourceClient]):
        @blocking(dynkube.client.ResourceClient.get)
        def get(self) -> None: ...

For type checkers, ``inspect.signature`` and ``help`` such a ``get`` is the async one without ``await``. What returns
something that has to be wrapped first says how::

        @wrapping(dynkube.client.ResourceClient.subresource)
        def subresource(self, inner: dynkube.client.SubresourceClient) -> SubresourceClient:
            return SubresourceClient(inner, self._thread)
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar

from dynkube._bound import Bound
from dynkube.sync._thread import TrioThread

I = TypeVar("I")  # noqa: E741  # the inner, async object
S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")
W = TypeVar("W")


class Facade(Bound, Generic[I]):
    """An async object, and the thread in which it lives."""

    __slots__ = ("__weakref__", "_inner", "_thread")

    def __init__(self, inner: I, thread: TrioThread) -> None:
        self._inner = inner
        self._thread = thread

    def __repr__(self) -> str:
        return repr(self._inner)


# That F is a Facade of S cannot be said: verbs are inherited, and TypeVars have no bounds with TypeVars in them.
F = TypeVar("F", bound=Facade[Any])


def blocking(
    function: Callable[Concatenate[S, P], Coroutine[object, object, T]],
) -> Callable[[Callable[[F], None]], Callable[Concatenate[F, P], T]]:
    """A method that runs an async one in the trio thread, and waits for it."""

    def made(stub: Callable[[F], None]) -> Callable[Concatenate[F, P], T]:
        def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
            __tracebackhide__ = True
            return self._thread.call(function, self._inner, *args, **kwargs)

        return like(function, stub, method)

    return made


def then(
    function: Callable[Concatenate[S, P], Coroutine[object, object, W]],
) -> Callable[[Callable[[F, W, Mapping[str, Any]], T]], Callable[Concatenate[F, P], T]]:
    """The same, and the decorated function makes something of what was returned, and of how it was called.

    It gets the arguments that were given, by name.
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
    """The same for one with overloads, which do not go through a ParamSpec: they are written above it once more."""
    return then(function)


def in_loop(
    function: Callable[Concatenate[S, P], T],
) -> Callable[[Callable[[F], None]], Callable[Concatenate[F, P], T]]:
    """A method that runs a plain one in the trio thread, where it belongs, and waits for it."""

    def made(stub: Callable[[F], None]) -> Callable[Concatenate[F, P], T]:
        def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
            __tracebackhide__ = True
            return self._thread.run(function, self._inner, *args, **kwargs)

        return like(function, stub, method)

    return made


def at_once(
    function: Callable[Concatenate[S, P], T],
) -> Callable[[Callable[[F], None]], Callable[Concatenate[F, P], T]]:
    """A method that calls a plain one which any thread may call: it waits for nobody, not even for the trio thread."""

    def made(stub: Callable[[F], None]) -> Callable[Concatenate[F, P], T]:
        def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
            __tracebackhide__ = True
            return function(self._inner, *args, **kwargs)

        return like(function, stub, method)

    return made


def wrapping(
    function: Callable[Concatenate[S, P], W],
) -> Callable[[Callable[[F, W], T]], Callable[Concatenate[F, P], T]]:
    """A method that hands what a plain one returned to the decorated function, which makes a blocking thing of it."""

    def made(wrap: Callable[[F, W], T]) -> Callable[Concatenate[F, P], T]:
        def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
            __tracebackhide__ = True
            return wrap(self, function(self._inner, *args, **kwargs))

        return like(function, wrap, method)

    return made


def arguments_of(function: Callable[P, W]) -> Callable[[Callable[[W], T]], Callable[P, T]]:
    """The same for functions: with the arguments of one, and what the decorated one makes of its result."""

    def made(wrap: Callable[[W], T]) -> Callable[P, T]:
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            __tracebackhide__ = True
            return wrap(function(*args, **kwargs))

        return like(function, wrap, call)

    return made


def like(function: Callable[..., object], stub: Callable[..., object], method: Callable[P, T]) -> Callable[P, T]:
    """``method`` with the name of ``stub``, and the signature and the text of ``function``.

    A text of ``stub`` takes the place of what the other says before ``Args:``, and of what it says of the result.
    """
    for name in ("__module__", "__name__", "__qualname__"):
        setattr(method, name, getattr(stub, name))
    method.__doc__ = _text(inspect.cleandoc(stub.__doc__ or ""), inspect.cleandoc(function.__doc__ or ""))
    method.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # what inspect.signature looks for
    return method


def _text(own: str, other: str) -> str:
    if not own:
        return without_await(other)
    _, head, sections = other.partition("\n\nArgs:\n")
    return own if "\nArgs:\n" in own else f"{own}{head}{_RETURNS.sub(_END, sections)}"


_END: Final = "\n"
_RETURNS: Final = re.compile(r"\n\nReturns:\n(?: .*\n?)+")
_ASYNC: Final = re.compile(r"\b(?:await|async(?= (?:with|for)\b)) ")


def without_await(text: str) -> str:
    """A text whose examples are for async code, for code without it."""
    return _ASYNC.sub("", text)
