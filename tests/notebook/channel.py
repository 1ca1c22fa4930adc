"""The kernel's end of a widget's channel: records messages to the page, and injects messages from it."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm

from tests.notebook.kit import Page

_TIMEOUT = 30  # seconds, for what takes a few milliseconds


class WidgetChannel:
    """Records the messages of widgets, from any thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.page = Page()
        self._sent: queue.Queue[Any] = queue.Queue()
        self._opened: list[BaseComm] = []
        monkeypatch.setattr(comm, "create_comm", self._create)

    def send(self, **message: str) -> None:
        """Send a message from the page to the first widget."""
        content = {"data": {"method": "custom", "content": message}}
        self._opened[0].handle_msg({"content": content, "buffers": []})

    @property
    def widgets(self) -> int:
        """The number of widgets opened."""
        return len(self._opened)

    def until(self, holds: Callable[[Page], bool]) -> Page:
        """Apply messages to the page until ``holds`` is true of it."""
        while not holds(self.page):
            self.page.show(self._sent.get(timeout=_TIMEOUT))
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
