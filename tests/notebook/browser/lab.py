"""JupyterLab in a headless browser: run cells, change themes, restart kernels."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

ROOT = Path(__file__).parents[3]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
_TIMEOUT = 45_000  # milliseconds, for what takes one or two seconds on an idle machine
_RUNNING = re.compile(r"http://127\.0\.0\.1:(\d+)/")
_TOKEN = "tests"  # of a server that runs for a minute, on the loopback interface
_SETTINGS = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "apputils-extension/themes": {"theme": "JupyterLab Light"},
}
_RUN = """async (source) => {
    const notebook = jupyterapp.shell.currentWidget.content;
    const cells = notebook.model.sharedModel;
    const empty = cells.cells.length === 1 && !cells.cells[0].source;
    if (empty) cells.cells[0].setSource(source);
    else cells.addCell({ cell_type: "code", source, metadata: {} });
    notebook.activeCellIndex = cells.cells.length - 1;
    const run = jupyterapp.commands.execute("notebook:run-cell");
    if (WAIT) await run;
    return notebook.activeCellIndex;
}"""

_RUN_AT = """async (place) => {
    jupyterapp.shell.currentWidget.content.activeCellIndex = place;
    await jupyterapp.commands.execute("notebook:run-cell-and-select-next");
}"""


@contextmanager
def browser(*options: str) -> Iterator[Browser]:
    """Start a headless browser; ``options`` are options of chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=CHROMIUM, args=[*_QUIET, *options])
        yield found
        found.close()


@contextmanager
def lab(folder: Path) -> Iterator[str]:
    """Start a JupyterLab with its own settings and folders; yield its URL."""
    for name, values in _SETTINGS.items():
        path = folder / f"config/lab/user-settings/@jupyterlab/{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")
    work = folder / "work"
    shutil.copytree(ROOT / "notebooks", work, ignore=shutil.ignore_patterns("__pycache__"))
    own = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.port=0"]
    command += [f"--IdentityProvider.token={_TOKEN}", f"--ServerApp.root_dir={work}"]
    command += ["--LabApp.expose_app_in_browser=True"]
    environment = {**os.environ, **own, "PYTHONPATH": search, "IPYTHONDIR": str(folder / "ipython")}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as server:
        assert server.stderr is not None
        lines = (line.decode(errors="replace") for line in server.stderr)
        port = next((found[1] for line in lines if (found := _RUNNING.search(line))), None)
        reader = threading.Thread(target=lambda: [*lines])  # keep reading, or the server blocks when the pipe is full
        reader.start()
        try:
            assert port is not None, "JupyterLab did not start"
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:  # happened once: kernels had ended, and it waited for its own thread
                server.kill()
            reader.join()


class Notebook:
    """A notebook opened in the browser."""

    def __init__(self, page: Page, address: str, folder: Path) -> None:
        self.page = page
        self._address = address
        self._name = "tables.ipynb"
        cell: dict[str, object] = {
            "cell_type": "code",
            "source": "",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "id": "a",
        }
        spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        document = {"cells": [cell], "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
        self.file = folder / "work/tables.ipynb"
        self.file.write_text(json.dumps(document), encoding="utf-8")
        page.set_default_timeout(_TIMEOUT)
        self.open()

    def open(self, name: str = "") -> None:
        """Open another notebook, or reload this one without restarting its kernel."""
        self._name = name or self._name
        self.page.goto(f"{self._address}/doc/tree/{self._name}?token={_TOKEN}")
        self.page.wait_for_function("() => window.jupyterapp?.shell.currentWidget?.context?.isReady")
        self.page.evaluate("() => jupyterapp.shell.currentWidget.context.sessionContext.ready")

    def run(self, code: str, *, wait: bool = True) -> Locator:
        """Append a cell and run it; return its output area."""
        place = self.page.evaluate(_RUN.replace("WAIT", "true" if wait else "false"), code.strip())
        return self.page.locator(".jp-Notebook .jp-Cell").nth(place).locator(".jp-OutputArea").first

    def run_at(self, place: int) -> Locator:
        """Run an existing cell as Shift-Enter does, and wait for its end; return its output area."""
        self.page.evaluate(_RUN_AT, place)
        return self.page.locator(".jp-Notebook .jp-Cell").nth(place).locator(".jp-OutputArea").first

    def run_again(self) -> None:
        """Run the last cell again and wait for its end."""
        self.page.evaluate("() => jupyterapp.commands.execute('notebook:run-cell')")

    def clear(self) -> None:
        """Remove the stored outputs."""
        self.page.evaluate("() => jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")

    def save(self) -> None:
        """Save the notebook to its file."""
        self.page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")

    def theme(self, name: str) -> None:
        """Set the theme to ``Light`` or ``Dark``."""
        self.page.evaluate(
            "(theme) => jupyterapp.commands.execute('apputils:change-theme', { theme })", f"JupyterLab {name}"
        )
        self.page.wait_for_function(
            "(light) => document.body.dataset.jpThemeLight === light", arg=str(name == "Light").lower()
        )
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")

    def restart(self) -> None:
        """Restart the kernel, as the button does."""
        self.page.evaluate("() => jupyterapp.shell.currentWidget.context.sessionContext.restartKernel()")
