"""The console that commands draw on."""

from __future__ import annotations

from rich.console import Console


class PlainConsole(Console):
    """A rich console that takes every text literally, wraps nothing, and lets a reader's leaving be known.

    Styles are for terminals only, and not where ``NO_COLOR`` is set; rich sees to that.
    """

    def __init__(self) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """Raise what happened: how that ends the process is decided in one place, and not here."""
        raise  # noqa: PLE0704  # rich calls this while it handles the BrokenPipeError
