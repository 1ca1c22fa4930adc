"""Layer 7: rendering for notebooks and terminals.

Plain data in, text or HTML out; no I/O. A class that inherits from ``Displayable`` has a renderer here, which makes a
:class:`Card` of an object: ``meta.py`` has those for the types of ``dynkube.meta``, and so on for each layer below.
``registry.py`` finds the renderer of an object, ``html.py`` and ``text.py`` turn its card into output. Start reading in
``cards.py``.

Most programs display nothing, so no layer below imports this package: ``Displayable`` loads it on first use.
"""

from dynkube._display.cards import Card
from dynkube._display.html import page
from dynkube._display.registry import card_of
from dynkube._display.text import plain, rich_text

__all__ = ["Card", "card_of", "page", "plain", "rich_text"]
