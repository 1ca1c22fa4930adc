"""Objects, and an interrupt of the main thread."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading

from dynkube.meta import Bookmark, InformerEvent, Updated, WatchEvent

CONFIGMAPS = "configmaps"


def config_map(name: str, **data: str) -> dict[str, object]:
    """A ConfigMap in the namespace ``default``."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def name_of(event: InformerEvent | WatchEvent) -> str:
    """Return the name of the object of an event."""
    if isinstance(event, Updated):
        return event.new.name
    return "" if isinstance(event, Bookmark) else event.object.name


def interrupt() -> None:
    """Interrupt this process as Ctrl-C does; its main thread gets the KeyboardInterrupt."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def run_script(text: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a separate process, and wait for its end."""
    command = [sys.executable, "-c", textwrap.dedent(text), *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
