"""Outputs of cells that are replaced on each update, for live views without a widget.

An output sends no messages, so it counts as gone when its cell is run again; in front-ends without cell ids, never.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from dynkube._logs import get_logger
from dynkube.notebook._cells import cell_now

Bundle: TypeAlias = dict[str, str]
"""The forms of an output, by media type."""

_log = get_logger("dynkube.notebook")


class Outputs:
    """The outputs that show one live view.

    Args:
        is_on: whether a page still shows the view.
    """

    def __init__(self, is_on: Callable[[str], bool]) -> None:
        self._is_on = is_on
        self._handles: dict[str, list[Any]] = {}  # display handles, by page
        self._shown = 0  # a hash, as an output may be large and views are kept until the kernel ends

    def add(self, page: str, handle: Any) -> None:
        """Add an output, and forget those that are gone."""
        self._handles = {name: on for name, on in self._handles.items() if self._is_on(name)}
        self._handles.setdefault(page, []).append(handle)

    @property
    def exist(self) -> bool:
        """Whether any output shows the view."""
        return any(map(self._is_on, self._handles))

    def replace(self, bundle: Bundle, *, unless_same: bool = False) -> None:
        """Replace all outputs.

        Args:
            bundle: the new content.
            unless_same: leave them if this is what they have already.
        """
        shown = hash((bundle["text/html"], bundle["text/plain"]))
        if unless_same and shown == self._shown:
            return
        self._shown = shown
        for handle in [each for page, some in self._handles.items() if self._is_on(page) for each in some]:
            try:
                handle.update(bundle, raw=True)
            except Exception:  # noqa: BLE001  # the kernel is shutting down
                _log.debug("an output could not be replaced", exc_info=True)


def display_once(bundle: Bundle) -> tuple[str, Any] | None:
    """Display an output in the running cell; return its page and its handle, unless it cannot be updated."""
    from IPython import get_ipython  # IPython is the caller
    from IPython.display import display

    shell: Any = get_ipython()
    if not hasattr(shell, "kernel"):  # a terminal would print each update below the last one
        display(bundle, raw=True)  # type: ignore[no-untyped-call]  # as below
        return None
    handle: Any = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython has no types
    return None if handle is None else (cell_now(shell) or f"output {handle.display_id}", handle)
