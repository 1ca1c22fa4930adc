"""A Jupyter kernel as driven by a notebook: run and interrupt cells, read their outputs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

_TIMEOUT = 50  # seconds, for what takes one
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(slots=True)
class Cell:
    """The outputs of a cell; of an updated display the last one."""

    printed: str = ""
    result: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    traceback: str = ""


class Kernel:
    """A kernel in its own process, which ends with the block."""

    def __init__(self) -> None:
        self._manager = KernelManager(kernel_name="python3", transport="ipc")
        self._client: BlockingKernelClient | None = None

    def __enter__(self) -> Self:
        self._manager.start_kernel()
        self._connect()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._disconnect()
        self._manager.shutdown_kernel(now=True)

    def restart(self) -> None:
        """Restart the kernel as the button does."""
        self._disconnect()
        self._manager.restart_kernel()
        self._connect()

    def interrupt(self) -> None:
        """Interrupt the kernel as the stop button does."""
        self._manager.interrupt_kernel()

    def run(self, code: str, *, cell_id: str = "", on_output: Callable[[str], object] = lambda text: None) -> Cell:
        """Run a cell to its end. ``on_output`` is called with each text that it prints."""
        assert self._client is not None
        self._client.session.metadata = {"cellId": cell_id} if cell_id else {}  # the key that JupyterLab uses
        cell = Cell()

        def hook(message: dict[str, Any]) -> None:
            content = message["content"]
            match message["msg_type"]:
                case "stream":
                    cell.printed += content["text"]
                    on_output(content["text"])
                case "execute_result" | "display_data" | "update_display_data":
                    cell.result = content["data"]
                case "error":
                    cell.error = f"{content['ename']}: {content['evalue']}"
                    cell.traceback = _COLOURS.sub("", "\n".join(content["traceback"]))

        self._client.execute_interactive(code, output_hook=hook, timeout=_TIMEOUT)
        return cell

    def complete(self, code: str) -> list[str]:
        """Return the completions at the end of ``code``."""
        assert self._client is not None
        reply: dict[str, Any] = self._client.complete(code, reply=True, timeout=_TIMEOUT)
        matches: list[str] = reply["content"]["matches"]
        return matches

    def _connect(self) -> None:
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=_TIMEOUT)

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.stop_channels()
            self._client = None
