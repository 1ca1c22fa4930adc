"""The event loop in which a live view is updated, as its users in other threads see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import ParamSpec, Protocol, TypeAlias, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Start: TypeAlias = Callable[[Callable[[], Awaitable[None]]], object]
"""Starts a task; called in the loop's thread. Raises ClosedError if the owner of the task is closed."""


class Loop(Protocol):
    """The event loop of a source, for callers in other threads."""

    @property
    def alive(self) -> bool:
        """Whether the loop accepts calls."""
        ...

    def call(self, function: Callable[P, Coroutine[object, object, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an async function in the loop, and wait for its result."""
        ...

    def post(self, function: Callable[[], object]) -> None:
        """Run a plain function in the loop soon.

        Does not block, and does nothing once the loop has ended.
        """
        ...
