"""The widget: an anywidget with a script and a stylesheet.

Needs the extra ``dynkube[notebook]``.
"""

from __future__ import annotations

from importlib.resources import files

import anywidget

_STATIC = files("dynkube.notebook") / "static"


class TableWidget(anywidget.AnyWidget):
    """The widget on the page.

    Its content arrives as custom messages, see ``_messages.py``.
    """

    _esm = (_STATIC / "live.js").read_text(encoding="utf-8")
    _css = (_STATIC / "live.css").read_text(encoding="utf-8")
