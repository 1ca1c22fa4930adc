"""The widget: an anywidget with a script and a stylesheet, which gets and sends messages. Needs the extra."""

from __future__ import annotations

from importlib.resources import files

import anywidget

_STATIC = files("dynkube.notebook") / "static"


class TableWidget(anywidget.AnyWidget):
    """What is on the page. All of its content comes in messages, see ``_messages.py``."""

    _esm = (_STATIC / "live.js").read_text(encoding="utf-8")
    _css = (_STATIC / "live.css").read_text(encoding="utf-8")
