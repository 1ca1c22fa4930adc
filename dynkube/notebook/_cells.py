"""Notifications when the kernel's cells begin and end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Protocol


class Listener(Protocol):
    """Called in the loop's thread when cells begin and end."""

    def cell_begins(self, cell: str) -> None:
        """A cell begins; it may have run before."""
        ...

    def cell_ends(self) -> None:
        """The cell has ended or was interrupted."""
        ...


class Cells:
    """Notifies listeners of cells.

    Args:
        post: runs a function in the loop's thread soon; IPython's callbacks come in the thread that runs cells.
    """

    def __init__(self, post: Callable[[Callable[[], object]], object]) -> None:
        self._post = post
        self._shell = _shell()

    @property
    def exist(self) -> bool:
        """Whether this process is an IPython kernel, and so most likely runs a cell."""
        return self._shell is not None

    @contextmanager
    def subscribed(self, listener: Listener) -> Iterator[None]:
        """Notify ``listener`` while the context is open, including of the end of a cell that is running already."""
        if self._shell is None:
            yield
            return

        def begins(info: Any) -> None:
            self._post(partial(listener.cell_begins, _page(info.cell_id)))

        def ends(result: object) -> None:
            self._post(listener.cell_ends)

        events = self._shell.events
        events.register("pre_run_cell", begins)
        events.register("post_run_cell", ends)
        try:
            yield
        finally:
            for event, function in (("pre_run_cell", begins), ("post_run_cell", ends)):
                with suppress(ValueError):  # other code has reset the callbacks
                    events.unregister(event, function)


def cell_now(shell: Any) -> str:
    """Return a name for the running cell; ``""`` if the front-end has no cell ids."""
    metadata = shell.kernel.get_parent("shell").get("metadata") or {}
    return _page(metadata.get("cellId"))


def _page(cell: str | None) -> str:
    return f"cell {cell}" if cell else ""


def _shell() -> Any:
    module: Any = sys.modules.get("IPython")  # a kernel has imported it
    shell = module.get_ipython() if module is not None else None
    return shell if hasattr(shell, "kernel") else None
