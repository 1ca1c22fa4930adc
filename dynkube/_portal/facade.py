"""Facades: classes for other threads, whose methods are generated from those of the async classes.

::

    class ResourceClient(Facade[dynkube.client.ResourceClient]):
        @blocking(dynkube.client.ResourceClient.get)
        def get(self) -> None: ...

For type checkers, ``inspect.signature`` and ``help``, this ``get`` has the signature of the async method, without
``await``. If the result has to be wrapped, the decorated function does that::

        @wrapping(dynkube.client.ResourceClient.subresource)
        def subresource(self, inner: dynkube.client.SubresourceClient) -> SubresourceClient:
            return SubresourceClient(inner, self._thread)

Here are the decorators for plain methods; those for async ones are in ``sync/_delegation.py`` and
``aio/_delegation.py``. Each takes a function that puts the docstring into the words of its API.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeAlias, TypeVar

from dynkube._bound import Bound
from dynkube._portal.thread import TrioThread

I = TypeVar("I")  # noqa: E741  # the inner, async object
S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")
W = TypeVar("W")

Words: TypeAlias = Callable[[str], str]
"""Changes the text of a docstring from that of the trio API."""


class Facade(Bound, Generic[I]):
    """Base of the classes for other threads: an async object and its trio thread.

    Args:
        inner: the async object.
        thread: its thread.
        owner: the client that it uses, which is closed once nothing refers to it.
    """

    __slots__ = ("__weakref__", "_inner", "_owner", "_thread")

    def __init__(self, inner: I, thread: TrioThread, owner: object = None) -> None:
        self._inner = inner
        self._thread = thread
        self._owner = owner

    def __repr__(self) -> str:
        return repr(self._inner)


# F is a Facade[S], which cannot be expressed: verbs are inherited, and bounds may not contain TypeVars.
F = TypeVar("F", bound=Facade[Any])

_ASYNC: Final = re.compile(r"\b(?:await|async(?= (?:with|for)\b)) ")


def without_await(text: str) -> str:
    """Remove ``await`` and ``async`` from the examples in a docstring."""
    return _ASYNC.sub("", text)


def in_loop(
    function: Callable[Concatenate[S, P], T], words: Words = without_await
) -> Callable[[Callable[[F], None]], Callable[Concatenate[F, P], T]]:
    """Make a method that runs a plain one in the trio thread, and waits for its result."""

    def made(stub: Callable[[F], None]) -> Callable[Concatenate[F, P], T]:
        def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
            __tracebackhide__ = True
            return self._thread.run(function, self._inner, *args, **kwargs)

        return like(function, stub, method, words)

    return made


def at_once(
    function: Callable[Concatenate[S, P], T], words: Words = without_await
) -> Callable[[Callable[[F], None]], Callable[Concatenate[F, P], T]]:
    """Make a method that calls a thread-safe plain one in the calling thread.

    It does not block.
    """

    def made(stub: Callable[[F], None]) -> Callable[Concatenate[F, P], T]:
        def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
            __tracebackhide__ = True
            return function(self._inner, *args, **kwargs)

        return like(function, stub, method, words)

    return made


def wrapping(
    function: Callable[Concatenate[S, P], W], words: Words = without_await
) -> Callable[[Callable[[F, W], T]], Callable[Concatenate[F, P], T]]:
    """Make a method that calls a plain one; the decorated function wraps the result."""

    def made(wrap: Callable[[F, W], T]) -> Callable[Concatenate[F, P], T]:
        def method(self: F, /, *args: P.args, **kwargs: P.kwargs) -> T:
            __tracebackhide__ = True
            return wrap(self, function(self._inner, *args, **kwargs))

        return like(function, wrap, method, words)

    return made


def arguments_of(
    function: Callable[P, W], words: Words = without_await
) -> Callable[[Callable[[W], T]], Callable[P, T]]:
    """Make a function that calls another; the decorated one wraps the result."""

    def made(wrap: Callable[[W], T]) -> Callable[P, T]:
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            __tracebackhide__ = True
            return wrap(function(*args, **kwargs))

        return like(function, wrap, call, words)

    return made


def like(
    function: Callable[..., object], stub: Callable[..., object], method: Callable[P, T], words: Words = without_await
) -> Callable[P, T]:
    """Copy the name of ``stub``, and the signature and docstring of ``function``.

    If ``stub`` has a docstring, it replaces the part of the other docstring before ``Args:``, and the ``Returns:``
    section.
    """
    for name in ("__module__", "__name__", "__qualname__"):
        setattr(method, name, getattr(stub, name))
    method.__doc__ = _text(inspect.cleandoc(stub.__doc__ or ""), inspect.cleandoc(function.__doc__ or ""), words)
    method.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # read by inspect.signature
    return method


def _text(own: str, other: str, words: Words) -> str:
    if not own:
        return words(other)
    _, head, sections = other.partition("\n\nArgs:\n")
    return own if "\nArgs:\n" in own else f"{own}{head}{_RETURNS.sub(_END, words(sections))}"


_END: Final = "\n"
_RETURNS: Final = re.compile(r"\n\nReturns:\n(?: .*\n?)+")
