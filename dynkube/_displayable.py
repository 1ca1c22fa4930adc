"""``Shown``: a mixin with the display protocols of notebooks, IPython and rich."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.text import Text

    from dynkube._display.cards import Card


class Printer(Protocol):
    """The part of ``IPython.lib.pretty.RepresentationPrinter`` that is used here."""

    stack: list[int]

    def text(self, obj: str) -> None:
        """Print text."""
        ...


class Shown:
    """Mixin with the display protocols, all based on one card.

    Does not change ``repr()`` and ``str()``.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # IPython walks the MRO and uses a class's __repr__ before it looks at the bases for _repr_pretty_.
        if "_repr_pretty_" not in cls.__dict__:
            cls._repr_pretty_ = Shown._repr_pretty_  # type: ignore[method-assign]  # the same function

    def _card(self, now: datetime) -> Card:
        """Return the card to show. Must be fast, and must not raise because of the data.

        Args:
            now: the time for ages.
        """
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from dynkube._display.html import page  # most programs render nothing

        return page(self._card(datetime.now(UTC)))

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        from dynkube._display.text import plain

        # One line inside a list or dict, and in a cycle, which only a subclass can contain.
        alone = len(printer.stack) <= 1 and not cycle
        printer.text(plain(self._card(datetime.now(UTC))) if alone else repr(self))

    def __rich__(self) -> Text:
        from dynkube._display.text import rich_text

        return rich_text(self._card(datetime.now(UTC)))
