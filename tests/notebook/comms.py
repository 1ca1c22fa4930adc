"""The kernel's end of a widget's channel: what is sent is taken by a page, and the page may say something."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm

from tests.notebook.kit import Page

_PATIENCE = 30  # seconds, for what takes a few milliseconds


class Comms:
    """Records what widgets send, wherever they send it from."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.page = Page()
        self._sent: queue.Queue[Any] = queue.Queue()
        self._opened: list[BaseComm] = []
        monkeypatch.setattr(comm, "create_comm", self._create)

    def say(self, **message: str) -> None:
        """A page says something to the widget that was made first."""
        content = {"data": {"method": "custom", "content": message}}
        self._opened[0].handle_msg({"content": content, "buffers": []})

    @property
    def widgets(self) -> int:
        """How many there are."""
        return len(self._opened)

    def until(self, holds: Callable[[Page], bool]) -> Page:
        """Take messages until something holds of the page."""
        while not holds(self.page):
            self.page.show(self._sent.get(timeout=_PATIENCE))
        return self.page

    def _create(self, *args: Any, **kwargs: Any) -> BaseComm:
        sent, opened = self._sent, self._opened

        class Recording(BaseComm):
            def publish_msg(self, msg_type: str, data: Any = None, *rest: Any, **more: Any) -> None:
                if msg_type == "comm_msg" and data["method"] == "custom" and self is opened[0]:
                    sent.put(data["content"])

        made = Recording(*args, **kwargs)
        if kwargs.get("data", {}).get("state", {}).get("_model_name") == "AnyModel":
            opened.append(made)
        return made
