"""The cells of the kernel that this runs in, if it runs in one: when they begin and end, and which one runs now."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Protocol


class Listener(Protocol):
    """Who is told, in the loop's thread."""

    def cell_begins(self, cell: str) -> None:
        """A cell begins, which may have run before."""
        ...

    def cell_ends(self) -> None:
        """It has ended, or was interrupted."""
        ...


class Cells:
    """Tells listeners of cells.

    Args:
        post: has something called in the loop's thread soon; IPython tells the thread in which cells run.
    """

    def __init__(self, post: Callable[[Callable[[], object]], object]) -> None:
        self._post = post
        self._shell = _shell()

    @property
    def exist(self) -> bool:
        """Whether this runs in a kernel: then, in a cell most likely."""
        return self._shell is not None

    @contextmanager
    def told(self, listener: Listener) -> Iterator[None]:
        """From entering to leaving: one that begins while a cell runs, as most do, hears of its end too."""
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
                with suppress(ValueError):  # somebody has reset them
                    events.unregister(event, function)


def cell_now(shell: Any) -> str:
    """A name for the cell that runs; ``""`` where the front-end gives cells none."""
    metadata = shell.kernel.get_parent("shell").get("metadata") or {}
    return _page(metadata.get("cellId"))


def _page(cell: str | None) -> str:
    return f"cell {cell}" if cell else ""


def _shell() -> Any:
    module: Any = sys.modules.get("IPython")  # whoever runs in a kernel has it
    shell = module.get_ipython() if module is not None else None
    return shell if hasattr(shell, "kernel") else None
