"""JupyterLab with one notebook, in which ``k`` is a client of an embedded cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from dynkube_testing import ServerThread
from tests.notebook.browser.lab import CHROMIUM, ROOT, Notebook, browser, lab
from tests.notebook.browser.pictures import write_picture
from tests.notebook.browser.table_page import TablePage

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser; tests that need one are skipped if there is none."""
    pytest.importorskip("playwright", reason="playwright is not installed: run 'make browser'")
    if CHROMIUM is None:
        pytest.skip("there is no chromium: install the package 'chromium' of the system")
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def empty_page(chromium: Browser) -> Iterator[TablePage]:
    """A page with only the script of live tables, shared by the tests of a module."""
    table_page = TablePage(chromium)
    yield table_page
    table_page.page.close()


@pytest.fixture(scope="module")
def notebook(chromium: Browser, cluster: ServerThread, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    """A notebook shared by the tests of a module, as opening JupyterLab takes ten seconds."""
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed: run 'make browser'")
    folder = tmp_path_factory.mktemp("lab")
    with lab(folder) as address:
        page = chromium.new_page(viewport={"width": 1000, "height": 1100}, device_scale_factor=2)
        notebook = Notebook(page, address, folder)
        notebook.run(f"import dynkube, dynkube.sync, time\nk = dynkube.sync.connect(url={cluster.url!r})")
        yield notebook


@pytest.fixture
def picture(request: pytest.FixtureRequest, notebook: Notebook) -> Callable[[str, Locator], None]:
    """A function that writes pictures for the documentation, in light and dark, if ``--pictures`` is given."""

    def take(name: str, what: Locator) -> None:
        if request.config.getoption("--pictures"):
            for word in ("Dark", "Light"):
                notebook.theme(word)
                write_picture(ROOT / f"docs/images/{name}-{word.lower()}.png", what)

    return take
