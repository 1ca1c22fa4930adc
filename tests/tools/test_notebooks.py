"""How notebooks are run and compared: which outputs count as different, and which are not stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools import notebooks
from tools.notebooks import Failed, differences, execute


def showing(*outputs: Any) -> nbformat.NotebookNode:
    """Return a notebook whose only cell has these outputs."""
    cell = new_code_cell("...", outputs=list(outputs), execution_count=1, id="cell")
    notebook: nbformat.NotebookNode = new_notebook(cells=[cell])
    return notebook


def printed(text: str) -> Any:
    return new_output("stream", name="stdout", text=text)


def result(**data: str) -> Any:
    return new_output("execute_result", data={kind.replace("_", "/"): text for kind, text in data.items()})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(result(text_plain="<Pod rv=12>"), result(text_plain="<Pod rv=120>"), id="resourceVersion"),
        pytest.param(result(image_png="aaaa"), result(image_png="bbbb"), id="pictures"),
        pytest.param(printed("last heard   0s ago"), printed("last heard   12s ago"), id="how long a run took"),
        pytest.param(
            printed("queue  0 ready, 0 delayed, 0 processing, 0.4 ms in the queue on average"),
            printed("queue  0 ready, 0 delayed, 1 processing, 12.0 ms in the queue on average"),
            id="the queue of a controller",
        ),
        pytest.param(
            result(text_html="<b>1 requeue, 6 success</b><i>, 9.5 ms each on average</i>"),
            result(text_html="<b>1 requeue, 7 success</b><i>, 1,001.2 s each on average</i>"),
            id="the calls of a controller",
        ),
        pytest.param(
            result(text_html="<i>last change</i><b>0s ago</b>"),
            result(text_html="<i>last change</i><b>1s ago</b>"),
            id="how long a run took, as HTML",
        ),
        pytest.param(
            result(text_plain="<f at 0x7f3a9c0012>"), result(text_plain="<f at 0x7f3a9cffff>"), id="addresses"
        ),
        pytest.param(
            printed('uid: "845074a1-e1f6-4c3a-8910-8f8937fe43eb"'),
            printed("uid: a5c58c0b-4d2e-4b65-9df0-bdde4337dda6"),
            id="UIDs",
        ),
    ],
)
def test_values_that_change_from_run_to_run_are_not_compared(before: Any, after: Any) -> None:
    assert differences(showing(before), showing(after)) == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(printed("3 pods"), printed("4 pods"), id="text"),
        pytest.param(result(text_html="<b>3</b>"), result(text_html="<b>4</b>"), id="html"),
        pytest.param(printed("6 success, 1 error"), printed("6 success, 2 error"), id="errors of a controller"),
        pytest.param(result(image_png="aaaa"), result(text_plain="a plot"), id="no picture"),
        pytest.param(
            new_output("error", ename="NoMatch", evalue="", traceback=[]),
            new_output("error", ename="NotFound", evalue="", traceback=[]),
            id="error",
        ),
    ],
)
def test_a_visible_change_is_a_difference(before: Any, after: Any) -> None:
    assert differences(showing(before), showing(after))


def test_the_error_for_an_unknown_notebook_lists_the_notebooks() -> None:
    with pytest.raises(Failed, match="no notebook begins with '77'; there are 01-"):
        notebooks.notebooks(["77"])


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param("1 / 0", "ZeroDivisionError", id="an error"),
        pytest.param("import warnings; warnings.warn('old ways')", "old ways", id="a warning"),
    ],
)
def test_an_error_or_warning_in_a_notebook_is_raised_with_the_name_of_the_notebook(
    tmp_path: Path, source: str, message: str
) -> None:
    file = tmp_path / "broken.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(source)]), file)

    with pytest.raises(Failed, match=rf"(?s)broken\.ipynb.*{message}"):
        execute(file)


@pytest.mark.real_time
def test_a_run_has_a_fixed_clock_and_stores_no_ports_or_times(tmp_path: Path) -> None:
    file = tmp_path / "clock.ipynb"
    source = "from datetime import *\nprint(datetime.now(UTC), '127.0.0.1:4711')"
    nbformat.write(new_notebook(cells=[new_code_cell(source)]), file)

    executed = execute(file)

    assert executed.cells[0].outputs[0].text == "2026-11-02 09:00:00+00:00 127.0.0.1:6443\n"
    assert "execution" not in executed.cells[0].metadata


@pytest.mark.real_time
def test_a_display_is_stored_without_later_updates(tmp_path: Path) -> None:
    file = tmp_path / "live.ipynb"
    shown = new_code_cell("shown = display('first', display_id=True)")
    nbformat.write(new_notebook(cells=[shown, new_code_cell("shown.update('second')")]), file)

    executed = execute(file)

    assert [[output.data["text/plain"] for output in cell.outputs] for cell in executed.cells] == [["'first'"], []]
