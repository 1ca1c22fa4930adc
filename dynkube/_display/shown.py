"""``Shown``: what a class has by which notebooks, IPython in a terminal and rich show its instances."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.text import Text

    from dynkube._display.cards import Card


class Printer(Protocol):
    """As much of ``IPython.lib.pretty.RepresentationPrinter`` as is needed here."""

    stack: list[int]

    def text(self, obj: str) -> None:
        """Print text."""
        ...


class Shown:
    """Gives a class the protocols of displays, all from one card. ``repr()`` and ``str()`` stay what they are."""

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # IPython goes through the classes one by one and takes a __repr__ before it looks at the next one.
        if "_repr_pretty_" not in cls.__dict__:
            cls._repr_pretty_ = Shown._repr_pretty_  # type: ignore[method-assign]  # the same function, only nearer

    def _card(self, now: datetime) -> Card:
        """What to show; plain, fast, and never raising for reasons of the data.

        Args:
            now: what ages are reckoned up to.
        """
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from dynkube._display.html import page  # most programs show nothing

        return page(self._card(datetime.now(UTC)))

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        from dynkube._display.text import plain

        # In a list or dict of many, one line each; also where it is inside of itself, which only a subclass can do.
        alone = len(printer.stack) <= 1 and not cycle
        printer.text(plain(self._card(datetime.now(UTC))) if alone else repr(self))

    def __rich__(self) -> Text:
        from dynkube._display.text import rich_text

        return rich_text(self._card(datetime.now(UTC)))
