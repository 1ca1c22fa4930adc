"""``Displayable``: a mixin with the display protocols of notebooks, IPython and rich."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rich.text import Text


class Printer(Protocol):
    """The part of ``IPython.lib.pretty.RepresentationPrinter`` that is used here."""

    stack: list[int]

    def text(self, obj: str) -> None:
        """Print text."""
        ...


class Displayable:
    """Mixin with the display protocols; what they show is decided by the renderer of the type.

    Does not change ``repr()`` and ``str()``.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # IPython walks the MRO and uses a class's __repr__ before it looks at the bases for _repr_pretty_.
        if "_repr_pretty_" not in cls.__dict__:
            cls._repr_pretty_ = Displayable._repr_pretty_  # type: ignore[method-assign]  # the same function

    def _one_line(self) -> str:
        """Return a short description for messages, and for a value inside a container."""
        return repr(self)

    def _repr_html_(self) -> str:
        display = _display_layer()
        html: str = display.page(display.card_of(self, datetime.now(UTC)))
        return html

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        # One line inside a list or dict, and in a cycle, which only a subclass can contain.
        alone = len(printer.stack) <= 1 and not cycle
        if not alone:
            printer.text(self._one_line())
            return
        display = _display_layer()
        printer.text(display.plain(display.card_of(self, datetime.now(UTC))))

    def __rich__(self) -> Text:
        display = _display_layer()
        text: Text = display.rich_text(display.card_of(self, datetime.now(UTC)))
        return text


def displayed_text(displayed: Displayable) -> str:
    """Return what IPython shows of an object in a terminal."""
    display = _display_layer()
    text: str = display.plain(display.card_of(displayed, datetime.now(UTC)))
    return text


def text_without_heading(displayed: Displayable) -> str:
    """Return what IPython shows of an object in a terminal, without the first line unless that is all."""
    display = _display_layer()
    card = display.card_of(displayed, datetime.now(UTC))
    text: str = display.plain(replace(card, head=())) or display.plain(card)
    return text


def _display_layer() -> Any:
    # Renderers are registered in a layer above the data, which therefore cannot be imported here. It is loaded when the
    # first object is displayed: most programs display nothing.
    return import_module("dynkube._display")
